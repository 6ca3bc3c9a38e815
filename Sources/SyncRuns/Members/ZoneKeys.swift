package import CloudStore
import LocalTables
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

    init(owner: KeyOwner, authority: ZoneAuthority, history: HistoryID) {
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
                hint: "somebody has altered them, or brought them from another zone; run snapsync check")
        }
    }

    private func boxKeys(_ secrets: [EpochSecret]) throws(BoxError) -> BoxKeys {
        try BoxKeys(cloud: history.cloud, zone: history.zone.description, epochs: secrets, isPadded: history.protection.contains(.padded))
    }

    private func notAMember(_ ring: KeyRing, _ own: DevicePublicKeys) -> CloudError {
        CloudError(
            .notAuthorized, at: history.zone.place,
            "the zone is sealed, and its keys of epoch \(ring.epoch) are not for \(owner.device): it is no member; its words are \(own.fingerprint)",
            hint: "on a member that publishes, compare these words, then: snapsync zone approve \(owner.device)")
    }

    // MARK: a zone without commits

    /// Makes the keys of a zone without commits. They become valid with commit 1.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` at a device that has not made the zone.
    func begin() throws -> BoxKeys {
        if let boxes = state.withLock({ $0.isPending ? $0.boxes : nil }) { return boxes }
        guard let recovery = authority.knowledge.recoveryKey else {
            throw CloudError(.notAuthorized, at: history.zone.place, "nothing has been published yet, and this device has not made the sealed zone")
        }
        let first = EpochSecret.random(number: 1)
        do {
            let ring = try KeyRing(first, for: [authority.signer().publicKeys], recoveryKey: recovery, of: history)
            let boxes = try boxKeys([first])
            state.withLock { $0 = State(ring: ring, newest: first, boxes: boxes, isPending: true) }
            return boxes
        } catch let error as BoxError {
            throw CloudError(.keyUnavailable, at: history.zone.place, "the keys of the zone cannot be made: \(error)")
        }
    }

    /// The key record of a zone without commits, for commit 1 to save.
    var pending: KeyRing? { state.withLock { $0.isPending ? $0.ring : nil } }

    // MARK: learning

    /// Remembers the newest key record among verified records.
    package func learn(_ records: some Sequence<CloudRecord>) throws {
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
            .untrusted, at: history.zone.place, "the zone is sealed, and has no record of its keys",
            hint: "a device without the right to do so wrote this file, or an older copy was restored; run snapsync check")
    }
}

extension ZoneKeys {
    /// Returns the key record that goes with a changed list of members. It has the same epoch if members were added, and the next epoch if one
    /// was removed. nil if the present record suffices.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` if a removed device reads with the recovery code.
    package func ring(for list: MemberList, after before: MemberList) throws -> KeyRing? {
        let (ring, secret) = try newest(), members = list.members.map(\.keys)
        let removed = before.members.filter { !members.contains($0.keys) }
        if let holder = removed.first(where: { $0.keys.sealing == ring.recoveryKey }) {
            throw CloudError(
                .notAuthorized, at: history.zone.place, "\(holder.device) was set up with the recovery code, which would open later versions, too",
                hint: "first make another code: snapsync zone rotate-keys --new-recovery-code")
        }
        do {
            if !removed.isEmpty { return try next(ring, secret, for: members) }
            return members.allSatisfy { ring.isFor($0.sealing) } ? nil : try ring.giving(secret, to: members, of: history)
        } catch let error as BoxError {
            throw CloudError(
                .invalidArguments, at: history.zone.place, "the keys of the zone cannot be given to a member: \(error)",
                hint: "its public key is none: let the device join with new keys")
        }
    }

    /// Returns the key record of a new epoch for the same members.
    ///
    /// - Parameter recoveryKey: the public key of a new recovery code; nil keeps the present one.
    package func rotated(for list: MemberList, recoveryKey: String?) throws -> KeyRing {
        let (ring, secret) = try newest()
        return try next(ring, secret, for: list.members.map(\.keys), recoveryKey: recoveryKey)
    }

    private func next(_ ring: KeyRing, _ secret: EpochSecret, for keys: [DevicePublicKeys], recoveryKey: String? = nil) throws -> KeyRing {
        guard ring.epoch < KeyRing.epochLimit else {
            throw CloudError(.limitExceeded, at: history.zone.place, "the zone has had \(KeyRing.epochLimit) keys, and takes no more", hint: "make a new zone")
        }
        return try ring.next(after: secret, for: keys, recoveryKey: recoveryKey, of: history)
    }
}

/// The contents of one signed zone, as its devices see them. Of a sealed zone it encrypts and decrypts records, assets and messages. With a
/// database, it stores there what is learnt of the members, before the change token can move past it.
///
/// The cloud handles the form of commits, checkpoints and files, and checks the signatures.
struct ZoneSeal: CloudLayer {
    private let cloud: CloudDatabase
    private let zone: SignedZone
    private let database: LocalDatabase?
    private let saved: SavedKnowledge
    private var keys: ZoneKeys? { zone.keys }

    /// - Parameters:
    ///   - cloud: the cloud that the layer is added to; the zone's keys are read from it.
    ///   - database: where the knowledge of the members is stored; nil stores nothing.
    init(_ zone: SignedZone, of cloud: CloudDatabase, savingIn database: LocalDatabase? = nil) {
        (self.zone, self.cloud, self.database) = (zone, cloud, database)
        saved = SavedKnowledge(zone.authority.knowledge)
        if zone.keys != nil { zone.authority.beginSealing() }
    }

    /// The zone's keys, if this is the zone and it is sealed.
    private func keys(of zone: ZoneID) -> ZoneKeys? { zone == self.zone.owner.zone ? keys : nil }

    // MARK: reading

