import CloudStore
import LocalStore
import Sealing
import StrictText
import Synchronization

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
                    hint: "somebody has altered the zone's keys, or put an older copy back; run snapsync doctor")
            }
        }
    }

    /// Accepts unsealed records of a sealed zone only if they are the records of members and keys. Others come from a party without keys.
    private func refusePlain(_ records: [CloudRecord]) throws -> [CloudRecord] {
        guard let record = records.first(where: { !$0.mayStandInSealedZone }) else { return records }
        throw CloudError(
            .untrusted, at: "\(zone.owner.zone)", "the zone is sealed, and record \(record.name) is not",
            hint: "a device without the right to do so wrote this file; run snapsync doctor")
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
        keys.prepared(try KeyRing(record, at: "\(commit.zone)"), by: commit.token)
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
        try database.write { try $0.state.setZoneKnowledge(SignedZone.text(knowledge)) }
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
