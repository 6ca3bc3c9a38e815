-- The same table on the office's machine, where no application is, only sqlite3 and the command.
PRAGMA journal_mode = WAL;
CREATE TABLE items(code TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL, changed TEXT NOT NULL);
INSERT INTO items VALUES('bolt', 40, '2026-01-01T08:00:00Z'), ('nut', 25, '2026-01-01T08:00:00Z');
