import GRDB
package import SnapshotModel
import StrictText

/// The origin of a database's dataset descriptions.
package enum DescriptionSource: String, Sendable {
    /// A dataset file, or the built-in descriptions: only a person changes them.
    case file
    /// The database's own tables (`init --tables`).
    case database
    /// The zone.
    case zone
}

/// What `init` and the operator decided: the table `snapsync_settings`. It exists only if the database is set up for syncing.
package struct SettingsTable: TransactionPart {
    let transaction: LocalTransaction

    static let name = LocalTable.settings.name
    var table: KeyValueTable { KeyValueTable(transaction: transaction, name: Self.name) }

    /// Reads the settings.
    ///
    /// - Throws: ``LocalStoreError`` with `.notInitialized` if there are none.
    package func read() throws -> SyncSettings {
        guard try db.hasTable("snapsync_settings") else {
            throw LocalStoreError(
                .notInitialized, at: path, "this database is not set up for syncing",
                hint: "run: snapsync init --db \(path.shellWord) --cloud DIR --role writer|reader|peer")
        }
        func value(_ key: String) throws -> String {
            guard let value = try table.text(of: key) else { throw damaged("snapsync_settings", "the setting '\(key)' is missing") }
            return value
        }
        func isSet(_ key: String) throws -> Bool { try table.text(of: key) == "1" }
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
            replacesOwnRows: try isSet("replacesOwnRows"), adoptsOwnRows: try isSet("adoptsOwnRows"), container: try table.text(of: "container"))
    }

    /// Whether `init` set this database up.
    package func exists() throws -> Bool {
        try db.hasTable("snapsync_settings")
    }

    /// Stores new descriptions of the datasets.
    package func setDatasets(_ datasets: [DatasetSchema]) throws {
        try table.setText(String(decoding: try DatasetFile.encode(datasets), as: UTF8.self), of: "datasets")
    }

    /// The origin of the descriptions; `file` unless `init` stored another.
    package func descriptionSource() throws -> DescriptionSource { try table.text(of: "descriptionSource").flatMap(DescriptionSource.init) ?? .file }

    /// Stores the origin of the descriptions.
    package func setDescriptionSource(_ source: DescriptionSource) throws { try table.setText(source.rawValue, of: "descriptionSource") }

    /// Changes the path of the cloud directory.
    package func setCloud(_ path: String) throws {
        try db.execute(sql: "UPDATE snapsync_settings SET value = ? WHERE key = 'cloud'", arguments: [path])
    }

    /// Changes the zone.
    func setZone(_ name: String) throws {
        try db.execute(sql: "UPDATE snapsync_settings SET value = ? WHERE key = 'zone'", arguments: [name])
    }

    /// Changes the device's name.
    package func setDevice(_ name: String) throws {
        try db.execute(sql: "UPDATE snapsync_settings SET value = ? WHERE key = 'device'", arguments: [name])
    }
}
