import GRDB
public import SnapshotModel
public import StrictText

/// Whether the user wants this database to be synced, and since when.
public struct SyncPreference: Hashable, Sendable {
    public let choice: SyncChoice
    /// When it was set; nil where nothing was chosen yet, or an earlier version set the database up, which knew no such choice.
    public let changedAt: Instant?

    public init(_ choice: SyncChoice, changedAt: Instant?) {
        self.choice = choice
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

/// The last answer to the question whether the user may sync, and why the last attempt to ask failed.
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
