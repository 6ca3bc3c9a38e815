package import CloudStore
package import StrictText
import Synchronization

/// What one device knows of a signed zone and has verified. It outlives the run: the database keeps it.
package struct ZoneKnowledge: Hashable, Sendable, Codable {
    /// The fingerprint of the zone's creator: pinned by a person, or at first use. nil before the first commit was seen.
    package var creator: String?
    /// The newest list of members that was verified.
    package var statements: [String] = []
    /// The commit that saved it.
    package var savedBy = 0
    /// The newest commit when the device joined: nothing older counts.
    package var floor: ChangeToken?
    /// The device's own keys, without the private part.
    package var own: DevicePublicKeys?
    /// Whether the zone is sealed.
    package var isSealed = false
    /// The newest record of the zone's keys, as JSON: nothing in it is a secret.
    package var keyRecord: String?
    /// The public key of the recovery code, at the device that makes the zone, before its first commit.
    package var recoveryKey: String?
    /// This device's own statements that lost their number to another device's commit in a fork, and are to be given again.
    package var lost: [String] = []

    package init(creator: KeyFingerprint? = nil, own: DevicePublicKeys? = nil) {
        self.creator = creator?.words
        self.own = own
    }
}

// Without Codable's machinery: every run in a signed zone reads it.
extension ZoneKnowledge: JSONNodeDecodable, JSONNodeEncodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        creator = try members.optional("creator")?.text()
        statements = try [String](members.member("statements"))
        savedBy = try members.member("savedBy").count()
        floor = try members.optional("floor").map { node throws(JSONNode.Misfit) in try ChangeToken(node) }
        own = try members.optional("own").map { node throws(JSONNode.Misfit) in
            let members = try node.object()
            return DevicePublicKeys(signing: try members.member("key").text(), sealing: try members.member("sealKey").text())
        }
        isSealed = try members.optional("sealed")?.boolean() ?? false
        keyRecord = try members.optional("keyRecord")?.text()
        recoveryKey = try members.optional("recoveryKey")?.text()
        lost = try members.optional("lost").map { node throws(JSONNode.Misfit) in try [String](node) } ?? []
    }

    package var node: JSONNode {
        .members([
            "creator": creator.map { .text($0) }, "statements": .texts(statements), "savedBy": .count(savedBy), "floor": floor?.node,
            "own": own.map { .object(["key": .text($0.signing), "sealKey": .text($0.sealing)]) }, "sealed": isSealed ? .boolean(true) : nil,
            "keyRecord": keyRecord.map { .text($0) }, "recoveryKey": recoveryKey.map { .text($0) },
            "lost": lost.isEmpty ? nil : .texts(lost),
        ])
    }
}

