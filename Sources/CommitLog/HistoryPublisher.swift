package import CloudStore
import StrictText

/// Prepares and publishes commits on any ``HistoryStore``, by the rules of docs/cloud-directory.md.
package struct HistoryPublisher<Store: HistoryStore> {
    let store: Store
    let zone: ZoneInfo
    let nonces: NonceSource

    package init(store: Store, zone: ZoneInfo, nonces: NonceSource) {
        (self.store, self.zone, self.nonces) = (store, zone, nonces)
    }

    private var history: HistoryID { store.history }
    private var reader: HistoryReader<Store> { HistoryReader(source: store) }
    private var composer: CommitComposer { CommitComposer(history: history, zone: zone) }

    /// Makes the commit that would follow `token`. If a checkpoint is due, writes it first.
    package func prepare(_ draft: CommitDraft, after token: ChangeToken?) throws -> PreparedCommit {
        let log = try token.map { try reader.log(after: $0) } ?? ReplayedHistory(of: history)
        if let deletion = log.deletion, draft.zoneEvent != .created || deletion.successor != nil { throw deletion.error(in: history.zone) }
        if log.deletion == nil, draft.zoneEvent == .created {
            throw CloudError(.invalidArguments, at: "\(history.zone)", "the zone is there already")
        }
        try composer.verify(draft, number: log.nextNumber)
        try verifyAssets(of: draft, number: log.nextNumber)
        var draft = draft
        let keys = try signer(of: &draft, after: log)
        let checkpoint = try checkpoint(after: log, wanted: draft.checkpoint)
        return try composer.compose(draft, after: log, checkpoint: checkpoint, nonce: nonces.hex(16), by: keys)
    }

    /// Returns the keys that sign a draft in a signed zone; nil in an unsigned one. Adds the list of members, with the creator alone, to
    /// commit 1.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` if the device is not a member that publishes, `.keyUnavailable`.
    private func signer(of draft: inout CommitDraft, after log: ReplayedHistory) throws -> DeviceKeys? {
        guard history.isSigned else { return nil }
        let keys = try store.authority.signer()
        var log = log
        try reader.provideMembers(to: &log)
        guard let members = log.members, !members.statements.isEmpty else {
            let role: MemberRole = zone.publishers == .many ? .peer : .writer
            draft.saving.append(try MemberList(creator: draft.device, role: role, keys: keys, at: draft.clock, of: history).record)
            return keys
        }
        try members.authorize(draft.device, keys.publicKeys, in: history.zone)
        return keys
    }

    /// Places a prepared commit in the store.
    ///
    /// - Throws: ``CloudError`` with `.serverRecordChanged` if the number is taken; `.changeTokenExpired`, `.rolledBack` or `.damaged` if
    ///   the commit is void because its parent is gone or another commit. A commit that was placed now has then been removed again.
    package func publish(_ prepared: PreparedCommit) throws -> ChangeToken {
        let verified = try verified(prepared), commit = verified.commit
        let number = commit.token.number
        if number == 1 { try verifyEmpty(for: commit) }
        let placement = try store.placeCommit(prepared.bytes, number: number, clock: commit.clock)
        if placement == .taken { throw taken(number) }
        if let reason = try reasonToVoid(verified) {
            if placement == .placed { try store.removeCommit(number) }
            throw reason
        }
        if history.isSigned, let record = commit.saved.first(where: { $0.name == MemberList.recordName }) {
            let known = try store.authority.current(of: history)
            let list = try MemberList(record, savedBy: number, knowing: known, of: history, at: history.place(ofCommit: number))
            try store.authority.accept(list, isNewest: true, of: history)
        }
        return commit.token
    }

    private func verified(_ prepared: PreparedCommit) throws -> VerifiedCommit {
        // This device has just signed these bytes; their hash is the token's.
        let verified = try VerifiedCommit(prepared.bytes, number: prepared.token.number, of: history, knowing: prepared.token)
        guard verified.commit.token == prepared.token else {
            throw CloudError(.invalidArguments, at: "\(history.zone)", "the prepared commit's bytes do not match its token")
        }
        try composer.authorize(verified.commit.device, number: prepared.token.number)
        return verified
    }

    /// Refuses a draft that names an asset which is not completely stored.
    private func verifyAssets(of draft: CommitDraft, number: Int) throws {
        let assets = draft.saving.flatMap(\.assets), paths = assets.map { AssetPath($0.path) }
        let misnamed = zip(assets, paths).first { $0.1 == nil }?.0
        let named = zip(assets, paths).compactMap { asset, path in path.map { (asset: asset, path: $0) } }
        guard let missing = try misnamed ?? store.missingAsset(of: named, number: number) else { return }
        throw CloudError(
            .unknownItem, at: "\(history.zone)/\(missing.path)", "the asset that the commit would name is not there in its size",
            hint: "export again")
    }

    /// Returns the checkpoint that the draft names. Without one, returns the newest checkpoint, after writing the one that is due.
    private func checkpoint(after log: ReplayedHistory, wanted: CheckpointReference?) throws -> CheckpointReference? {
        if let wanted {
            try verify(wanted, after: log)
            return wanted
        }
        let last = log.checkpoint?.number ?? 0
        guard let token = log.token, token.number - last >= CheckpointDocument.interval else { return log.checkpoint }
        let folded = try reader.log(at: token.number)
        guard folded.token == token, let bytes = try folded.checkpointBytes(), bytes.count <= CheckpointDocument.byteLimit else {
            return log.checkpoint
        }
        // If a file with other bytes has that name, it is damage, and it never counts as long as no commit names it. The next commit tries
        // the next number.
        guard try store.placeCheckpoint(bytes, number: token.number) != .taken else { return log.checkpoint }
        return CheckpointReference(number: token.number, sha256: ContentHash.of(bytes))
    }

    /// Refuses commit 1 unless the zone is empty: a directory that a sync tool is still filling looks empty at first.
    private func verifyEmpty(for commit: Commit) throws {
        let numbers = try store.commitNumbers()
        // Our own commit 1 may already be there, from an attempt whose outcome was unknown.
        if try !numbers.isEmpty && isThere(commit) { return }
        guard try numbers.isEmpty && store.checkpointNumbers().isEmpty else { throw taken(1) }
    }

    private func isThere(_ commit: Commit) throws -> Bool {
        try store.commitBytes(commit.token.number).map { ContentHash.of($0) } == commit.token.hash
    }

    /// Returns why the placed commit is not part of the zone's history; nil if it is.
    ///
    /// A parent that is gone is not enough. The commit's number may have been free only because a prune removed the commit that had it; then the
    /// history continues without this one. But a prune that ran after this commit may have removed the parent. In that case the next commit
    /// names this one as its parent, or this one is the newest and names a checkpoint of its parent. Source: Tests/Model/log.pml.
    ///
    /// An older copy of the zone that was restored ends before the parent. With the commit left in place, that would look like a gap.
    private func reasonToVoid(_ placed: VerifiedCommit) throws -> CloudError? {
        let token = placed.commit.token, reason: CloudError
        do {
            if let parent = placed.commit.parent {
                _ = try reader.log(after: ChangeToken(number: token.number - 1, hash: parent))
                return nil
            }
            if try store.commitNumbers() == [1] && store.checkpointNumbers().isEmpty { return nil }
            reason = taken(1)
        } catch let error as CloudError where [.changeTokenExpired, .rolledBack, .damaged].contains(error.code) {
            reason = error
        }
        try store.refreshCommits()
        if try store.newestCommitNumber() == token.number { return placed.checkpoint?.number == token.number - 1 ? nil : reason }
        guard let next = try store.commitBytes(token.number + 1) else { return reason }
        return try VerifiedCommit(next, number: token.number + 1, of: history).commit.parent == token.hash ? nil : reason
    }

    private func taken(_ number: Int) -> CloudError {
        CloudError(
            .serverRecordChanged, at: history.place(ofCommit: number),
            number == 1 ? "the zone has a history already" : "another device has published this version first",
            hint: "import what is new, then publish again", isRetryable: true)
    }
}
