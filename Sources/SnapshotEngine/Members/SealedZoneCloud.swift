import CloudStore
import CommitLog
import Sealing
import StrictText

/// Encrypts and decrypts the contents of one sealed zone: records, assets and messages.
///
/// Its users see an ordinary zone. The wrapped cloud handles the form of commits, checkpoints and files.
struct SealedZoneCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let keys: ZoneKeys

    init(wrapping cloud: any CloudDatabase, _ keys: ZoneKeys) {
        (wrapped, self.keys) = (cloud, keys)
        keys.authority.beginSealing()
    }

    private func isSealed(_ zone: ZoneID) -> Bool { zone == keys.owner.zone }

    // MARK: reading

    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        let changes = try await wrapped.changes(since: token, in: zone)
        guard isSealed(zone), !changes.base.isEmpty || !changes.commits.isEmpty else { return changes }
        try keys.learn(changes.base + changes.commits.flatMap(\.saved))
        return ZoneChanges(base: try await open(changes.base), commits: try await open(changes.commits), token: changes.token)
    }

    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try await open(wrapped.records(in: zone, at: number, notBefore: token), in: zone)
    }

    func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try await open(wrapped.records(in: zone, of: checkpoint), in: zone)
    }

    func history(in zone: ZoneID) async throws -> [Commit] {
        let commits = try await wrapped.history(in: zone)
        return isSealed(zone) ? try await open(commits) : commits
    }

    func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        let commits = try await wrapped.commits(upTo: token, count: count, in: zone)
        return isSealed(zone) ? try await open(commits) : commits
    }

    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        let reader = try await wrapped.openAsset(asset, in: zone)
        return isSealed(zone) ? try SealedAssetReader(reader, of: asset, keys: await boxes()) : reader
    }

    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        var mailbox = try await wrapped.mailbox(request, in: zone)
        guard isSealed(zone), !mailbox.messages.isEmpty else { return mailbox }
        var boxes = try await boxes(), hasLooked = false
        var opened: [CloudMessage] = []
        for message in mailbox.messages {
            do throws(BoxError) {
                opened.append(try SealedMessage.open(message, by: boxes))
            } catch {
                if case .unknownEpoch = error, !hasLooked {
                    // The sender may know an epoch that began since the keys were read.
                    (boxes, hasLooked) = (try await newestBoxes(), true)
                    if let message = try? SealedMessage.open(message, by: boxes) {
                        opened.append(message)
                        continue
                    }
                }
                mailbox.setAside.append(SetAsideMessage(place: "\(zone)/messages/\(message.sender)/\(message.id).json", reason: "\(error)"))
            }
        }
        mailbox.messages = opened
        return mailbox
    }

    private func open(_ state: ZoneState, in zone: ZoneID) async throws -> ZoneState {
        guard isSealed(zone) else { return state }
        try keys.learn(state.records)
        return ZoneState(records: try await open(state.records), token: state.token, timestamp: state.timestamp)
    }

    private func open(_ commits: [Commit]) async throws -> [Commit] {
        var opened: [Commit] = []
        for commit in commits { opened.append(commit.saving(try await open(commit.saved))) }
        return opened
    }

    private func open(_ records: [CloudRecord]) async throws -> [CloudRecord] {
        guard records.contains(where: \.isSealed) else { return try refusePlain(records) }
        let boxes = try await boxes()
        do {
            return try records.map { try $0.opened(by: boxes, at: "\(keys.history.zone)") }
        } catch BoxError.unknownEpoch {
            let boxes = try await newestBoxes()
            do {
                return try records.map { try $0.opened(by: boxes, at: "\(keys.history.zone)") }
            } catch let error as BoxError {
                throw CloudError(
                    .untrusted, at: "\(keys.history.zone)", "a record was sealed in an epoch that the zone's keys do not have: \(error)",
                    hint: "somebody has altered the zone's keys, or put an older copy back; run snapsync doctor")
            }
        }
    }

    /// Accepts unsealed records of a sealed zone only if they are the records of members and keys. Others come from a party without keys.
    private func refusePlain(_ records: [CloudRecord]) throws -> [CloudRecord] {
        guard let record = records.first(where: { !$0.mayStandInSealedZone }) else { return records }
        throw CloudError(
            .untrusted, at: "\(keys.history.zone)", "the zone is sealed, and record \(record.name) is not",
            hint: "somebody who may not has written to the cloud; run snapsync doctor")
    }

    // MARK: writing

    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        guard isSealed(zone) else { return try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone) }
        let boxes = try await boxes()
        return SealedAssetWriter(try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone), record: record, keys: boxes)
    }

    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        guard isSealed(zone), !draft.saving.isEmpty else { return try await wrapped.prepare(draft, after: token, in: zone) }
        var draft = draft
        let boxes = try await boxes()
        draft.saving = try draft.saving.map { try $0.sealed(by: boxes) }
        if token == nil, let ring = keys.pending { draft.saving.append(ring.record) }
        let commit = try await wrapped.prepare(draft, after: token, in: zone)
        if let record = draft.saving.first(where: { $0.name == KeyRing.recordName }) {
            keys.prepared(try KeyRing(record, at: "\(zone)"), by: commit.token)
        }
        return commit
    }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        let token = try await wrapped.publish(commit)
        if isSealed(commit.zone) { try keys.published(token) }
        return token
    }

    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try await wrapped.send(isSealed(zone) ? SealedMessage.seal(message, by: boxes()) : message, clock: clock, in: zone)
    }

    // MARK: keys

    /// Returns the known keys, and reads them from the zone if there are none.
    func boxes() async throws -> BoxKeys {
        if let boxes = try keys.boxes() { return boxes }
        return try await newestBoxes()
    }

    /// Returns the zone's current keys. In a zone without commits, returns the keys with which the zone begins.
    private func newestBoxes() async throws -> BoxKeys {
        let state = try await wrapped.records(in: keys.owner.zone)
        guard state.token != nil else { return try keys.begin() }
        try keys.learn(state.records)
        guard let boxes = try keys.boxes() else { throw ZoneKeys.missing(keys.history) }
        return boxes
    }
}
