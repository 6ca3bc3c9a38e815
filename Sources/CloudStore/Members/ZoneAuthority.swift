import StrictText
import Synchronization

/// What one device has verified about a signed zone. The database stores it between runs.
package struct ZoneKnowledge: Hashable, Sendable, Codable {
    /// The fingerprint of the zone's creator, pinned by a person or on first use. nil before the first commit was seen.
    package var creator: String?
    /// The newest verified list of members.
    package var statements: [String] = []
    /// The commit that saved this list.
    package var savedBy = 0
    /// The newest commit when the device joined. The device refuses a zone that ends before it.
    package var floor: ChangeToken?
    package var own: DevicePublicKeys?
    /// How the zone is protected; it is signed at least.
    package var protection = ZoneProtection.signed
    package var isSealed: Bool { protection.contains(.sealed) }
    /// The newest record of the zone's keys, as JSON. It contains no secret in the clear.
    package var keyRecord: String?
    /// The public key of the recovery code. Set on the device that creates the zone, before its first commit.
    package var recoveryKey: String?

    package init(creator: KeyFingerprint? = nil, own: DevicePublicKeys? = nil) {
        self.creator = creator?.words
        self.own = own
    }
}

/// What this device knows and trusts of one signed zone, and the keys with which it signs.
///
/// Everything that is read from the zone is checked against it, and every verified list extends ``knowledge``. An authority without
/// knowledge, such as that of a tool without a database, trusts the first creator that it sees.
package final class ZoneAuthority: Sendable {
    private struct State {
        var knowledge: ZoneKnowledge
        var list: MemberList?
        var keys: DeviceKeys?
        var ring: KeyRing?
        var isSealing = false
        var ownNonces: Set<String> = []
    }

    private let state: Mutex<State>
    private let loadKeys: (@Sendable () throws -> DeviceKeys)?
    /// Whether the device knows the zone as signed. Then a `zone.json` that says otherwise is refused.
    package let isKnownAsSigned: Bool

    /// Makes an authority that knows nothing and cannot sign.
    package init() {
        state = Mutex(State(knowledge: ZoneKnowledge()))
        loadKeys = nil
        isKnownAsSigned = false
    }

    /// Makes a device's authority.
    ///
    /// - Parameters:
    ///   - knowledge: the knowledge that the database stores.
    ///   - keys: reads the private keys; called on the first signature.
    package init(_ knowledge: ZoneKnowledge, keys: @escaping @Sendable () throws -> DeviceKeys) {
        state = Mutex(State(knowledge: knowledge))
        loadKeys = keys
        isKnownAsSigned = true
    }

    /// The current knowledge.
    package var knowledge: ZoneKnowledge { state.withLock { $0.knowledge } }

    /// The device's private keys.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    package func signer() throws -> DeviceKeys {
        if let keys = state.withLock({ $0.keys }) { return keys }
        guard let loadKeys else {
            throw CloudError(
                .keyUnavailable, at: "zone", "the zone is signed, and no device's keys are at hand", hint: "run the command with the database of a member")
        }
        let keys = try loadKeys()
        state.withLock { $0.keys = keys }
        return keys
    }

    /// The protection that the device knows the zone to have; empty if it does not know the zone. A `zone.json` that says otherwise is refused.
    package var knownProtection: ZoneProtection { isKnownAsSigned ? knowledge.protection : [] }

    /// Whether everything that is written to the sealed zone is encrypted on its way. If not, nothing may be written.
    package var isSealing: Bool { state.withLock { $0.isSealing } }

    /// Declares that everything written to the sealed zone is encrypted from now on.
    package func beginSealing() { state.withLock { $0.isSealing = true } }

    /// Refuses to write to a sealed zone without encryption.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    package func verifySealing(in history: HistoryID) throws(CloudError) {
        guard history.isSealed, !isSealing else { return }
        throw CloudError(
            .keyUnavailable, at: history.zone.place, "the zone is sealed, and no device's keys are at hand; nothing was written",
            hint: "run the command with the database of a member")
    }

    /// The zone's newest key record that this device has read; nil if it has read none.
    package func keyRing(of history: HistoryID) throws(CloudError) -> KeyRing? {
        let (ring, text) = state.withLock { ($0.ring, $0.knowledge.keyRecord) }
        if let ring { return ring }
        guard let text else { return nil }
        guard let document = try? StrictJSON.decode(RecordDocument.self, from: text) else {
            throw MemberList.untrusted("\(history.zone)", "what the database keeps of the zone's keys cannot be understood")
        }
        let read = try KeyRing(document.record(tag: document.changeTag ?? ""), at: history.zone.place)
        state.withLock { $0.ring = read }
        return read
    }

    /// Stores a key record of a verified commit if it is newer than the known one.
    ///
    /// - Throws: ``CloudError`` with `.untrusted` if its epoch is lower than the known one, or its keys are of another kind than the zone names.
    package func learn(_ ring: KeyRing, of history: HistoryID) throws {
        guard ring.kind == history.protection.sealingKeyKind else {
            throw MemberList.untrusted("\(history.zone)", "the keys of the zone are encrypted in another way than the zone says")
        }
        if let known = try keyRing(of: history) {
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

    /// The newest verified list; nil if there is none. The signatures are not checked again: the database stores only verified statements.
    package func current(of history: HistoryID) throws(CloudError) -> MemberList? {
        let known = state.withLock { ($0.list, $0.knowledge) }
        if let list = known.0 { return list }
        guard !known.1.statements.isEmpty else { return nil }
        var list = try MemberList(known.1.statements, isVerified: true, of: history, at: history.zone.place)
        list.savedBy = known.1.savedBy
        state.withLock { $0.list = list }
        return list
    }

    /// Refuses a device that may not publish, as far as is known, before it writes anything.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` or `.notAuthorized`.
    package func verifyMayPublish(_ device: String, in history: HistoryID) throws {
        let keys = try signer().publicKeys
        guard let list = try current(of: history), !list.members.isEmpty else { return }
        try list.authorize(device, keys, in: history.zone)
    }

    /// The list as of a commit that this device has read; nil if it is not known.
    func list(asOf token: ChangeToken, of history: HistoryID) throws(CloudError) -> MemberList? {
        // Before the commit that saved this list another list was valid, which the caller must look up.
        guard knowledge.savedBy <= token.number, let list = try current(of: history) else { return nil }
        return list
    }

    /// Decides whether this device trusts a list that is valid by itself.
    ///
    /// - Parameters:
    ///   - isNewest: whether it is the list of the zone's newest commit. It must then contain all known statements, and is stored as the
    ///     known list.
    /// - Throws: ``CloudError`` with `.untrusted`.
    func accept(_ list: MemberList, isNewest: Bool, of history: HistoryID) throws(CloudError) {
        let known = knowledge
        guard let creator = list.creator?.keys.fingerprint.words else {
            guard isNewest, !known.statements.isEmpty else { return }
            throw MemberList.untrusted("\(history.zone)", "the zone is empty, and this device has seen its members")
        }
        if let pinned = known.creator, pinned != creator {
            throw CloudError(
                .untrusted, at: history.zone.place, "the zone was made by the holder of the key \(creator), and this device trusts \(pinned)",
                hint: "somebody has put another zone in its place, or --trust had another fingerprint; ask whoever made the zone")
        }
        if let trusted = try current(of: history), !list.extends(trusted), isNewest || !trusted.extends(list) {
            throw MemberList.untrusted("\(history.zone)", "the list of members is not the one that this device has seen, with what was added since")
        }
        guard isNewest else { return }
        state.withLock {
            $0.list = list
            $0.knowledge.creator = creator
            $0.knowledge.statements = list.statements
            $0.knowledge.savedBy = list.savedBy
        }
    }

    /// The nonces that this device's last report can have, as its database knows them.
    package var ownNonces: Set<String> {
        get { state.withLock { $0.ownNonces } }
        set { state.withLock { $0.ownNonces = newValue } }
    }

    /// Forgets the list of members and the keys, because a person accepts an older state of the zone. Its creator and this device's floor stay.
    package func forgetList() {
        state.withLock {
            ($0.list, $0.ring) = (nil, nil)
            ($0.knowledge.statements, $0.knowledge.savedBy, $0.knowledge.keyRecord) = ([], 0, nil)
        }
    }

    /// Refuses a zone that ends before the commit at which this device joined or was admitted, or that has another commit there.
    ///
    /// - Parameter hash: returns the hash of a commit by its number; nil if that commit was not read.
    /// - Throws: ``CloudError`` with `.rolledBack`.
    func verifyFloor(_ token: ChangeToken?, _ list: MemberList, of history: HistoryID, hash: (Int) -> String?) throws(CloudError) {
        let known = knowledge
        let admitted = known.own.flatMap { own in list.members.first { $0.keys == own }?.floor }
        for floor in [known.floor, admitted].compactMap(\.self) {
            guard let token, token.number >= floor.number else {
                throw CloudError(
                    .rolledBack, at: history.zone.place,
                    "the zone ends at commit \(token?.number ?? 0), and this device has joined it at commit \(floor.number)",
                    hint: "an older copy of the location was put back; run snapsync check")
            }
            guard let found = hash(floor.number), found != floor.hash else { continue }
            throw CloudError(
                .rolledBack, at: history.place(ofCommit: floor.number), "the commit is another one than the one at which this device has joined",
                hint: "another history was put in its place; run snapsync check")
        }
    }
}

/// The authorities of a cloud's zones.
package final class ZoneAuthorities: Sendable {
    private let known = Mutex<[ZoneID: ZoneAuthority]>([:])

    package init() {}

    /// Returns what is known of a zone. A zone without an authority gets one that knows nothing.
    package func authority(of zone: ZoneID) -> ZoneAuthority {
        known.withLock { known in
            let authority = known[zone] ?? ZoneAuthority()
            known[zone] = authority
            return authority
        }
    }

    /// Sets what a device knows of a zone.
    package func set(_ authority: ZoneAuthority, of zone: ZoneID) { known.withLock { $0[zone] = authority } }

    /// Returns the authority of a zone whose marker was read.
    ///
    /// - Throws: ``CloudError`` with `.untrusted` if the marker says otherwise than this device knows about whether the zone is signed or
    ///   sealed.
    package func authority(of info: ZoneInfo) throws(CloudError) -> ZoneAuthority {
        let authority = authority(of: info.id)
        guard info.isSigned || !authority.isKnownAsSigned else {
            throw CloudError(
                .untrusted, at: "\(info.id)/\(ZoneMarker.fileName)", "this device knows the zone as a signed one, and the file says that it is none",
                hint: "somebody has changed or replaced the zone; bring zone.json back from a copy")
        }
        guard !authority.isKnownAsSigned || info.protection == authority.knownProtection else {
            let isSealed = authority.knownProtection.contains(.sealed)
            throw CloudError(
                .untrusted, at: "\(info.id)/\(ZoneMarker.fileName)",
                info.isSealed && isSealed
                    ? "this device knows the zone as sealed in another way: \(authority.knownProtection.features.joined(separator: ", "))"
                    : "this device knows the zone as \(isSealed ? "a sealed one, and the file says that it is none" : "one that is not sealed, and the file says that it is")",
                hint: "somebody has changed or replaced the zone; bring zone.json back from a copy")
        }
        return authority
    }
}
