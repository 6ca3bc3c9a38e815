-- The tables of a project tracker.
PRAGMA journal_mode = WAL;
CREATE TABLE projects(
    id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, detail TEXT, colour TEXT, closed INTEGER NOT NULL DEFAULT 0,
    updatedAt TEXT NOT NULL);
CREATE TABLE items(
    id TEXT PRIMARY KEY NOT NULL, projectId TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE, title TEXT NOT NULL, detail TEXT,
    priority INTEGER NOT NULL DEFAULT 2, completed INTEGER NOT NULL DEFAULT 0, position INTEGER NOT NULL, updatedAt TEXT NOT NULL);
CREATE INDEX items_of_project ON items(projectId, position);
