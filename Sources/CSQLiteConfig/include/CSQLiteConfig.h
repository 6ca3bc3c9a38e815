#ifndef CSQLITECONFIG_H
#define CSQLITECONFIG_H

struct sqlite3;

/// Turns the triggers of a connection's databases on (1) or off (0), or leaves them as they are (-1), and says how they are then; those of its
/// temporary database always run (sqlite3_db_config, which is variadic and cannot be called from Swift). Returns SQLite's code.
int csqlite_triggers(struct sqlite3 *db, int enabled, int *now);

/// What gathers a connection's writes to its write-ahead log.
struct csqlite_log;

/// Gathers the writes of one transaction to the write-ahead log and writes them in pieces of some 100 kB, and reads the log in such pieces.
///
/// SQLite writes and reads the log page by page: for each page two calls to write it, and one to read it when it is copied to the database.
/// Nothing else changes: all that was gathered is written before SQLite syncs the log, which it does before other connections can see the
/// transaction. Call it inside a write transaction of a database in WAL mode with synchronous = FULL or EXTRA.
///
/// Returns NULL if the connection has no log, if the file system may damage bytes next to those that it writes, which makes SQLite write after
/// the sync, or without memory. Then all goes on as usual.
struct csqlite_log *csqlite_log_gather(struct sqlite3 *db);

/// Ends gathering. Call it when the transaction has ended, on the same connection, before that is closed. NULL is allowed.
void csqlite_log_end(struct csqlite_log *log);

#endif
