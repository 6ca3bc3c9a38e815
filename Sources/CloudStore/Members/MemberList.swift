package import StrictText

/// The members of a signed zone and what each may do: a chain of signed statements that begins with the creator's.
///
/// This type alone answers whether a key may do something as of a commit. A device that knows the creator's fingerprint can check the whole
/// list without any other file. Statements are only ever appended. Source: docs/sealed.md.
package struct MemberList: Hashable, Sendable {
    /// The statements' texts, oldest first; empty before commit 1.
    package private(set) var statements: [String] = []
    /// The members as of the last statement, in the order in which they were admitted.
    package private(set) var members: [ZoneMember] = []
    /// The device that created the zone, with the keys of that time; nil in an empty list.
    package private(set) var creator: ZoneMember?
    /// The commit that saved the list as it is; 0 for an empty one.
    package internal(set) var savedBy = 0
    private var head: String?

    package static let recordType = "SnapshotMembers"
    package static let recordName = "snapshot_members"
    /// The most statements that a list may have. Checking one takes a tenth of a millisecond.
    package static let limit = 4096
    private static let field = "statements"

    /// The list of a zone without commits.
    init() {}

    /// The list that a zone starts with: its creator alone.
    init(creator device: String, role: MemberRole, keys: DeviceKeys, at clock: Instant, of history: HistoryID) throws {
        try append(
            MemberStatement(
                action: .create, by: device, clock: clock, cloud: history.cloud, device: device, floor: nil, key: keys.publicKeys.signing,
                sealKey: keys.publicKeys.sealing, number: 1, parent: nil, role: role.rawValue, zone: history.zone.description), keys, of: history)
    }

    /// Reads and checks the record of a zone.
    ///
    /// - Parameters:
    ///   - known: a list that was checked before. Statements that the record shares with it are not checked again.
    ///   - commit: the commit that saved the record.
    /// - Throws: ``CloudError`` with `.untrusted` at `place`.
    package init(_ record: CloudRecord, savedBy commit: Int, knowing known: MemberList? = nil, of history: HistoryID, at place: String) throws(CloudError) {
        guard record.type == Self.recordType, case .list(let values) = record.fields[Self.field] else {
            throw Self.untrusted(place, "the list of members is not one")
        }
        var texts: [String] = []
        for value in values {
            guard case .string(let text) = value else { throw Self.untrusted(place, "the list of members is not one") }
            texts.append(text)
        }
        try self.init(texts, knowing: known, of: history, at: place)
        savedBy = commit
    }

    /// Checks statements that do not come from a record.
    ///
    /// - Parameter isVerified: whether their signatures were checked before and nobody else can have changed the statements since.
    init(_ texts: [String], knowing known: MemberList? = nil, isVerified: Bool = false, of history: HistoryID, at place: String) throws(CloudError) {
        guard (1...Self.limit).contains(texts.count) else { throw Self.untrusted(place, "a list of members has 1 to \(Self.limit) statements") }
        if let known, texts.starts(with: known.statements) { self = known }
        for text in texts.dropFirst(statements.count) { try append(text, isVerified: isVerified, of: history, at: place) }
    }

    /// The record that stores the list in the zone.
    package var record: CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName, fields: [Self.field: .list(statements.map { .string($0) })])
    }

    /// The member of that name.
    package func member(_ device: String) -> ZoneMember? { members.first { $0.device == device } }

    /// The member of that name; nil if it has another Ed25519 key.
    package func member(_ device: String, key: String?) -> ZoneMember? { member(device).flatMap { $0.keys.signing == key ? $0 : nil } }

    /// Whether the list begins with all of `other`'s statements.
    func extends(_ other: MemberList) -> Bool { statements.starts(with: other.statements) }

    /// Verifies that this list allows a commit's signer to publish.
    ///
    /// - Throws: ``CloudError`` with `.untrusted`.
    func verifyPublisher(_ device: String, key: String?, at place: String) throws(CloudError) {
        guard let member = member(device, key: key) else {
            throw Self.untrusted(
                place, self.member(device) == nil ? "\(device), which signed the commit, was no member" : "the commit is signed by another key than \(device)'s"
            )
        }
        guard member.role.mayPublish else {
            throw Self.untrusted(place, "\(device), which signed the commit, had the role \(member.role.rawValue), which does not publish")
        }
    }
}

