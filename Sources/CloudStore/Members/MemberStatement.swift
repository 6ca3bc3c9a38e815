package import StrictText

/// One signed statement of a zone's member list, as docs/sealed.md describes it: a device becomes a member, changes its role, or is
/// removed.
///
/// Its text is a signed document: `{"statement":BODY,"sha256":"…","signature":"…"}`.
struct MemberStatement: Codable {
    enum Action: String, Codable {
        /// The zone's creator admits itself: always the first statement, and only the first.
        case create
        case add, remove
        /// A member gets another role.
        case role
    }

    let action: Action
    /// The member that signed.
    let by: String
    let clock: Instant
    let cloud: String
    /// The member that the statement is about.
    let device: String
    /// The newest commit when the member was added. The member refuses a zone that ends before it.
    let floor: ChangeToken?
    /// The member's keys; absent in `remove` and `role`.
    let key: String?
    let sealKey: String?
    /// Counted from 1.
    let number: Int
    /// The SHA-256 of the previous statement; absent in the first.
    let parent: String?
    /// Absent in `remove`.
    let role: String?
    let zone: String

    static let sealName = "statement"

    /// The keys that the statement gives to a member; nil if it gives none or they are malformed.
    var keys: DevicePublicKeys? {
        guard let key, let sealKey else { return nil }
        let keys = DevicePublicKeys(signing: key, sealing: sealKey)
        return keys.isWellFormed ? keys : nil
    }
}

/// A member of a signed zone.
package struct ZoneMember: Hashable, Sendable {
    package let device: String
    package internal(set) var role: MemberRole
    package let keys: DevicePublicKeys
    /// The member that admitted this one. The creator admits itself.
    package let by: String
    /// When it was admitted, by the admitting member's clock.
    package let since: Instant
    /// The newest commit at that time; nil for the creator.
    package let floor: ChangeToken?
}
