-- The tables of a family board. A membership says who belongs to which family; it cannot be without either.
PRAGMA journal_mode = WAL;
CREATE TABLE Family(
    id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, code TEXT NOT NULL UNIQUE, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL);
CREATE TABLE UserProfile(
    id TEXT PRIMARY KEY NOT NULL, displayName TEXT NOT NULL, avatarUrl TEXT, updatedAt TEXT NOT NULL);
CREATE TABLE Membership(
    id TEXT PRIMARY KEY NOT NULL, familyId TEXT NOT NULL REFERENCES Family(id), profileId TEXT NOT NULL REFERENCES UserProfile(id),
    role TEXT NOT NULL CHECK(role IN ('parent', 'child', 'visitor')), updatedAt TEXT NOT NULL);
CREATE INDEX memberships_of_family ON Membership(familyId);
CREATE INDEX memberships_of_profile ON Membership(profileId);
