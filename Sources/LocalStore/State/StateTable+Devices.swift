package import SnapshotModel

extension StateTable {
    /// How the database joined its zone; nil if it has not joined one.
    package func bootstrapNote() throws -> BootstrapNote? { try plainValue("bootstrap") }

    /// Records how the database joined its zone.
    package func setBootstrapNote(_ note: BootstrapNote) throws { try setValue("bootstrap", note) }

    /// The nonces of this database's reports; nil before the first.
    package func reportNonces() throws -> ReportNonces? { try plainValue("reportNonces") }

    /// Stores the nonces. Call it before a report with the next nonce is written.
    package func setReportNonces(_ nonces: ReportNonces?) throws { try setPlainValue("reportNonces", nonces) }

    /// Up to this number, commits under the device's name are known to come from another database; 0 if none are known.
    package func ownCommitsKnown() throws -> Int { try plainValue("ownCommitsKnown") ?? 0 }

    /// Records that commits under the device's name, up to that number, come from another database.
    package func setOwnCommitsKnown(_ number: Int) throws { try setValue("ownCommitsKnown", number) }

    /// What the device knows about a signed zone, as JSON: the creator that it trusts and the members that it has verified. Nil in a zone that is
    /// not signed.
    package func zoneKnowledge() throws -> String? { try table.text(of: "signedZone") }

    /// Stores the knowledge about a signed zone. Call it before a commit that changed it is recorded as applied.
    package func setZoneKnowledge(_ text: String) throws { try table.setText(text, of: "signedZone") }

    /// The cached facts about a zone in a remote store, as JSON; nil if there are none.
    package func zoneMemory() throws -> String? { try table.text(of: "zoneMemory") }

    /// Caches facts about a zone in a remote store, so that the next run need not fetch them.
    package func setZoneMemory(_ text: String) throws { try table.setText(text, of: "zoneMemory") }

    /// The value on which the preference and its bound store last agreed; nil before the first agreement.
    package func preferenceAgreement() throws -> PreferenceAgreement? { try value("preferenceAgreement") }

    /// Stores or deletes the agreement of the preference and its bound store.
    package func setPreferenceAgreement(_ agreement: PreferenceAgreement?) throws { try setValue("preferenceAgreement", agreement) }

    /// The last answer about the entitlement; nil before the first query.
    package func entitlementRecord() throws -> EntitlementRecord? { try value("entitlement") }

    /// Stores the answer about the entitlement.
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

    /// Stores the versions that the next commit will pin; an empty list once it has pinned them.
    package func setPendingPins(_ pins: [PendingPin]) throws { try setValue("pendingPins", pins.isEmpty ? nil : pins) }

    /// The columns of a dataset that the applied version does not have; empty if it has all, or if there is no version.
    package func missingColumns(of schema: DatasetSchema) throws -> [String] { try value("missingColumns:\(schema.name)") ?? [] }

    /// Stores which columns the applied version does not have. Call it in the transaction that applies the version.
    package func setMissingColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("missingColumns:\(schema.name)", names.isEmpty ? nil : names)
    }

    /// What the last listing of the mailbox found; nil if the mailbox must be listed.
    package func mailboxListing() throws -> MailboxListingCache? { try plainValue("mailboxLook") }

    /// Stores what a listing found; nil if the mailbox must be listed again.
    package func setMailboxListing(_ look: MailboxListingCache?) throws { try setPlainValue("mailboxLook", look) }

    /// How many messages of this device may wait in the mailbox; nil if the limit was not set here.
    package func messageLimit() throws -> Int? {
        try table.text(of: "messageLimit").flatMap(Int.init)
    }

    /// Sets how many messages of this device may wait in the mailbox.
    package func setMessageLimit(_ limit: Int) throws {
        try table.setText(String(limit), of: "messageLimit")
    }
}