/// What the opener of a cloud knows and trusts of one signed zone, and the keys with which it signs.
///
/// Everything that is read of the zone is measured by it; what is verified makes it know more (``knowledge``). One that knows nothing, as that
/// of a tool without a database, takes the creator that it meets first.
package final class ZoneAuthority: Sendable {
    private struct State {
        var knowledge: ZoneKnowledge
        var list: MemberList?
        var keys: DeviceKeys?
        var ring: KeyRing?
        var isSealing = false
        var settlesForks = false
    }

    private let state: Mutex<State>
    private let loadKeys: (@Sendable () throws -> DeviceKeys)?
    /// Whether the device knows the zone as a signed one: then it must be one.
    package let isKnownAsSigned: Bool

    /// Makes the authority of who knows nothing and signs nothing.
    package init() {
        state = Mutex(State(knowledge: ZoneKnowledge()))
        loadKeys = nil
        isKnownAsSigned = false
    }

    /// Makes a device's authority.
    ///
    /// - Parameters:
    ///   - knowledge: what the database keeps.
    ///   - keys: reads the private keys; called when something is to be signed.
    package init(_ knowledge: ZoneKnowledge, keys: @escaping @Sendable () throws -> DeviceKeys) {
        state = Mutex(State(knowledge: knowledge))
        loadKeys = keys
        isKnownAsSigned = true
    }

    /// What is known now.
    package var knowledge: ZoneKnowledge { state.withLock { $0.knowledge } }

    /// The device's private keys.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    package func signer() throws -> DeviceKeys {
        if let keys = state.withLock({ $0.keys }) { return keys }
        guard let loadKeys else {
            throw CloudError(
                .keyUnavailable, at: "zone", "the zone is signed, and no device's keys are at hand", hint: "run the command with --db, on a member")
        }
        let keys = try loadKeys()
        state.withLock { $0.keys = keys }
        return keys
    }

    /// Whether the device knows the zone as a sealed one: then it must be one.
    package var isKnownAsSealed: Bool { isKnownAsSigned && knowledge.isSealed }

    /// Whether all that is written to the sealed zone is encrypted on its way; if not, nothing is written.
    package var isSealing: Bool { state.withLock { $0.isSealing } }

    /// Says that what is written to the sealed zone is encrypted on its way.
    package func beginSealing() { state.withLock { $0.isSealing = true } }

    /// Sees that nothing is written to a sealed zone as it is.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    package func verifySealing(in history: HistoryID) throws(CloudError) {
        guard history.isSealed, !isSealing else { return }
        throw CloudError(
            .keyUnavailable, at: "\(history.zone)", "the zone is sealed, and no device's keys are at hand; nothing was written",
            hint: "run the command with --db, on a member")
    }

    /// The zone's newest key record that this device has read; nil if it has read none.
    package func keyRing(of history: HistoryID) throws(CloudError) -> KeyRing? {
        let (ring, text) = state.withLock { ($0.ring, $0.knowledge.keyRecord) }
        if let ring { return ring }
        guard let text else { return nil }
        guard let document = try? StrictJSON.decode(RecordDocument.self, from: text) else {
            throw MemberList.untrusted("\(history.zone)", "what the database keeps of the zone's keys cannot be understood")
        }
        let read = try KeyRing(document.record(tag: document.changeTag ?? ""), at: "\(history.zone)")
        state.withLock { $0.ring = read }
        return read
    }

    /// Remembers a key record that stands in a verified commit, if it is newer than what is known.
    ///
    /// - Throws: ``CloudError`` with `.untrusted` if it takes back an epoch.
    package func learn(_ ring: KeyRing, of history: HistoryID) throws {
        if let known = try keyRing(of: history) {
            // Of one number another record stands where a commit has lost its number to another's.
            guard ring.savedBy >= known.savedBy, ring != known else { return }
            guard ring.epoch >= known.epoch else {
                throw MemberList.untrusted(
                    "\(history.zone)", "the keys of the zone are those of epoch \(ring.epoch), and this device has seen epoch \(known.epoch)")
            }
        }
        let text = String(decoding: try StrictJSON.encode(RecordDocument(ring.record, tagged: true)), as: UTF8.self)
        state.withLock {
            $0.ring = ring
            $0.knowledge.keyRecord = text
            $0.knowledge.recoveryKey = nil
        }
    }

    /// The newest list that was verified; nil if there is none. Signatures of what the database keeps were checked before they came there.
    package func current(of history: HistoryID) throws(CloudError) -> MemberList? {
        let known = state.withLock { ($0.list, $0.knowledge) }
        if let list = known.0 { return list }
        guard !known.1.statements.isEmpty else { return nil }
        var list = try MemberList(known.1.statements, isVerified: true, of: history, at: "\(history.zone)")
        list.savedBy = known.1.savedBy
        state.withLock { $0.list = list }
        return list
    }

    /// Sees that a device can publish, as far as is known, before it writes anything.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` or `.notAuthorized`.
    package func verifyMayPublish(_ device: String, in history: HistoryID) throws {
        let keys = try signer().publicKeys
        guard let list = try current(of: history), !list.members.isEmpty else { return }
        try list.authorize(device, keys, in: history.zone)
    }

    /// The list as of a commit that this device has read; nil if that is not known.
    func list(asOf token: ChangeToken, of history: HistoryID) throws(CloudError) -> MemberList? {
        // Before the commit that saved it another list held, which has to be looked up.
        guard knowledge.savedBy <= token.number, let list = try current(of: history) else { return nil }
        return list
    }

    /// Sees that a list which was verified by itself is one that this device trusts.
    ///
    /// - Parameters:
    ///   - isNewest: whether it is the list of the zone's newest commit: then it must have all that is known, and is remembered.
    ///   - commits: the commits after a version that this device knows, if the list was read with them: after a fork the list may be another one
    ///     (``ownStatementsLost(_:instead:_:)``).
    /// - Throws: ``CloudError`` with `.untrusted`.
    func accept(_ list: MemberList, isNewest: Bool, after commits: [Commit] = [], of history: HistoryID) throws(CloudError) {
        let known = knowledge
        guard let creator = list.creator?.keys.fingerprint.words else {
            guard isNewest, !known.statements.isEmpty else { return }
            throw MemberList.untrusted("\(history.zone)", "the zone is empty, and this device has seen its members")
        }
        if let pinned = known.creator, pinned != creator {
            throw CloudError(
                .untrusted, at: "\(history.zone)", "the zone was made by the holder of the key \(creator), and this device trusts \(pinned)",
                hint: "somebody has put another zone in its place, or --trust had another fingerprint; ask whoever made the zone")
        }
        var lost: [String] = []
        if let trusted = try current(of: history), !list.extends(trusted) {
            if isNewest, let own = ownStatementsLost(list, instead: trusted, commits) {
                lost = own
            } else if isNewest || !trusted.extends(list) {
                throw MemberList.untrusted(
                    "\(history.zone)", "the list of members is not the one that this device has seen, with what was added since", hint: Self.forkHint)
            }
        }
        guard isNewest else { return }
        state.withLock {
            $0.list = list
            $0.knowledge.creator = creator
            $0.knowledge.statements = list.statements
            $0.knowledge.savedBy = list.savedBy
            $0.knowledge.lost += lost
        }
    }

    private static let forkHint =
        "somebody who may not has written to the cloud, or an older copy was put back; if two members changed the list at one time, the one whose change is gone has to sync first, or a person decides: snapsync member settle"

    /// Whether a person has decided that the history which stands counts, whoever has published in it since the fork.
    var settlesForks: Bool { state.withLock { $0.settlesForks } }

    /// Lets the history that stands count after a fork, whoever has published in it. What was taken away in the other one is taken away again, if this
    /// device may do that.
    package func settleForks() { state.withLock { $0.settlesForks = true } }

    /// Says that the statements which were lost are given again.
    package func forgetLost() { state.withLock { $0.knowledge.lost = [] } }

    /// Takes over the key record of the history that stands, after a fork: the known one may have lost its number.
    ///
    /// - Throws: ``CloudError`` with `.untrusted` if there is none.
    package func replaceKeys(by record: CloudRecord?, of history: HistoryID) throws {
        guard let record else { throw MemberList.untrusted("\(history.zone)", "the zone is sealed, and has no record of its keys") }
        let ring = try KeyRing(record, at: "\(history.zone)")
        let text = String(decoding: try StrictJSON.encode(RecordDocument(ring.record, tagged: true)), as: UTF8.self)
        state.withLock {
            $0.ring = ring
            $0.knowledge.keyRecord = text
        }
    }

    /// Sees that the zone does not end before what this device was admitted to.
    ///
    /// - Parameter hash: the hash of a commit by its number, as far as it was read.
    /// - Throws: ``CloudError`` with `.rolledBack`.
    func verifyFloor(_ token: ChangeToken?, _ list: MemberList, of history: HistoryID, hash: (Int) -> String?) throws(CloudError) {
        let known = knowledge
        let admitted = known.own.flatMap { own in list.members.first { $0.keys == own }?.floor }
        for floor in [known.floor, admitted].compactMap(\.self) {
            guard let token, token.number >= floor.number else {
                throw CloudError(
                    .rolledBack, at: "\(history.zone)",
                    "the zone ends at commit \(token?.number ?? 0), and this device has joined it at commit \(floor.number)",
                    hint: "an older copy of the cloud was put back; run snapsync doctor")
            }
            guard let found = hash(floor.number), found != floor.hash else { continue }
            throw CloudError(
                .rolledBack, at: history.place(ofCommit: floor.number), "the commit is another one than the one at which this device has joined",
                hint: "another history was put in its place; run snapsync doctor")
        }
    }
}