// The same rules for this device, checked before it writes anything.
extension MemberList {
    /// Refuses this device, identified by its own keys, if it may not publish here.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized`.
    func authorize(_ device: String, _ keys: DevicePublicKeys, in zone: ZoneID) throws(CloudError) {
        guard let member = member(device) else {
            throw Self.refusal(zone, "the zone is signed, and \(device) is no member: its words are \(keys.fingerprint)", for: device)
        }
        guard member.keys.signing == keys.signing else { throw Self.refusal(zone, "\(device) is a member with other keys than this device's", for: device) }
        guard member.role.mayPublish else {
            throw Self.refusal(zone, "\(device) is a \(member.role.rawValue) of the signed zone, which does not publish", for: device)
        }
    }

    private static func refusal(_ zone: ZoneID, _ reason: String, for device: String) -> CloudError {
        CloudError(
            .notAuthorized, at: zone.place, reason,
            hint: "on a member that publishes: snapsync zone members, then snapsync zone approve \(device)")
    }
}

// Appending statements.
extension MemberList {
    /// Admits a device.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if the list does not allow it, `.notAuthorized` if the signer may not admit
    ///   devices.
    package mutating func add(
        _ device: String, as role: MemberRole, with theirs: DevicePublicKeys, floor: ChangeToken, by signer: (name: String, keys: DeviceKeys),
        at clock: Instant, of history: HistoryID
    ) throws {
        try append(
            MemberStatement(
                action: .add, by: signer.name, clock: clock, cloud: history.cloud, device: device, floor: floor, key: theirs.signing, sealKey: theirs.sealing,
                number: statements.count + 1, parent: head, role: role.rawValue, zone: history.zone.description), signer.keys, of: history)
    }

    /// Ends a device's membership, or gives it another role.
    ///
    /// - Parameter role: nil ends the membership.
    /// - Throws: as ``add(_:as:with:floor:by:at:of:)``.
    package mutating func change(
        _ device: String, to role: MemberRole?, by signer: (name: String, keys: DeviceKeys), at clock: Instant, of history: HistoryID
    ) throws {
        try append(
            MemberStatement(
                action: role == nil ? .remove : .role, by: signer.name, clock: clock, cloud: history.cloud, device: device, floor: nil, key: nil, sealKey: nil,
                number: statements.count + 1, parent: head, role: role?.rawValue, zone: history.zone.description), signer.keys, of: history)
    }

    private mutating func append(_ statement: MemberStatement, _ keys: DeviceKeys, of history: HistoryID) throws {
        let place = "\(history.zone)"
        guard statements.count < Self.limit else {
            throw CloudError(.limitExceeded, at: place, "the list of members has \(Self.limit) statements, which is the limit")
        }
        if statement.action != .create, member(statement.by, key: keys.publicKeys.signing)?.role.mayPublish != true {
            throw CloudError(
                .notAuthorized, at: place, "\(statement.by) is not a member that may change the list of members", hint: "do it on a member that publishes")
        }
        if let reason = refusal(of: statement) {
            throw CloudError(.invalidArguments, at: place, reason, hint: "snapsync zone members shows who is a member")
        }
        let bytes = try ChecksummedDocument.encode(statement, named: MemberStatement.sealName, by: keys)
        try append(String(decoding: bytes, as: UTF8.self), of: history, at: place)
    }

