package import CloudStore
package import Sealing
import SnapshotVersions
import StrictText
import Synchronization

/// The keys with which a device opens and seals the contents of a sealed zone. They come from the zone's key record, which is unwrapped with the
/// device's own key when something is read or written.
///
/// The secrets are only in memory, for the length of a run. A run that reads and writes nothing unwraps nothing.
package final class ZoneKeys: Sendable {
    let owner: KeyOwner
    let authority: ZoneAuthority
    let history: HistoryID
    private let state = Mutex(State())

    private struct State {
        /// The record from which the other values were made.
        var ring: KeyRing?
        var newest: EpochSecret?
        var boxes: BoxKeys?
        /// Whether the record belongs to a zone without commits and is not saved yet.
        var isPending = false
        /// A record that a prepared commit saves, with that commit's token.
        var prepared: (token: ChangeToken, ring: KeyRing)?
    }

    init(_ owner: KeyOwner, _ authority: ZoneAuthority, _ history: HistoryID) {
        (self.owner, self.authority, self.history) = (owner, authority, history)
    }

    /// Returns the valid keys, unwrapped; nil if the zone's key record must be read first.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if this device's private key is missing, with `.notAuthorized` if the zone's keys are not
    ///   encrypted for it.
    func boxes() throws -> BoxKeys? {
        let known = try authority.keyRing(of: history)
        let (ring, boxes) = state.withLock { ($0.ring, $0.boxes) }
        guard let known else { return boxes }
        if ring == known, let boxes { return boxes }
        return try open(known).boxes
    }

    /// Whether this device has read a key record of the zone.
    package func isKnown() throws -> Bool { try authority.keyRing(of: history) != nil }

    /// Returns the key record and secret of the newest epoch, for changing the zone's keys.
    package func newest() throws -> (ring: KeyRing, secret: EpochSecret) {
        guard let ring = try authority.keyRing(of: history) else { throw Self.missing(history) }
        return (ring, try open(ring).newest)
    }

    private func open(_ ring: KeyRing) throws -> (boxes: BoxKeys, newest: EpochSecret) {
        let keys = try authority.signer()
        guard ring.isFor(keys.publicKeys.sealing) else { throw notAMember(ring, keys.publicKeys) }
        do {
            let secrets = try ring.secrets(by: keys.sealingSeed, of: keys.publicKeys.sealing, in: history)
            let boxes = try boxKeys(secrets)
            guard let newest = secrets.last else { throw Self.missing(history) }
            state.withLock { $0 = State(ring: ring, newest: newest, boxes: boxes, prepared: $0.prepared) }
            return (boxes, newest)
        } catch let error as BoxError {
            throw CloudError(
                .untrusted, at: "\(history.zone), record \(KeyRing.recordName)", "the keys of epoch \(ring.epoch) cannot be opened: \(error)",
                hint: "somebody has altered them, or brought them from another zone; run snapsync doctor")
        }
    }

    private func boxKeys(_ secrets: [EpochSecret]) throws(BoxError) -> BoxKeys {
        try BoxKeys(cloud: history.cloud, zone: history.zone.description, epochs: secrets, isPadded: history.protection.contains(.padded))
    }

    private func notAMember(_ ring: KeyRing, _ own: DevicePublicKeys) -> CloudError {
        CloudError(
            .notAuthorized, at: "\(history.zone)",
            "the zone is sealed, and its keys of epoch \(ring.epoch) are not for \(owner.device): it is no member; its words are \(own.fingerprint)",
            hint: "on a member that publishes, compare these words, then: snapsync member approve \(owner.device)")
    }

    // MARK: a zone without commits

    /// Makes the keys of a zone without commits. They become valid with commit 1.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` at a device that has not made the zone.
    func begin() throws -> BoxKeys {
        if let boxes = state.withLock({ $0.isPending ? $0.boxes : nil }) { return boxes }
        guard let recovery = authority.knowledge.recoveryKey else {
            throw CloudError(.notAuthorized, at: "\(history.zone)", "nothing has been published yet, and this device has not made the sealed zone")
        }
        let first = EpochSecret.random(number: 1)
        do {
            let ring = try KeyRing(first, for: [authority.signer().publicKeys], recoveryKey: recovery, of: history)
            let boxes = try boxKeys([first])
            state.withLock { $0 = State(ring: ring, newest: first, boxes: boxes, isPending: true) }
            return boxes
        } catch let error as BoxError {
            throw CloudError(.keyUnavailable, at: "\(history.zone)", "the keys of the zone cannot be made: \(error)")
        }
    }

    /// The key record of a zone without commits, for commit 1 to save.
    var pending: KeyRing? { state.withLock { $0.isPending ? $0.ring : nil } }

    // MARK: learning

    /// Remembers the newest key record among verified records.
    func learn(_ records: some Sequence<CloudRecord>) throws {
        for record in records where record.name == KeyRing.recordName {
            try authority.learn(KeyRing(record, at: "\(history.zone), record \(KeyRing.recordName)"), of: history)
        }
    }

    /// Remembers that a prepared commit saves a key record.
    func prepared(_ ring: KeyRing, by token: ChangeToken) { state.withLock { $0.prepared = (token, ring) } }

    /// Remembers the key record of a commit that was published.
    func published(_ token: ChangeToken) throws {
        guard let prepared = state.withLock({ $0.prepared }), prepared.token == token else { return }
        try authority.learn(prepared.ring.saved(by: token.number), of: history)
    }

    static func missing(_ history: HistoryID) -> CloudError {
        CloudError(
            .untrusted, at: "\(history.zone)", "the zone is sealed, and has no record of its keys",
            hint: "a device without the right to do so wrote this file, or an older copy was restored; run snapsync doctor")
    }
}

