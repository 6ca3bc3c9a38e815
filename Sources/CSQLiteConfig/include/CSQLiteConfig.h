#ifndef CSQLITECONFIG_H
#define CSQLITECONFIG_H

struct sqlite3;

/// Turns the triggers of a connection's databases on (1) or off (0), or leaves them as they are (-1), and says how they are then; those of its
/// temporary database always run (sqlite3_db_config, which is variadic and cannot be called from Swift). Returns SQLite's code.
int csqlite_triggers(struct sqlite3 *db, int enabled, int *now);

/// Lets a connection take a name in double quotes that no column has for a text in the statements that make tables and indexes (1) or not (0), as
/// programs that use SQLite by itself do, or leaves it as it is (-1), and says how it is then. Returns SQLite's code.
int csqlite_quoted_text(struct sqlite3 *db, int enabled, int *now);

#endif
