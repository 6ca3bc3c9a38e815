import GRDB
public import StrictText

/// Whether the user wants this database to be synced, and since when.
public struct SyncPreference: Hashable, Sendable {
    public let isOn: Bool
    /// When it was set; nil where an earlier snapsync set the database up, which knew no such choice.
    public let changedAt: Instant?

    public init(isOn: Bool, changedAt: Instant?) {
        self.isOn = isOn
        self.changedAt = changedAt
    }
}

/// The file that a database's preference is bound to, and what both last agreed on.
package struct PreferenceFileSetting: Hashable, Sendable {
    package let path: String
    package let key: String

    package init(path: String, key: String) {
        self.path = path
        self.key = key
    }
}

/// What the preference and the store that is bound to it last agreed on.
package struct PreferenceAgreement: Hashable, Sendable, Codable {
    package let isOn: Bool
    /// Microseconds since 1970.
    package let at: Int64

    package init(isOn: Bool, at: Instant) {
        self.isOn = isOn
        self.at = at.microseconds
    }
}

/// The last answer to the question whether the user may sync, and why it could not be had anew.
package struct EntitlementRecord: Hashable, Sendable, Codable {
    package struct Answer: Hashable, Sendable, Codable {
        package let isEntitled: Bool
        /// Until when the answer holds, in microseconds since 1970; nil if it does not end.
        package let validUntil: Int64?
        /// When it was given, in microseconds since 1970.
        package let givenAt: Int64

        package init(isEntitled: Bool, validUntil: Int64?, givenAt: Int64) {
            self.isEntitled = isEntitled
            self.validUntil = validUntil
            self.givenAt = givenAt
        }
    }

    package let answer: Answer?
    /// Why the last question had no answer; nil if it had one.
    package let failure: String?

    package init(answer: Answer?, failure: String?) {
        self.answer = answer
        self.failure = failure
    }
}

extension LocalTransaction {
    /// Whether the user wants this database to be synced. One that an earlier snapsync set up counts as on: `init` was the wish.
    package func preference() throws -> SyncPreference {
        let isOn: Bool
        switch try gateSetting("preference") {
        case nil, "on": isOn = true
        case "off": isOn = false
        default: throw damaged("snapsync_settings", "the setting 'preference' is neither on nor off")
        }
        return SyncPreference(isOn: isOn, changedAt: try gateSetting("preferenceChangedAt").flatMap { try? Instant(parsing: $0) })
    }

    /// Writes the preference; nothing else anywhere decides.
    package func setPreference(_ preference: SyncPreference) throws {
        try setGateSetting("preference", preference.isOn ? "on" : "off")
        try setGateSetting("preferenceChangedAt", preference.changedAt?.description)
    }

    /// What the preference and its bound store last agreed on; nil before the first time.
    package func preferenceAgreement() throws -> PreferenceAgreement? { try state("preferenceAgreement") }

    /// Records, or forgets, what the preference and its bound store agree on.
    package func setPreferenceAgreement(_ agreement: PreferenceAgreement?) throws { try setState("preferenceAgreement", agreement) }

    /// The file that the preference is bound to; nil if to none.
    package func preferenceFile() throws -> PreferenceFileSetting? {
        guard let path = try gateSetting("preferenceFile"), let key = try gateSetting("preferenceKey") else { return nil }
        return PreferenceFileSetting(path: path, key: key)
    }

    /// Binds the preference to a file, or to none. What was agreed on with another file means nothing for this one.
    package func setPreferenceFile(_ file: PreferenceFileSetting?) throws {
        if try file != preferenceFile() { try setPreferenceAgreement(nil) }
        try setGateSetting("preferenceFile", file?.path)
        try setGateSetting("preferenceKey", file?.key)
    }

    /// The file that says whether the user may sync; nil if nothing restricts that.
    package func entitlementFile() throws -> String? { try gateSetting("entitlementFile") }

    /// Names the file that says whether the user may sync, or none. An answer of another file is forgotten.
    package func setEntitlementFile(_ path: String?) throws {
        if try path != entitlementFile() { try setEntitlementRecord(nil) }
        try setGateSetting("entitlementFile", path)
    }

    /// What is known of the entitlement; nil before the first question.
    package func entitlementRecord() throws -> EntitlementRecord? { try state("entitlement") }

    /// Records what is known of the entitlement.
    package func setEntitlementRecord(_ record: EntitlementRecord?) throws { try setState("entitlement", record) }

    /// Whether the database stands in, in memory, for one that could not be opened.
    package func isInMemory() throws -> Bool {
        guard try isInitialized() else { return false }
        return try gateSetting("inMemory") != nil
    }

    /// Makes the flag that marks a database in memory; it can never be set up for syncing.
    package func markInMemory() throws {
        try db.execute(sql: "CREATE TABLE IF NOT EXISTS snapsync_settings(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID")
        try setGateSetting("inMemory", "1")
    }

    private func gateSetting(_ key: String) throws -> String? {
        try value(of: key, in: .settings)
    }

    private func setGateSetting(_ key: String, _ value: String?) throws {
        if let value {
            try db.execute(sql: "INSERT OR REPLACE INTO snapsync_settings VALUES(?, ?)", arguments: [key, value])
        } else {
            try db.execute(sql: "DELETE FROM snapsync_settings WHERE key = ?", arguments: [key])
        }
    }
}