    private mutating func append(_ text: String, isVerified: Bool = false, of history: HistoryID, at place: String) throws(CloudError) {
        let number = statements.count + 1, place = "\(place), statement \(number) of the list of members"
        let bytes = Array(text.utf8)
        let statement: MemberStatement
        do throws(CloudError) {
            statement = try ChecksummedDocument.decode(MemberStatement.self, named: MemberStatement.sealName, from: bytes, at: place, isSigned: true)
        } catch {
            throw Self.untrusted(place, error.reason)
        }
        guard statement.cloud == history.cloud, statement.zone == history.zone.description else {
            throw Self.untrusted(place, "it is of another location or zone")
        }
        guard statement.number == number, statement.parent == head, (statement.action == .create) == (number == 1) else {
            throw Self.untrusted(place, "it does not follow the one before")
        }
        let signer = number == 1 ? statement.keys?.signing : member(statement.by)?.keys.signing
        if !isVerified { try ChecksummedDocument.verifySignature(of: bytes, named: MemberStatement.sealName, by: signer, at: place) }
        guard number == 1 ? statement.by == statement.device : member(statement.by)?.role.mayPublish == true else {
            throw Self.untrusted(place, "\(CloudNames.isName(statement.by) ? statement.by : "its signer") may not change the list of members")
        }
        guard statement.keys.map({ $0.sealingKind == history.protection.sealingKeyKind }) ?? true else {
            throw Self.untrusted(place, "a key is of another kind than the zone's")
        }
        if let reason = refusal(of: statement) { throw Self.untrusted(place, reason) }
        apply(statement)
        statements.append(text)
        head = ContentHash.of(bytes)
    }

    /// Returns why a statement cannot be appended, whoever signs it; nil if it can.
    private func refusal(of statement: MemberStatement) -> String? {
        guard CloudNames.isName(statement.device) else { return "the device's name is not allowed" }
        let role = statement.role.flatMap(MemberRole.init)
        switch statement.action {
        case .create:
            guard let role, role.mayPublish, statement.keys != nil else { return "the creator publishes, and has keys" }
        case .add:
            guard role != nil, let keys = statement.keys else { return "a member has a role and keys" }
            guard member(statement.device) == nil else { return "\(statement.device) is a member already" }
            guard !members.contains(where: { $0.keys.signing == keys.signing }) else { return "another member has that key" }
            guard let floor = statement.floor, floor.number > 0, ContentHash.isHash(floor.hash) else { return "a member is added at a commit" }
        case .remove, .role:
            guard let member = member(statement.device) else { return "\(statement.device) is no member" }
            guard (statement.action == .role) == (role != nil), role != member.role else { return "\(statement.device) has that role already" }
            guard role?.mayPublish == true || members.contains(where: { $0.device != statement.device && $0.role.mayPublish }) else {
                return "\(statement.device) is the last member that publishes"
            }
        }
        return nil
    }

    private mutating func apply(_ statement: MemberStatement) {
        let role = statement.role.flatMap(MemberRole.init)
        if let role, let keys = statement.keys {
            let member = ZoneMember(
                device: statement.device, role: role, keys: keys, by: statement.by, since: statement.clock, floor: statement.floor)
            if statement.action == .create { creator = member }
            members.append(member)
        } else if let place = members.firstIndex(where: { $0.device == statement.device }) {
            if let role { members[place].role = role } else { members.remove(at: place) }
        }
    }

    static func untrusted(_ place: String, _ reason: String) -> CloudError {
        CloudError(
            .untrusted, at: place, reason,
            hint: "a device without the right to do so wrote this file, or an older copy was restored; run snapsync check")
    }
}

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

/// What a member of a signed zone may do: the roles of devices, and the role of an observer, which sends nothing.
public enum MemberRole: String, Sendable, Codable, CaseIterable {
    /// Publishes, sends messages, and admits members.
    case writer
    /// The same as a writer, in a zone in which other devices publish too.
    case peer
    /// Reads and sends messages.
    case reader
    /// Reads only.
    case observer

    /// Whether the member may publish commits.
    package var mayPublish: Bool { self == .writer || self == .peer }
    /// Whether the member may send messages.
    package var maySend: Bool { self != .observer }
}
