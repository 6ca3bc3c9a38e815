import Foundation
package import SnapshotModel
package import StrictText

/// What the runs record: the table `snapsync_state`, with one JSON value under each key.
///
///     let point = try transaction.state.undoPoint()
///     try transaction.state.undoPoint.set(nil)
package struct StateTable: TransactionPart {
    package let transaction: LocalTransaction

    static let name = LocalTable.state.name
    private var table: KeyValueTable { KeyValueTable(transaction: transaction, name: Self.name) }

    package func value<Value>(_ key: String, _ standard: Value) -> StoredValue<Value> { StoredValue(table: table, key: key, standard: standard) }
    package func value<Value>(_ key: String) -> StoredValue<Value?> { value(key, nil) }
    private func names(_ key: String) -> StoredValue<Set<ExactText>> { value(key, []) }

    /// The version that was applied or published last; nil before the first. See ``setApplied(_:)``.
    package var applied: StoredValue<AppliedVersion?> { value("applied") }
    /// The commit that a publisher was about to publish; nil if there is none. See ``setIntended(_:)``.
    package var intended: StoredValue<IntendedVersion?> { value("intended") }
    /// The cached record of a dataset in the cloud; nil if none is cached.
    package var knownRecord: StoredValue<KnownRecord?> { value("record") }
    /// The last comparison of the published descriptions with the tables; nil before the first.
    package var descriptionNote: StoredValue<DescriptionNote?> { value("descriptions") }
    /// The database's schema version when its tables were last compared with the descriptions; nil before the first comparison.
    package var tablesSeen: StoredValue<Int64?> { value("tablesSeen") }
    /// The columns of a dataset that the applied version has and the rows do not have yet. The next import fills them.
    package var unseenColumns: StoredValue<Set<ExactText>> { names("unseenColumns") }
    /// The columns that the zone's description of a dataset has and this reader's lacks. The reader takes each as soon as its table has it.
    package var describedColumns: StoredValue<Set<ExactText>> { names("describedColumns") }
    /// The JSON names of columns that were removed from a dataset. If an older version still has them, this device does not count them as
    /// missing.
    package var removedColumns: StoredValue<Set<ExactText>> { names("removedColumns") }
    /// The table's columns that are not synced although they could be, because another device removed them from the dataset.
    package var leftColumns: StoredValue<Set<ExactText>> { names("leftColumns") }
    /// The columns of a dataset that the applied version does not have; empty if it has all, or if there is no version. They are set in the
    /// transaction that applies the version.
    package var missingColumns: StoredValue<[String]> { value("missingColumns", []) }
    /// The names of the datasets that this device syncs and the zone has no more, because another device took them out. They are not published.
    package var takenOut: StoredValue<Set<ExactText>> { names("takenOut") }
    /// The names of the datasets that this reader syncs no more. Their rows came from the zone: if a dataset returns, they are no strangers.
    package var leftDatasets: StoredValue<Set<ExactText>> { names("leftDatasets") }
    /// The names of the records that the next commit will delete, of datasets that this device removed from the zone.
    package var removedRecords: StoredValue<[String]> { value("removedRecords", []) }
    /// How the database joined its zone; nil if it has not joined one.
    package var bootstrapNote: StoredValue<BootstrapNote?> { value("bootstrap") }
    /// The nonces of this database's reports; nil before the first. They are set before a report with the next nonce is written.
    package var reportNonces: StoredValue<ReportNonces?> { value("reportNonces") }
    /// Up to this number, commits under the device's name are known to come from another database; 0 if none are known.
    package var ownCommitsKnown: StoredValue<Int> { value("ownCommitsKnown", 0) }
    /// What the device knows about a signed zone, as JSON: the creator that it trusts and the members that it has verified. Nil in a zone that is
    /// not signed. It is set before a commit that changed it is recorded as applied.
    package var zoneKnowledge: StoredText { StoredText(table: table, key: "signedZone") }
    /// The value on which the preference and its bound store last agreed; nil before the first agreement.
    package var preferenceAgreement: StoredValue<PreferenceAgreement?> { value("preferenceAgreement") }
    /// The last answer about the entitlement; nil before the first query.
    package var entitlementRecord: StoredValue<EntitlementRecord?> { value("entitlement") }
    /// What `undo` would restore; nil if no command has replaced the data yet. It is set in the transaction that replaces the data.
    package var undoPoint: StoredValue<UndoPoint?> { value("undo") }
    /// The versions that the next commit will pin.
    package var pendingPins: StoredValue<[PendingPin]> { value("pendingPins", []) }
    /// Whether a reader has asked for every dataset to be written whole.
    package var isFullSyncRequested: StoredValue<Bool> { value("fullSync", false) }
    /// When the role's regular run last succeeded. See ``setLastSuccess(_:)``.
    package var lastSuccess: StoredValue<Instant?> { value("lastSuccess") }
    /// Since when this reader's messages cannot be sent; nil if they can be sent.
    package var unsentSince: StoredValue<Instant?> { value("unsentSince") }
    /// Why the last run failed; nil if it succeeded.
    package var lastFailure: StoredValue<RunFailure?> { value("lastFailure") }
    /// When the last automatic removal of versions was attempted; nil before the first.
    package var lastRetention: StoredValue<Instant?> { value("lastRetention") }
    /// The last trial restore; nil before the first.
    package var lastRestoreCheck: StoredValue<RestoreCheckRecord?> { value("lastRestoreCheck") }
    /// The queries that fill this database's tables; nil if it is no audience.
    package var audience: StoredValue<AudienceNote?> { value("audience") }
    /// The files of the audiences that are filled from this database.
    package var audiences: StoredValue<Set<ExactText>> { names("audiences") }
    /// The promise about new versions; nil if no publisher has made one.
    package var freshness: StoredValue<FreshnessNote?> { value("freshness") }
    /// The zones that this database has left, oldest first.
    package var earlierZones: StoredValue<[EarlierZone]> { value("earlierZones", []) }
    /// The successor of the zone, as JSON, while the device waits to be approved there. Meanwhile the device ignores the present zone.
    package var nextZone: StoredText { StoredText(table: table, key: "nextZone") }

    /// Records the version that the database now has. Call it in the transaction that applies it.
    package func setApplied(_ version: AppliedVersion) throws { try applied.set(version) }

    /// Stores or deletes the commit that is about to be published. Earlier attempts for the same number are kept with it.
    package func setIntended(_ version: IntendedVersion?) throws { try intended.set(version?.after(intended())) }

    /// The JSON names of the columns that were removed from these datasets, by dataset name.
    package func removedColumns(of schemas: [DatasetSchema]) throws -> [String: Set<ExactText>] {
        try Dictionary(schemas.map { ($0.name, try removedColumns(of: $0)) }, uniquingKeysWith: { first, _ in first })
    }

    /// Deletes what `undo` would restore if it is a version that no longer exists.
    package func dropUndoPoint(of version: Int) throws {
        guard let point = try undoPoint(), point.copy == nil, point.version == version else { return }
        try undoPoint.set(nil)
    }

    /// Deletes what is recorded of one dataset.
    package func forget(_ schema: DatasetSchema) throws {
        try KeyedStatement(db, "DELETE FROM \(Self.name) WHERE key LIKE '%:%' AND substr(key, instr(key, ':') + 1) = ?").bind(.text(schema.name)).run()
    }

    package func setTablesSeen() throws { try tablesSeen.set(transaction.tables.schemaVersion()) }

    /// Records that the role's regular run succeeded.
    package func setLastSuccess(_ instant: Instant) throws {
        try lastSuccess.set(instant)
        try lastFailure.set(nil)
    }

    /// The last successful run of a kind; nil before the first.
    package func lastRun(_ kind: RunKind) throws -> RunRecord? { try value(kind.rawValue)() }
    package func setLastRun(_ kind: RunKind, _ run: RunRecord) throws { try value(kind.rawValue).set(run) }

    /// When the role's last regular run that had nothing to do began, by the time of the lock file; nil if the database has a later run.
    package func lastIdleRun(of role: SyncRole) throws -> Instant? {
        guard let recorded = try lastRun(RunKind(of: role)), let began = RunLock.lastIdleRun(of: path), began > recorded.at else { return nil }
        return began
    }

    /// When the role's work last succeeded; nil before the first time. A reader must also send its changes: while that fails, the last success is not
    /// later than the first failure.
    package func lastSuccess(of role: SyncRole) throws -> Instant? {
        // A run with nothing to do is recorded by the time of a file beside the database.
        let latest = [try lastSuccess(), try lastIdleRun(of: role)].compactMap(\.self).max()
        let unsent = role == .reader ? try unsentSince() : nil
        return latest.map { min($0, unsent ?? $0) }
    }
}

