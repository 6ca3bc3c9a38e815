import Foundation
import GRDB
import SnapshotModel

extension LocalTransaction {
    /// Makes the toolkit's tables and writes the settings. The database must not have any yet.
    package func initialize(_ wanted: SyncSettings) throws {
        guard try !settings.exists() else {
            throw LocalStoreError(.notInitialized, at: path, "this database is set up for syncing already", hint: "snapsync status shows how; snapsync detach takes it out again")
        }
        try db.execute(sql: """
            CREATE TABLE snapsync_settings(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE snapsync_state(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE snapsync_datasets(
                name TEXT PRIMARY KEY NOT NULL, syncTimestamp TEXT NOT NULL, recordCount INTEGER NOT NULL,
                unknownFields TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID;
            """)
        let datasets = String(decoding: try DatasetFile.encode(wanted.datasets), as: UTF8.self)
        for (key, value) in [
            ("formatVersion", "1"), ("cloud", wanted.cloud), ("cloudUUID", wanted.cloudUUID), ("scope", wanted.scope),
            ("zone", wanted.zone), ("role", wanted.role.rawValue), ("device", wanted.device), ("datasets", datasets),
            ("replacesOwnRows", wanted.replacesOwnRows ? "1" : "0"), ("adoptsOwnRows", wanted.adoptsOwnRows ? "1" : "0"),
        ] {
            try db.execute(sql: "INSERT INTO snapsync_settings VALUES(?, ?)", arguments: [key, value])
        }
        if let container = wanted.container { try db.execute(sql: "INSERT INTO snapsync_settings VALUES('container', ?)", arguments: [container]) }
    }

    /// Takes out everything that ``initialize(_:)`` and later runs put in. The user's tables stay as they are.
    package func detach() throws {
        try untrack()
        for table in [SettingsTable.name, StateTable.name, DatasetStateTable.name, PublishedChanges.table, LineageTable.table, ConflictJournal.table] {
            try db.execute(sql: "DROP TABLE IF EXISTS \(table)")
        }
    }
}
