#ifndef CSQLITECONFIG_H
#define CSQLITECONFIG_H

struct sqlite3;

/// Turns the triggers of a connection's databases on or off; those of its temporary database always run (sqlite3_db_config, which is
/// variadic and cannot be called from Swift). Returns SQLite's code.
int csqlite_enable_triggers(struct sqlite3 *db, int enabled);

#endif
