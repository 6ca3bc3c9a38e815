-- The database of a program that is not ours: a logger of weather stations. It was not made for syncing.
PRAGMA journal_mode = WAL;
CREATE TABLE station(code TEXT COLLATE NOCASE PRIMARY KEY, name TEXT NOT NULL, altitude REAL) WITHOUT ROWID;
CREATE TABLE reading(
    station TEXT COLLATE NOCASE NOT NULL REFERENCES station(code) ON DELETE CASCADE, taken INTEGER NOT NULL, celsius REAL, millimetres REAL, raw BLOB,
    PRIMARY KEY(station, taken)) WITHOUT ROWID;
CREATE TABLE setting(name PRIMARY KEY NOT NULL, value);
CREATE TABLE session(id INTEGER PRIMARY KEY, started INTEGER);
CREATE VIEW warmest AS SELECT station, max(celsius) AS celsius FROM reading GROUP BY station;
CREATE VIRTUAL TABLE station_search USING fts5(name);
INSERT INTO station VALUES('ALP1', 'Upper hut', 2310.5), ('val2', 'Valley', 540);
INSERT INTO reading VALUES('alp1', 1767225600, -8.25, 0, x'0102'), ('alp1', 1767229200, -7.5, 1.25, NULL), ('VAL2', 1767225600, 1.5, 0, x'ff');
INSERT INTO setting VALUES('interval', 3600), ('units', 'metric'), ('factor', 0.5), ('key', x'c0ffee');
INSERT INTO session VALUES(1, 1767225599);
INSERT INTO station_search VALUES('Upper hut'), ('Valley');
