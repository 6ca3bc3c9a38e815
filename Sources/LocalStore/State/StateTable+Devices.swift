package import SnapshotModel

extension StateTable {
    /// How the database came to its zone; nil in a database that an earlier version has set up.
    package func bootstrapNote() throws -> BootstrapNote? { try plainValue("bootstrap") }

    /// Records how the database came to its zone.
    package func setBootstrapNote(_ note: BootstrapNote) throws { try setValue("bootstrap", note) }

    /// The nonces of this database's reports; nil before the first.
    package func reportNonces() throws -> ReportNonces? { try plainValue("reportNonces") }

    /// Records the nonces, before a report with the next one is written.
    package func setReportNonces(_ nonces: ReportNonces?) throws { try setPlainValue("reportNonces", nonces) }

    /// Up to that number, commits in the device's name are known to be another database's; 0 if none are.
    package func ownCommitsKnown() throws -> Int { try plainValue("ownCommitsKnown") ?? 0 }

    /// Records that the commits in the device's name up to that number are another database's.
    package func setOwnCommitsKnown(_ number: Int) throws { try setValue("ownCommitsKnown", number) }

    /// What is known of a signed zone, as JSON: whom the device trusts, and the members that it has verified; nil in a zone that is not signed.
    package func zoneKnowledge() throws -> String? { try table.text(of: "signedZone") }

    /// Records what is known of a signed zone, before the token moves on to a commit that changed it.
    package func setZoneKnowledge(_ text: String) throws { try table.setText(text, of: "signedZone") }

    /// What is kept of a zone in a store that is far away, as JSON; nil if nothing is.
    package func zoneMemory() throws -> String? { try table.text(of: "zoneMemory") }

    /// Keeps what is known of a zone in a store that is far away, so that the next run need not ask for it.
    package func setZoneMemory(_ text: String) throws { try table.setText(text, of: "zoneMemory") }

    /// What the preference and its bound store last agreed on; nil before the first time.
    package func preferenceAgreement() throws -> PreferenceAgreement? { try value("preferenceAgreement") }

    /// Records, or forgets, what the preference and its bound store agree on.
    package func setPreferenceAgreement(_ agreement: PreferenceAgreement?) throws { try setValue("preferenceAgreement", agreement) }

    /// What is known of the entitlement; nil before the first question.
    package func entitlementRecord() throws -> EntitlementRecord? { try value("entitlement") }

    /// Records what is known of the entitlement.
    package func setEntitlementRecord(_ record: EntitlementRecord?) throws { try setValue("entitlement", record) }

    /// What `undo` would bring back; nil if nothing was replaced on purpose yet.
    package func undoPoint() throws -> UndoPoint? { try value("undo") }

    /// Records what `undo` would bring back, in the transaction that replaces it.
    package func setUndoPoint(_ point: UndoPoint) throws { try setValue("undo", point) }

    /// Forgets what `undo` would bring back, if that is a version that is gone.
    package func dropUndoPoint(of version: Int) throws {
        guard let point = try undoPoint(), point.copy == nil, point.version == version else { return }
        try setValue("undo", nil as UndoPoint?)
    }

    /// The versions that the next commit is to pin.
    package func pendingPins() throws -> [PendingPin] { try value("pendingPins") ?? [] }

    /// Records the versions that the next commit is to pin; none, once it has.
    package func setPendingPins(_ pins: [PendingPin]) throws { try setValue("pendingPins", pins.isEmpty ? nil : pins) }

    /// The columns of a dataset that the applied version knows nothing of; empty if it knows all, or there is none.
    package func missingColumns(of schema: DatasetSchema) throws -> [String] { try value("missingColumns:\(schema.name)") ?? [] }

    /// Records which columns the applied version knows nothing of, in the transaction that brings it.
    package func setMissingColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("missingColumns:\(schema.name)", names.isEmpty ? nil : names)
    }

    /// What the last listing of the mailbox saw; nil if it is to be listed.
    package func mailboxListing() throws -> MailboxListingCache? { try plainValue("mailboxLook") }

    /// Records what a listing saw, or that the mailbox is to be listed again.
    package func setMailboxListing(_ look: MailboxListingCache?) throws { try setPlainValue("mailboxLook", look) }

    /// How many messages of this device may wait in the mailbox, as set here; nil if it was not set.
    package func messageLimit() throws -> Int? {
        try table.text(of: "messageLimit").flatMap(Int.init)
    }

    /// Sets how many messages of this device may wait in the mailbox.
    package func setMessageLimit(_ limit: Int) throws {
        try table.setText(String(limit), of: "messageLimit")
    }
}