/// The authorities of a cloud's zones.
package final class ZoneAuthorities: Sendable {
    private let known = Mutex<[ZoneID: ZoneAuthority]>([:])

    package init() {}

    /// What is known of a zone; a zone that nobody spoke of gets an authority that knows nothing.
    package func authority(of zone: ZoneID) -> ZoneAuthority {
        known.withLock { known in
            if let found = known[zone] { return found }
            let made = ZoneAuthority()
            known[zone] = made
            return made
        }
    }

    /// Says what a device knows of a zone.
    package func set(_ authority: ZoneAuthority, of zone: ZoneID) { known.withLock { $0[zone] = authority } }

    /// The authority of a zone whose marker was read.
    ///
    /// - Throws: ``CloudError`` with `.untrusted` if the zone is not signed and the device knows it as signed.
    package func authority(of info: ZoneInfo) throws(CloudError) -> ZoneAuthority {
        let authority = authority(of: info.id)
        guard info.isSigned || !authority.isKnownAsSigned else {
            throw CloudError(
                .untrusted, at: "\(info.id)/\(ZoneMarker.fileName)", "this device knows the zone as a signed one, and the file says that it is none",
                hint: "somebody has changed or replaced the zone; bring zone.json back from a copy")
        }
        guard !authority.isKnownAsSigned || info.isSealed == authority.isKnownAsSealed else {
            throw CloudError(
                .untrusted, at: "\(info.id)/\(ZoneMarker.fileName)",
                "this device knows the zone as \(authority.isKnownAsSealed ? "a sealed one, and the file says that it is none" : "one that is not sealed, and the file says that it is")",
                hint: "somebody has changed or replaced the zone; bring zone.json back from a copy")
        }
        return authority
    }
}

/// A cloud whose zones can be signed.
package protocol SigningCloud: CloudDatabase {
    /// What is known of its zones.
    var authorities: ZoneAuthorities { get }
    /// Creates a zone that is signed from its first commit on, or returns the one that exists, signed or not.
    ///
    /// - Parameter isSealed: whether what the zone holds is encrypted for its members, too.
    func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, isSealed: Bool) async throws -> ZoneInfo
    /// The list of members as of the newest commit; nil in a zone that is not signed, empty in one without commits.
    func members(in zone: ZoneID) async throws -> MemberList?
    /// The newest reports of devices that ask to be members, in the order of their names.
    func joinRequests(in zone: ZoneID) async throws -> [DeviceReport]
    /// The same cloud for one device: what is known of its zones there is known of them nowhere else. A cloud that each device opens for itself leaves
    /// this to the default.
    func forOneDevice() -> any SigningCloud
}

extension SigningCloud {
    package func forOneDevice() -> any SigningCloud { self }
}