    func opened(_ records: [CloudRecord], by call: CloudCall, in zone: ZoneID) async throws -> [CloudRecord] {
        var opened = records
        if let keys = keys(of: zone) {
            if case .history = call {} else { try keys.learn(records) }
            opened = try await open(records, keys)
        }
        if case .history = call {} else { try save() }
        return opened
    }

    func reader(_ reader: any AssetReader, of asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        guard let keys = keys(of: zone) else { return reader }
        return try SealedAssetReader(reader, of: asset, keys: await boxes(keys))
    }

    func opened(_ mailbox: CloudMailbox, in zone: ZoneID) async throws -> CloudMailbox {
        guard let keys = keys(of: zone), !mailbox.messages.isEmpty else { return mailbox }
        var boxes = try await boxes(keys), hasLooked = false
        var result = mailbox
        result.messages = []
        for message in mailbox.messages {
            do throws(BoxError) {
                result.messages.append(try SealedMessage.open(message, by: boxes))
            } catch {
                if case .unknownEpoch = error, !hasLooked {
                    // The sender may know an epoch that began since the keys were read.
                    (boxes, hasLooked) = (try await newestBoxes(keys), true)
                    if let message = try? SealedMessage.open(message, by: boxes) {
                        result.messages.append(message)
                        continue
                    }
                }
                result.setAside.append(SetAsideMessage(place: "\(zone)/messages/\(message.sender)/\(message.id).json", reason: "\(error)"))
            }
        }
        return result
    }

    private func open(_ records: [CloudRecord], _ keys: ZoneKeys) async throws -> [CloudRecord] {
        guard records.contains(where: \.isSealed) else { return try refusePlain(records) }
        let boxes = try await boxes(keys), place = "\(keys.history.zone)"
        do {
            return try records.map { try $0.opened(by: boxes, at: place) }
        } catch BoxError.unknownEpoch {
            let boxes = try await newestBoxes(keys)
            do {
                return try records.map { try $0.opened(by: boxes, at: place) }
            } catch let error as BoxError {
                throw CloudError(
                    .untrusted, at: place, "a record was sealed in an epoch that the zone's keys do not have: \(error)",
                    hint: "somebody has altered the zone's keys, or put an older copy back; run snapsync check")
            }
        }
    }

    /// Accepts unsealed records of a sealed zone only if they are the records of members and keys. Others come from a party without keys.
    private func refusePlain(_ records: [CloudRecord]) throws -> [CloudRecord] {
        guard let record = records.first(where: { !$0.mayStandInSealedZone }) else { return records }
        throw CloudError(
            .untrusted, at: zone.owner.zone.place, "the zone is sealed, and record \(record.name) is not",
            hint: "a device without the right to do so wrote this file; run snapsync check")
    }

    // MARK: writing

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        guard case .newAsset = call, let zone else { return }
        // Fail before writing assets that no commit could name, if this device may not publish.
        if database != nil { try self.zone.authority.verifyMayPublish(self.zone.owner.device, in: self.zone.history) }
        if let keys = keys(of: zone) { _ = try await boxes(keys) }
    }

    func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter {
        guard let keys = keys(of: zone) else { return writer }
        guard let boxes = try keys.boxes() else { throw ZoneKeys.missing(keys.history) }
        return SealedAssetWriter(writer, record: record, keys: boxes)
    }

    func stored(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> CommitDraft {
        guard let keys = keys(of: zone), !draft.saving.isEmpty else { return draft }
        var draft = draft
        let boxes = try await boxes(keys)
        draft.saving = try draft.saving.map { try $0.sealed(by: boxes) }
        if token == nil, let ring = keys.pending { draft.saving.append(ring.record) }
        return draft
    }

    func didPrepare(_ commit: PreparedCommit, from draft: CommitDraft) throws {
        guard let keys = keys(of: commit.zone), let record = draft.saving.first(where: { $0.name == KeyRing.recordName }) else { return }
        keys.prepared(try KeyRing(record, at: commit.zone.place), by: commit.token)
    }

    func didCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        guard case .publish(let commit) = call else { return }
        try keys(of: commit.zone)?.published(commit.token)
        try save()
    }

    func stored(_ message: CloudMessage, in zone: ZoneID) async throws -> CloudMessage {
        guard let keys = keys(of: zone) else { return message }
        return try SealedMessage.seal(message, by: await boxes(keys))
    }

    private func save() throws {
        let knowledge = zone.authority.knowledge
        guard let database, saved.value.withLock({ $0 }) != knowledge else { return }
        try database.write { try $0.state.zoneKnowledge.set(SignedZone.text(knowledge)) }
        saved.value.withLock { $0 = knowledge }
    }

    private final class SavedKnowledge: Sendable {
        let value: Mutex<ZoneKnowledge>
        init(_ knowledge: ZoneKnowledge) { value = Mutex(knowledge) }
    }

    // MARK: keys

    /// Returns the known keys of a sealed zone, and reads them from the zone if there are none; nil for a zone that is not sealed.
    func boxes() async throws -> BoxKeys? {
        guard let keys else { return nil }
        return try await boxes(keys)
    }

    private func boxes(_ keys: ZoneKeys) async throws -> BoxKeys {
        if let boxes = try keys.boxes() { return boxes }
        return try await newestBoxes(keys)
    }

    /// Returns the zone's current keys. In a zone without commits, returns the keys with which the zone begins.
    private func newestBoxes(_ keys: ZoneKeys) async throws -> BoxKeys {
        let state = try await cloud.records(in: keys.owner.zone)
        guard state.token != nil else { return try keys.begin() }
        try keys.learn(state.records)
        guard let boxes = try keys.boxes() else { throw ZoneKeys.missing(keys.history) }
        return boxes
    }
}
