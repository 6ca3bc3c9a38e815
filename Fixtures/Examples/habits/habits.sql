-- The tables of a habit tracker: one profile, categories, habits, and a log of what was done.
PRAGMA journal_mode = WAL;
CREATE TABLE profiles(
    id TEXT PRIMARY KEY NOT NULL, name TEXT, avatar TEXT, appearance TEXT, weekStartsOn INTEGER, updatedAt TEXT NOT NULL);
CREATE TABLE categories(
    id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, updatedAt TEXT NOT NULL);
CREATE TABLE habits(
    id TEXT PRIMARY KEY NOT NULL, categoryId TEXT REFERENCES categories(id) ON DELETE SET NULL, name TEXT NOT NULL, dailyTarget REAL,
    isActive INTEGER NOT NULL DEFAULT 1, updatedAt TEXT NOT NULL);
CREATE TABLE habit_logs(
    id TEXT PRIMARY KEY NOT NULL, habitId TEXT NOT NULL REFERENCES habits(id) ON DELETE CASCADE, date TEXT NOT NULL, value REAL, updatedAt TEXT NOT NULL);
CREATE INDEX logs_of_habit ON habit_logs(habitId, date);
