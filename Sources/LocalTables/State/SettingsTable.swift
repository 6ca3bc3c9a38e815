import GRDB
package import SnapshotModel
package import StrictText

/// The origin of a database's dataset descriptions.
package enum DescriptionSource: String, Sendable {
    /// A dataset file, or the built-in descriptions: only a person changes them.
    case file
    /// The database's own tables (`init --tables`).
    case database
    case zone
}

/// What `init` and the operator decided: the table `snapsync_settings`. It exists only if the database is set up for syncing.
package struct SettingsTable: TransactionPart {
    package let transaction: LocalTransaction

    static let name = LocalTable.settings.name
    private func text(_ key: String) -> StoredText { StoredText(table: KeyValueTable(transaction: transaction, name: Self.name), key: key) }

    /// The path of the cloud directory.
    package var cloud: StoredText { text("cloud") }
    package var zone: StoredText { text("zone") }
    /// The device's name.
    package var device: StoredText { text("device") }
    var keyRange: StoredText { text("keyRange") }
    /// The device that the range belongs to.
    var keyRangeDevice: StoredText { text("keyRangeDevice") }
    /// The file that says whether the user may sync; nil if nothing restricts that.
    package var entitlementFile: StoredText { text("entitlementFile") }
    /// How large an asset may be, in bytes.
    package var assetLimit: StoredText { text("assetLimit") }
    /// How often a scheduler runs a sync, in seconds.
    package var interval: StoredText { text("interval") }
    /// 1 if a tool replicates the cloud's directory.
    package var replicated: StoredText { text("replicated") }

    /// Reads the settings.
    ///
    /// - Throws: ``SyncError`` with `.notInitialized` if there are none.
    package func read() throws -> SyncSettings {
        guard try exists() else {
            if try isBegun() {
                throw SyncError(
                    database: .notInitialized, at: path, "some of snapsync's own tables are gone, so this database cannot be synced",
                    hint: "to set it up again: snapsync detach \(path.shellWord), then snapsync init as before")
            }
            let orphans = try transaction.triggeredTables()
            guard orphans.isEmpty else {
                throw SyncError(
                    database: .notInitialized, at: path,
                    "this database is not set up for syncing, but triggers of snapsync, whose tables are gone, are still on \(orphans.joined(separator: ", ")): no program can write there",
                    hint: "to remove the triggers: snapsync detach \(path.shellWord)")
            }
            throw SyncError(
                database: .notInitialized, at: path, "this database is not set up for syncing",
                hint: "run: snapsync init \(path.shellWord) LOCATION, or to read what others publish: snapsync join \(path.shellWord) LOCATION")
        }
        func value(_ key: String) throws -> String {
            guard let value = try text(key)() else { throw damaged("snapsync_settings", "the setting '\(key)' is missing") }
            return value
        }
        func isSet(_ key: String) throws -> Bool { try text(key)() == "1" }
        guard try value("formatVersion") == "1" else {
            throw SyncError(
                database: .schemaMismatch, at: "\(path), snapsync_settings", "the settings were written by a newer snapsync", hint: "update snapsync")
        }
        guard let role = SyncRole(rawValue: try value("role")) else {
            throw damaged("snapsync_settings", "the role is not known")
        }
        let datasets: [DatasetSchema]
        do {
            datasets = try DatasetFile.decode(try value("datasets"))
        } catch let error as SyncError where error.database != nil {
            throw error
        } catch {
            throw damaged("snapsync_settings", "the datasets cannot be read: \(DatasetFile.explain(error))")
        }
        return SyncSettings(
            cloud: try value("cloud"), cloudUUID: try value("cloudUUID"), scope: try value("scope"), zone: try value("zone"),
            role: role, device: try value("device"), datasets: datasets,
            replacesOwnRows: try isSet("replacesOwnRows"), adoptsOwnRows: try isSet("adoptsOwnRows"), container: try text("container")())
    }

    /// Whether `init` set this database up.
    package func exists() throws -> Bool { try LocalTable.settingsTables.allSatisfy { try db.hasTable($0.name) } }

    /// Whether `init` set this database up, even if other programs have dropped some of the toolkit's tables since.
    func isBegun() throws -> Bool { try db.hasTable(Self.name) }

    /// Creates the tables that are gone, empty, so that what the others hold can be read.
    package func restoreTables() throws {
        if try isBegun() { for table in LocalTable.settingsTables { try table.create(in: db) } }
    }

    /// Stores new descriptions of the datasets.
    package func setDatasets(_ datasets: [DatasetSchema]) throws { try text("datasets").set(String(decoding: DatasetFile.encode(datasets), as: UTF8.self)) }

    /// The origin of the descriptions; `file` unless `init` stored another.
    package func descriptionSource() throws -> DescriptionSource { try text("descriptionSource")().flatMap(DescriptionSource.init) ?? .file }
    package func setDescriptionSource(_ source: DescriptionSource) throws { try text("descriptionSource").set(source.rawValue) }

    /// Whether the user wants this database to be synced. Without a setting it is on.
    package func preference() throws -> SyncPreference {
        guard let choice = try SyncChoice(rawValue: text("preference")() ?? SyncChoice.on.rawValue) else {
            throw damaged("snapsync_settings", "the setting 'preference' is none of on, off and undecided")
        }
        return SyncPreference(choice, changedAt: try text("preferenceChangedAt")().flatMap { try? Instant(parsing: $0) })
    }

    /// Stores the preference. It is stored nowhere else.
    package func setPreference(_ preference: SyncPreference) throws {
        try text("preference").set(preference.choice.rawValue)
        try text("preferenceChangedAt").set(preference.changedAt?.description)
    }

    /// Sets the file that says whether the user may sync, or removes it. An answer from another file is deleted.
    package func setEntitlementFile(_ path: String?) throws {
        if try path?.exact != entitlementFile()?.exact { try transaction.state.entitlementRecord.set(nil) }
        try entitlementFile.set(path)
    }

    /// Whether this database is in memory, in place of one that could not be opened.
    package func isInMemory() throws -> Bool {
        guard try exists() else { return false }
        return try text("inMemory")() != nil
    }

    /// Marks this database as one in memory, which can never be set up for syncing.
    package func markInMemory() throws {
        for table in LocalTable.settingsTables { try table.create(in: db) }
        try text("inMemory").set("1")
    }

    /// Reads the operator's settings, with defaults for those that are not set.
    package func operatorSettings() throws -> OperatorSettings {
        func number(_ key: String) throws -> Int? {
            guard let text = try text(key)() else { return nil }
            guard let value = Int(text), value > 0 else { throw damaged("snapsync_settings", "the setting '\(key)' is not a number") }
            return value
        }
        let last = try number("keepLast"), within = try number("keepWithin")
        return OperatorSettings(
            assetLimit: try number("assetLimit") ?? OperatorSettings.standardAssetLimit, interval: try number("interval"),
            isReplicated: try number("replicated") != nil,
            retention: last == nil && within == nil ? nil : RetentionSetting(keepLast: last, keepWithin: within))
    }

    /// Sets which versions a publisher keeps when it removes versions automatically; nil: it removes none.
    package func setRetention(_ setting: RetentionSetting?) throws {
        try text("keepLast").set(setting?.keepLast.map(String.init))
        try text("keepWithin").set(setting?.keepWithin.map(String.init))
    }
}

