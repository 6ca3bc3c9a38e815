-- The tables of a food diary's pantry: what is in the fridge, and one row of settings.
PRAGMA journal_mode = WAL;
CREATE TABLE foods(
    id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, quantity REAL NOT NULL DEFAULT 1, unit TEXT, expiresOn TEXT, eaten INTEGER NOT NULL DEFAULT 0,
    updatedAt TEXT NOT NULL);
CREATE INDEX foods_by_expiry ON foods(expiresOn) WHERE eaten = 0;
CREATE TABLE app_settings(
    id TEXT PRIMARY KEY NOT NULL, remindDaysBefore INTEGER NOT NULL, reminderTime TEXT NOT NULL, accentColour TEXT, updatedAt TEXT NOT NULL);
