import Foundation
import GRDB
public import SnapshotModel

/// What `init` wrote into the database: the one source of truth for every later command.
public struct SyncSettings: Sendable, Hashable {
    /// The cloud directory's absolute path.
    public var cloud: String
    /// The UUID that `init` saw there.
    public var cloudUUID: String
    /// `private` or `public`.
    public var scope: String
    public var zone: String
    public var role: SyncRole
    public var device: String
    /// The datasets that travel, parents before children.
    public var datasets: [DatasetSchema]
    /// Whether the first import may replace rows that were there before it.
    public var replacesOwnRows: Bool
    /// Whether the first import keeps those rows that the cloud knows nothing of; a publisher's always does.
    public var adoptsOwnRows: Bool
    /// The container identifier that the cloud must have; nil in a database that an earlier version set up.
    public var container: String?

    public init(
        cloud: String, cloudUUID: String, scope: String, zone: String, role: SyncRole, device: String,
        datasets: [DatasetSchema], replacesOwnRows: Bool, adoptsOwnRows: Bool = false, container: String? = nil
    ) {
        self.cloud = cloud
        self.cloudUUID = cloudUUID
        self.scope = scope
        self.zone = zone
        self.role = role
        self.device = device
        self.datasets = datasets
        self.replacesOwnRows = replacesOwnRows
        self.adoptsOwnRows = adoptsOwnRows
        self.container = container
    }
}

extension LocalTransaction {
    /// Reads the settings.
    ///
    /// - Throws: ``LocalStoreError`` with `.notInitialized` if there are none.
    package func settings() throws -> SyncSettings {
        guard try db.hasTable("snapsync_settings") else {
            throw LocalStoreError(.notInitialized, at: path, "this database is not set up for syncing", hint: "run: snapsync init --db \(path) --cloud DIR --role writer|reader|peer")
        }
        func value(_ key: String) throws -> String {
            guard let value = try self.value(of: key, in: .settings) else { throw damaged("snapsync_settings", "the setting '\(key)' is missing") }
            return value
        }
        func isSet(_ key: String) throws -> Bool { try self.value(of: key, in: .settings) == "1" }
        guard try value("formatVersion") == "1" else {
            throw LocalStoreError(.schemaMismatch, at: "\(path), snapsync_settings", "the settings were written by a newer snapsync", hint: "update snapsync")
        }
        guard let role = SyncRole(rawValue: try value("role")) else {
            throw damaged("snapsync_settings", "the role is not known")
        }
        let datasets: [DatasetSchema]
        do {
            datasets = try DatasetFile.decode(try value("datasets"))
        } catch let error as LocalStoreError {
            throw error
        } catch {
            throw damaged("snapsync_settings", "the datasets cannot be read: \(DatasetFile.explain(error))")
        }
        return SyncSettings(
            cloud: try value("cloud"), cloudUUID: try value("cloudUUID"), scope: try value("scope"), zone: try value("zone"),
            role: role, device: try value("device"), datasets: datasets,
            replacesOwnRows: try isSet("replacesOwnRows"), adoptsOwnRows: try isSet("adoptsOwnRows"), container: try self.value(of: "container", in: .settings))
    }

    /// What somebody else has written into one of the toolkit's tables.
    func damaged(_ table: String, _ reason: String) -> LocalStoreError {
        LocalStoreError(.damaged, at: "\(path), \(table)", reason, hint: "run snapsync detach and snapsync init again")
    }

    /// Whether `init` has been here.
    package func isInitialized() throws -> Bool {
        try db.hasTable("snapsync_settings")
    }

    /// Makes the toolkit's tables and writes the settings. The database must not have any yet.
    package func initialize(_ settings: SyncSettings) throws {
        guard try !isInitialized() else {
            throw LocalStoreError(.notInitialized, at: path, "this database is set up for syncing already", hint: "snapsync status shows how; snapsync detach takes it out again")
        }
        try db.execute(sql: """
            CREATE TABLE snapsync_settings(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE snapsync_state(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE snapsync_datasets(
                name TEXT PRIMARY KEY NOT NULL, syncTimestamp TEXT NOT NULL, recordCount INTEGER NOT NULL,
                unknownFields TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID;
            """)
        let datasets = String(decoding: try DatasetFile.encode(settings.datasets), as: UTF8.self)
        for (key, value) in [
            ("formatVersion", "1"), ("cloud", settings.cloud), ("cloudUUID", settings.cloudUUID), ("scope", settings.scope),
            ("zone", settings.zone), ("role", settings.role.rawValue), ("device", settings.device), ("datasets", datasets),
            ("replacesOwnRows", settings.replacesOwnRows ? "1" : "0"), ("adoptsOwnRows", settings.adoptsOwnRows ? "1" : "0"),
        ] {
            try db.execute(sql: "INSERT INTO snapsync_settings VALUES(?, ?)", arguments: [key, value])
        }
        if let container = settings.container { try db.execute(sql: "INSERT INTO snapsync_settings VALUES('container', ?)", arguments: [container]) }
    }

    /// Takes out everything that ``initialize(_:)`` and later runs put in. The user's tables stay as they are.
    package func detach() throws {
        try untrack()
        for table in ["snapsync_settings", "snapsync_state", "snapsync_datasets", PublishedChanges.table, LineageTable.table, ConflictJournal.table] {
            try db.execute(sql: "DROP TABLE IF EXISTS \(table)")
        }
    }
}
