package import CloudStore
package import StrictText

/// One signed statement of a zone's member list, as docs/security.md describes it: who is a member from here on, or is none any more.
///
/// Its text is a signed document: `{"statement":BODY,"sha256":"…","signature":"…"}`.
struct MemberStatement: Codable {
    enum Action: String, Codable {
        /// The zone's creator, of itself: the first statement, and only that.
        case create
        case add, remove
        /// Another role for a member.
        case role
    }

    let action: Action
    /// The member that signed.
    let by: String
    let clock: Instant
    let cloud: String
    /// The member that the statement is about.
    let device: String
    /// The newest commit when the member was added: it refuses a zone that is older.
    let floor: ChangeToken?
    /// The member's keys; absent in `remove` and `role`.
    let key: String?
    let sealKey: String?
    /// From 1.
    let number: Int
    /// The SHA-256 of the statement before; absent in the first.
    let parent: String?
    /// Absent in `remove`.
    let role: String?
    let zone: String

    static let sealName = "statement"

    /// The keys that the statement gives a member; nil if it gives none, or what is none.
    var keys: DevicePublicKeys? {
        guard let key, let sealKey else { return nil }
        let keys = DevicePublicKeys(signing: key, sealing: sealKey)
        return keys.isWellFormed ? keys : nil
    }
}

// Without Codable's machinery, as every run of a device that publishes reads what the database keeps of the list.
extension MemberStatement: JSONNodeDecodable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        guard let action = Action(rawValue: try members.member("action").text()) else { throw JSONNode.Misfit() }
        self.action = action
        by = try members.member("by").text()
        clock = try members.member("clock").instant()
        cloud = try members.member("cloud").text()
        device = try members.member("device").text()
        floor = try members.optional("floor").map { node throws(JSONNode.Misfit) in try ChangeToken(node) }
        key = try members.optional("key")?.text()
        sealKey = try members.optional("sealKey")?.text()
        number = try members.member("number").count()
        parent = try members.optional("parent")?.text()
        role = try members.optional("role")?.text()
        zone = try members.member("zone").text()
    }
}

/// A member of a signed zone.
package struct ZoneMember: Hashable, Sendable {
    package let device: String
    package internal(set) var role: MemberRole
    package let keys: DevicePublicKeys
    /// The member that admitted it; itself for the creator.
    package let by: String
    /// When, by that member's clock.
    package let since: Instant
    /// The newest commit at that time; nil for the creator.
    package let floor: ChangeToken?
}