/// A value under one key of `snapsync_state`, as JSON. Calling it reads it.
package struct StoredValue<Value> {
    fileprivate let table: KeyValueTable
    fileprivate let key: String
    /// The value of a key that is not there.
    fileprivate let standard: Value
}

// The type itself has no conditions: the runtime would look for the conformances of each value, a quarter of a millisecond at a time.
extension StoredValue where Value: Codable & Equatable {
    private func part(_ schema: DatasetSchema) -> Self { Self(table: table, key: "\(key):\(schema.name)", standard: standard) }

    package func callAsFunction() throws -> Value {
        guard let text = try table.text(of: key) else { return standard }
        do {
            return try StrictJSON.decode(Value.self, from: text)
        } catch {
            throw table.damaged(table.name, "the value of '\(key)' cannot be read")
        }
    }

    /// The value of one dataset.
    package func callAsFunction(of schema: DatasetSchema) throws -> Value { try part(schema)() }

    package func set(_ value: Value) throws {
        let text = try (value as? Set<ExactText>).map { try StrictJSON.text($0.sorted()) } ?? StrictJSON.text(value)
        try table.setText(value == standard ? nil : text, of: key)
    }

    /// Sets the value of one dataset.
    package func set(_ value: Value, of schema: DatasetSchema) throws { try part(schema).set(value) }
}

