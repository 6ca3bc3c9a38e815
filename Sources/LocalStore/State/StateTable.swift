import Foundation
package import SnapshotModel
package import StrictText

/// What the runs record: the table `snapsync_state`, with one JSON value under each key.
package struct StateTable: TransactionPart {
    let transaction: LocalTransaction

    static let name = LocalTable.state.name
    var table: KeyValueTable { KeyValueTable(transaction: transaction, name: Self.name) }

    /// The version that was applied or published last; nil before the first.
    package func applied() throws -> AppliedVersion? { try value("applied") }

    /// Records the version that the database now has. Call it in the transaction that applies it.
    package func setApplied(_ version: AppliedVersion) throws { try setValue("applied", version) }

    /// Deletes the applied version and leaves the rows, which will be the first version of another zone.
    func forgetApplied() throws { try setValue("applied", nil as AppliedVersion?) }

    /// The commit that a publisher was about to publish; nil if there is none.
    package func intended() throws -> IntendedVersion? { try value("intended") }

    /// Stores or deletes the commit that is about to be published. Earlier attempts for the same number are kept with it.
    package func setIntended(_ version: IntendedVersion?) throws { try setValue("intended", version?.after(intended())) }

    /// What the database shows instead of the newest version, in words; nil if it follows the zone.
    package func view() throws -> String? { try value("view") }
    package func setView(_ view: String?) throws { try setValue("view", view) }

    /// The cached record of a dataset in the cloud, from ``setKnownRecord(_:of:)``; nil if none is cached.
    package func knownRecord(of schema: DatasetSchema) throws -> KnownRecord? { try value("record:\(schema.name)") }
    package func setKnownRecord(_ record: KnownRecord?, of schema: DatasetSchema) throws { try setValue("record:\(schema.name)", record) }

    /// The last comparison of the published descriptions with the tables; nil before the first.
    package func descriptionNote() throws -> DescriptionNote? { try value("descriptions") }
    package func setDescriptionNote(_ note: DescriptionNote?) throws { try setValue("descriptions", note) }

    /// The database's schema version when its tables were last compared with the descriptions; nil before the first comparison.
    package func tablesSeen() throws -> Int64? { try table.text(of: "tablesSeen").flatMap { Int64($0) } }
    package func setTablesSeen() throws { try table.setText(String(transaction.tables.schemaVersion()), of: "tablesSeen") }

    /// The columns of a dataset that the applied version has and the rows do not have yet. The next import fills them.
    package func unseenColumns(of schema: DatasetSchema) throws -> Set<ExactText> { try value("unseenColumns:\(schema.name)") ?? [] }
    package func setUnseenColumns(_ names: Set<ExactText>, of schema: DatasetSchema) throws {
        try setValue("unseenColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The columns that the zone's description of a dataset has and this reader's lacks. The reader takes each as soon as its table has it.
    package func describedColumns(of schema: DatasetSchema) throws -> Set<ExactText> { try value("describedColumns:\(schema.name)") ?? [] }

    /// Stores which columns only the zone describes.
    package func setDescribedColumns(_ names: Set<ExactText>, of schema: DatasetSchema) throws {
        try setValue("describedColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The JSON names of columns that were removed from a dataset. If an older version still has them, this device does not count them as
    /// missing.
    package func removedColumns(of schema: DatasetSchema) throws -> Set<ExactText> { try value("removedColumns:\(schema.name)") ?? [] }

    /// The JSON names of the columns that were removed from these datasets, by dataset name.
    package func removedColumns(of schemas: [DatasetSchema]) throws -> [String: Set<ExactText>] {
        try Dictionary(schemas.map { ($0.name, try removedColumns(of: $0)) }, uniquingKeysWith: { first, _ in first })
    }
    package func setRemovedColumns(_ names: Set<ExactText>, of schema: DatasetSchema) throws {
        try setValue("removedColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The table's columns that are not synced although they could be, because another device removed them from the dataset.
    package func leftColumns(of schema: DatasetSchema) throws -> Set<ExactText> { try value("leftColumns:\(schema.name)") ?? [] }
    package func setLeftColumns(_ names: Set<ExactText>, of schema: DatasetSchema) throws {
        try setValue("leftColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The names of the datasets that this device syncs and the zone has no more, because another device took them out. They are not published.
    package func takenOut() throws -> Set<ExactText> { try value("takenOut") ?? [] }
    package func setTakenOut(_ names: Set<ExactText>) throws { try setValue("takenOut", names.isEmpty ? nil : names.sorted()) }

    /// The names of the datasets that this reader syncs no more. Their rows came from the zone: if a dataset returns, they are no strangers.
    package func leftDatasets() throws -> Set<ExactText> { try value("leftDatasets") ?? [] }
    package func setLeftDatasets(_ names: Set<ExactText>) throws { try setValue("leftDatasets", names.isEmpty ? nil : names.sorted()) }

    /// The names of the records that the next commit will delete, of datasets that this device removed from the zone.
    package func removedRecords() throws -> [String] { try value("removedRecords") ?? [] }
    package func setRemovedRecords(_ names: [String]) throws { try setValue("removedRecords", names.isEmpty ? nil : names.sorted()) }

    func value<T: Decodable>(_ key: String) throws -> T? {
        guard let text = try table.text(of: key) else { return nil }
        do {
            return try StrictJSON.decode(T.self, from: Data(text.utf8))
        } catch {
            throw damaged("snapsync_state", "the value of '\(key)' cannot be read")
        }
    }

    func setValue<T: Encodable>(_ key: String, _ value: T?) throws {
        try table.setText(value.map { String(decoding: try StrictJSON.encode($0), as: UTF8.self) }, of: key)
    }

    /// How the database joined its zone; nil if it has not joined one.
    package func bootstrapNote() throws -> BootstrapNote? { try value("bootstrap") }
    package func setBootstrapNote(_ note: BootstrapNote) throws { try setValue("bootstrap", note) }

    /// The nonces of this database's reports; nil before the first.
    package func reportNonces() throws -> ReportNonces? { try value("reportNonces") }

    /// Stores the nonces. Call it before a report with the next nonce is written.
    package func setReportNonces(_ nonces: ReportNonces?) throws { try setValue("reportNonces", nonces) }

    /// Up to this number, commits under the device's name are known to come from another database; 0 if none are known.
    package func ownCommitsKnown() throws -> Int { try value("ownCommitsKnown") ?? 0 }
    package func setOwnCommitsKnown(_ number: Int) throws { try setValue("ownCommitsKnown", number) }

    /// What the device knows about a signed zone, as JSON: the creator that it trusts and the members that it has verified. Nil in a zone that is
    /// not signed.
    package func zoneKnowledge() throws -> String? { try table.text(of: "signedZone") }

    /// Stores the knowledge about a signed zone. Call it before a commit that changed it is recorded as applied.
    package func setZoneKnowledge(_ text: String) throws { try table.setText(text, of: "signedZone") }

    /// The value on which the preference and its bound store last agreed; nil before the first agreement.
    package func preferenceAgreement() throws -> PreferenceAgreement? { try value("preferenceAgreement") }
    package func setPreferenceAgreement(_ agreement: PreferenceAgreement?) throws { try setValue("preferenceAgreement", agreement) }

    /// The last answer about the entitlement; nil before the first query.
    package func entitlementRecord() throws -> EntitlementRecord? { try value("entitlement") }
    package func setEntitlementRecord(_ record: EntitlementRecord?) throws { try setValue("entitlement", record) }

    /// What `undo` would restore; nil if no command has replaced the data yet.
    package func undoPoint() throws -> UndoPoint? { try value("undo") }

    /// Stores what `undo` would restore. Call it in the transaction that replaces the data.
    package func setUndoPoint(_ point: UndoPoint) throws { try setValue("undo", point) }

    /// Deletes what `undo` would restore if it is a version that no longer exists.
    package func dropUndoPoint(of version: Int) throws {
        guard let point = try undoPoint(), point.copy == nil, point.version == version else { return }
        try setValue("undo", nil as UndoPoint?)
    }

    /// The versions that the next commit will pin.
    package func pendingPins() throws -> [PendingPin] { try value("pendingPins") ?? [] }
    package func setPendingPins(_ pins: [PendingPin]) throws { try setValue("pendingPins", pins.isEmpty ? nil : pins) }

    /// The columns of a dataset that the applied version does not have; empty if it has all, or if there is no version.
    package func missingColumns(of schema: DatasetSchema) throws -> [String] { try value("missingColumns:\(schema.name)") ?? [] }

    /// Stores which columns the applied version does not have. Call it in the transaction that applies the version.
    package func setMissingColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("missingColumns:\(schema.name)", names.isEmpty ? nil : names)
    }

    /// What the last listing of the mailbox found; nil if the mailbox must be listed.
    package func isFullSyncRequested() throws -> Bool { try value("fullSync") ?? false }

    /// Records that a reader has asked for every dataset to be written whole, or that this was done.
    package func setFullSyncRequested(_ isRequested: Bool) throws { try setValue("fullSync", isRequested ? true : nil) }

    /// What the last listing of the mailbox found; nil if there was none.
    package func mailboxListing() throws -> MailboxListingCache? { try value("mailboxLook") }
    package func setMailboxListing(_ look: MailboxListingCache?) throws { try setValue("mailboxLook", look) }

    /// When the role's regular run last succeeded.
    package func lastSuccess() throws -> Instant? { try value("lastSuccess") }
    package func setLastSuccess(_ instant: Instant) throws {
        try setValue("lastSuccess", instant)
        try setLastFailure(nil)
    }

    /// Since when this reader's messages cannot be sent; nil if they can be sent.
    package func unsentSince() throws -> Instant? { try value("unsentSince") }
    package func setUnsentSince(_ instant: Instant?) throws { try setValue("unsentSince", instant) }

    /// Why the last run failed; nil if it succeeded.
    package func lastFailure() throws -> RunFailure? { try value("lastFailure") }
    package func setLastFailure(_ failure: RunFailure?) throws { try setValue("lastFailure", failure) }

    /// The last successful run of a kind; nil before the first.
    package func lastRun(_ kind: RunKind) throws -> RunRecord? { try value(kind.rawValue) }
    package func setLastRun(_ kind: RunKind, _ run: RunRecord) throws { try setValue(kind.rawValue, run) }

    /// When the role's last regular run that had nothing to do began, by the time of the lock file; nil if the database has a later run.
    package func lastIdleRun(of role: SyncRole) throws -> Instant? {
        guard let recorded = try lastRun(RunKind(of: role)), let began = RunLock.lastIdleRun(of: path), began > recorded.at else { return nil }
        return began
    }

    /// When the last automatic removal of versions was attempted; nil before the first.
    package func lastRetention() throws -> Instant? { try value("lastRetention") }
    package func setLastRetention(_ instant: Instant) throws { try setValue("lastRetention", instant) }
}

extension StateTable {
    /// The last trial restore; nil before the first.
    package func lastRestoreCheck() throws -> RestoreCheckRecord? { try value("lastRestoreCheck") }
    package func setLastRestoreCheck(_ check: RestoreCheckRecord) throws { try setValue("lastRestoreCheck", check) }
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

/// What a publisher's last listing of the mailbox found. While the mailbox's mark is unchanged, the publisher need not list again.
package struct MailboxListingCache: Hashable, Sendable, Codable {
    /// The mailbox's mark, as a document in a format that the caller defines.
    package let mark: String
    /// When this device first saw that mark, by its own clock.
    package let since: Instant

    package init(mark: String, since: Instant) { (self.mark, self.since) = (mark, since) }
}

/// A table of keys and texts: `snapsync_settings` or `snapsync_state`.
struct KeyValueTable: TransactionPart {
    let transaction: LocalTransaction
    let name: String

    /// The text stored under a key; nil if there is none.
    ///
    /// Every run reads a dozen keys within a few milliseconds, so the connection caches the statement.
    ///
    /// - Throws: ``LocalStoreError`` with `.damaged` if the value is not UTF-8 text.
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
