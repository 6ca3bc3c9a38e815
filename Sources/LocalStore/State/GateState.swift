import GRDB
public import SnapshotModel
public import StrictText

/// Whether the user wants this database to be synced, and since when.
public struct SyncPreference: Hashable, Sendable {
    public let choice: SyncChoice
    /// When it was set; nil if nothing was chosen yet.
    public let changedAt: Instant?

    public init(_ choice: SyncChoice, changedAt: Instant?) { (self.choice, self.changedAt) = (choice, changedAt) }
}

/// The file that a database's preference is bound to, and the key in that file.
package struct PreferenceFileSetting: Hashable, Sendable {
    package let path: String
    package let key: String

    package init(path: String, key: String) { (self.path, self.key) = (path, key) }
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