/// What an operator decided about a database, besides what `init` requires.
package struct OperatorSettings: Hashable, Sendable {
    /// The default limit of an asset's size, in bytes: CloudKit's limit.
    package static let standardAssetLimit = 250_000_000

    /// The largest size of an asset, in bytes.
    package let assetLimit: Int
    /// How often a scheduler runs a sync, in seconds; nil if there is no schedule.
    package let interval: Int?
    /// Whether the operator told `init` that a tool replicates the cloud's folder.
    package let isReplicated: Bool
    /// Which versions a publisher keeps when it removes versions automatically; nil if it removes none.
    package let retention: RetentionSetting?
}

/// Which versions a publisher keeps when it removes versions automatically, besides the newest and the pinned ones.
package struct RetentionSetting: Hashable, Sendable {
    /// How many states of the data to keep; nil for no such rule.
    package let keepLast: Int?
    /// The greatest age of versions to keep, in seconds; nil for no such rule.
    package let keepWithin: Int?

    package init(keepLast: Int?, keepWithin: Int?) { (self.keepLast, self.keepWithin) = (keepLast, keepWithin) }
}

/// Whether the user wants this database to be synced, and since when.
package struct SyncPreference: Hashable, Sendable {
    package let choice: SyncChoice
    /// When it was set; nil if nothing was chosen yet.
    package let changedAt: Instant?

    package init(_ choice: SyncChoice, changedAt: Instant?) { (self.choice, self.changedAt) = (choice, changedAt) }
}

/// The value on which the preference and its bound store last agreed.
package struct PreferenceAgreement: Hashable, Sendable, Codable {
    package let isOn: Bool
    /// Microseconds since 1970.
    package let at: Int64

    package init(isOn: Bool, at: Instant) {
        self.isOn = isOn
        self.at = at.microseconds
    }
}

/// The last answer about whether the user may sync, and why the last query failed.
package struct EntitlementRecord: Hashable, Sendable, Codable {
    package struct Answer: Hashable, Sendable, Codable {
        package let isEntitled: Bool
        /// Until when the answer is valid, in microseconds since 1970; nil if it does not expire.
        package let validUntil: Int64?
        /// When it was given, in microseconds since 1970.
        package let givenAt: Int64

        package init(isEntitled: Bool, validUntil: Int64?, givenAt: Int64) {
            (self.isEntitled, self.validUntil, self.givenAt) = (isEntitled, validUntil, givenAt)
        }
    }

    package let answer: Answer?
    /// Why the last query had no answer; nil if it had one.
    package let failure: String?

    package init(answer: Answer?, failure: String?) { (self.answer, self.failure) = (answer, failure) }
}

extension LocalTransaction {
    /// Creates the toolkit's tables and writes the settings. The database must not have settings yet.
    package func initialize(_ wanted: SyncSettings) throws {
        guard try !settings.isBegun() else {
            throw SyncError(
                .refused, step: .open, at: path, "this database is set up for syncing already",
                hint: "to see how: snapsync status; to take it out: snapsync detach")
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
}