/// A text under one key of `snapsync_state` or `snapsync_settings`. Calling it reads it.
package struct StoredText {
    let table: KeyValueTable
    let key: String

    package func callAsFunction() throws -> String? { try table.text(of: key) }
    package func set(_ text: String?) throws { try table.setText(text, of: key) }
}

/// The state of a device's tables when it last compared their descriptions with the zone's.
package struct DescriptionNote: Sendable, Hashable, Codable {
    /// The database's `schema_version`: while it is unchanged, the tables are unchanged.
    package let schemaVersion: Int64
    /// The SHA-256 of each dataset's description, by the dataset's name.
    package let hashes: [String: String]

    package init(schemaVersion: Int64, hashes: [String: String]) { (self.schemaVersion, self.hashes) = (schemaVersion, hashes) }
}

/// A trial restore: of which version, and how many problems it found.
package struct RestoreCheckRecord: Hashable, Sendable, Codable {
    package let at: Instant
    package let version: Int
    package let problemCount: Int

    package init(at: Instant, version: Int, problemCount: Int) { (self.at, self.version, self.problemCount) = (at, version, problemCount) }
}

/// A table of keys and texts: `snapsync_settings` or `snapsync_state`.
struct KeyValueTable: TransactionPart {
    let transaction: LocalTransaction
    let name: String

    /// The text stored under a key; nil if there is none.
    ///
    /// Every run reads a dozen keys within a few milliseconds, so the connection caches the statement.
    ///
    /// - Throws: ``SyncError`` with `.damaged` if the value is not UTF-8 text.
    func text(of key: String) throws -> String? {
        let statement = try KeyedStatement(db, "SELECT value FROM \(name) WHERE key = ?").bind(.text(key))
        guard try statement.step() else { return nil }
        defer { statement.end() }
        guard let text = statement.text(0), UTF8Check.firstFault(in: text) == nil else {
            throw damaged(name, name == SettingsTable.name ? "the setting '\(key)' is not text" : "the value of '\(key)' cannot be read")
        }
        return String(decoding: text, as: UTF8.self)
    }
    func setText(_ text: String?, of key: String) throws {
        guard let text else { return try KeyedStatement(db, "DELETE FROM \(name) WHERE key = ?").bind(.text(key)).run() }
        try KeyedStatement(db, "INSERT OR REPLACE INTO \(name) VALUES(?, ?)").bind(.text(key), .text(text)).run()
    }
}

/// What fills the tables of an audience.
package struct AudienceNote: Codable, Hashable, Sendable {
    /// A table that has the rows of a query.
    package struct View: Codable, Hashable, Sendable {
        @ExactText package var table: String
        package let query: String
        /// The source's table whose rows the edits change; nil if the rows cannot be edited.
        package let base: String?

        package init(table: String, query: String, base: String?) {
            _table = ExactText(table)
            (self.query, self.base) = (query, base)
        }
    }

    /// The database that the queries read: its name in the audience's folder, or an absolute path.
    package let source: String
    package var views: [View]

    package init(source: String, views: [View]) { (self.source, self.views) = (source, views) }
}