extension ZoneKeys {
    /// Returns the key record that goes with a changed list of members. It has the same epoch if members were added, and the next epoch if one
    /// was removed. nil if the present record suffices.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` if a removed device reads with the recovery code.
    func ring(for list: MemberList, after before: MemberList) throws -> KeyRing? {
        let (ring, secret) = try newest(), members = list.members.map(\.keys)
        let removed = before.members.filter { !members.contains($0.keys) }
        if let holder = removed.first(where: { $0.keys.sealing == ring.recoveryKey }) {
            throw CloudError(
                .notAuthorized, at: "\(history.zone)", "\(holder.device) was set up with the recovery code, which would open later versions, too",
                hint: "first make another code: snapsync key rotate --new-recovery-code")
        }
        do {
            if !removed.isEmpty { return try next(ring, secret, for: members) }
            return members.allSatisfy { ring.isFor($0.sealing) } ? nil : try ring.giving(secret, to: members, of: history)
        } catch let error as BoxError {
            throw CloudError(
                .invalidArguments, at: "\(history.zone)", "the keys of the zone cannot be given to a member: \(error)",
                hint: "its public key is none: let the device join with new keys")
        }
    }

    /// Returns the key record of a new epoch for the same members.
    ///
    /// - Parameter recoveryKey: the public key of a new recovery code; nil keeps the present one.
    func rotated(for list: MemberList, recoveryKey: String?) throws -> KeyRing {
        let (ring, secret) = try newest()
        return try next(ring, secret, for: list.members.map(\.keys), recoveryKey: recoveryKey)
    }

    private func next(_ ring: KeyRing, _ secret: EpochSecret, for keys: [DevicePublicKeys], recoveryKey: String? = nil) throws -> KeyRing {
        guard ring.epoch < KeyRing.epochLimit else {
            throw CloudError(.limitExceeded, at: "\(history.zone)", "the zone has had \(KeyRing.epochLimit) keys, and takes no more", hint: "make a new zone")
        }
        return try ring.next(after: secret, for: keys, recoveryKey: recoveryKey, of: history)
    }
}
