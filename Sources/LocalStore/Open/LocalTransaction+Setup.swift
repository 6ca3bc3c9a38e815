import Foundation
import GRDB
import SnapshotModel

extension LocalTransaction {
    /// Creates the toolkit's tables and writes the settings. The database must not have settings yet.
    package func initialize(_ wanted: SyncSettings) throws {
        guard try !settings.exists() else {
            throw LocalStoreError(
                .notInitialized, at: path, "this database is set up for syncing already", hint: "snapsync status shows how; snapsync detach takes it out again")
        }
        for table in LocalTable.settingsTables { try table.create(in: db) }
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

    /// Drops everything that ``initialize(_:)`` and later runs created. The user's tables stay as they are.
    package func detach() throws {
        try tracking.remove()
        for table in LocalTable.settingsTables + [.published, .lineage, .conflicts] { try table.drop(in: db) }
    }
}
