import StrictText

/// Prepares and publishes commits in any store, by the rules of docs/cloud-directory.md.
package struct HistoryPublisher {
    let zone: Zone
    let info: ZoneInfo
    let nonces: NonceSource

    package init(_ zone: Zone, _ info: ZoneInfo, nonces: NonceSource) { (self.zone, self.info, self.nonces) = (zone, info, nonces) }

    private var history: HistoryID { zone.history }
    private var reader: HistoryReader { HistoryReader(zone) }
    private var composer: CommitComposer { CommitComposer(history: history, zone: info) }

    /// Makes the commit that would follow `token`. If a checkpoint is due, writes it first.
    package func prepare(_ draft: CommitDraft, after token: ChangeToken?) throws -> PreparedCommit {
        let log = try token.map { try reader.log(after: $0) } ?? ReplayedHistory(of: history)
        if let move = log.move { throw move.error(in: history.zone) }
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
        let keys = try zone.authority.signer()
        var log = log
        try reader.provideMembers(to: &log)
        guard let members = log.members, !members.statements.isEmpty else {
            let role: MemberRole = info.publishers == .many ? .peer : .writer
            draft.saving.append(try MemberList(creator: draft.device, role: role, keys: keys, at: draft.clock, of: history).record)
            return keys
        }
        try members.authorize(draft.device, keys.publicKeys, in: history.zone)
        return keys
    }

    /// Places a prepared commit in the zone.
    ///
    /// - Throws: ``CloudError`` with `.serverRecordChanged` if the number is taken; `.changeTokenExpired`, `.rolledBack` or `.damaged` if
    ///   the commit is void because its parent is gone or another commit. A commit that was placed now has then been removed again.
    package func publish(_ prepared: PreparedCommit) throws -> ChangeToken {
        let verified = try verified(prepared), commit = verified.commit
        let number = commit.token.number
        if number == 1 { try verifyEmpty(for: commit) }
        let placement = try zone.placeCommit(prepared.bytes, number: number, clock: commit.clock)
        if placement == .taken { throw taken(number) }
        if let reason = try reasonToVoid(verified) {
            if placement == .placed { try zone.removeCommit(number) }
            throw reason
        }
        if history.isSigned, let record = commit.saved.first(where: { $0.name == MemberList.recordName }) {
            let known = try zone.authority.current(of: history)
            let list = try MemberList(record, savedBy: number, knowing: known, of: history, at: history.place(ofCommit: number))
            try zone.authority.accept(list, isNewest: true, of: history)
        }
        return commit.token
    }

    private func verified(_ prepared: PreparedCommit) throws -> VerifiedCommit {
        // This device has just signed these bytes; their hash is the token's.
        let verified = try VerifiedCommit(prepared.bytes, number: prepared.token.number, of: history, knowing: prepared.token)
        guard verified.commit.token == prepared.token else {
            throw CloudError(.invalidArguments, at: history.zone.place, "the prepared commit's bytes do not match its token")
        }
        try composer.authorize(verified.commit.device, number: prepared.token.number)
        return verified
    }

    /// Refuses a draft that names an asset which is not completely stored.
    private func verifyAssets(of draft: CommitDraft, number: Int) throws {
        let assets = draft.saving.flatMap(\.assets), paths = assets.map { AssetPath($0.path) }
        let misnamed = zip(assets, paths).first { $0.1 == nil }?.0
        let named = zip(assets, paths).compactMap { asset, path in path.map { (asset: asset, path: $0) } }
        guard let missing = try misnamed ?? zone.missingAsset(of: named, number: number) else { return }
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
        guard try zone.placeCheckpoint(bytes, number: token.number) != .taken else { return log.checkpoint }
        return CheckpointReference(number: token.number, sha256: ContentHash.of(bytes))
    }

    /// Refuses commit 1 unless the zone is empty: a directory that a sync tool is still filling looks empty at first.
    private func verifyEmpty(for commit: Commit) throws {
        let numbers = try zone.commitNumbers()
        // Our own commit 1 may already be there, from an attempt whose outcome was unknown.
        if try !numbers.isEmpty && isThere(commit) { return }
        guard try numbers.isEmpty && zone.checkpointNumbers().isEmpty else { throw taken(1) }
    }

    private func isThere(_ commit: Commit) throws -> Bool {
        try zone.commitBytes(commit.token.number).map { ContentHash.of($0) } == commit.token.hash
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
            if try zone.commitNumbers() == [1] && zone.checkpointNumbers().isEmpty { return nil }
            reason = taken(1)
        } catch let error as CloudError where [.changeTokenExpired, .rolledBack, .damaged].contains(error.code) {
            reason = error
        }
        try zone.refreshCommits()
        if try zone.newestCommitNumber() == token.number { return placed.commit.checkpoint?.number == token.number - 1 ? nil : reason }
        guard let next = try zone.commitBytes(token.number + 1) else { return reason }
        return try VerifiedCommit(next, number: token.number + 1, of: history).commit.parent == token.hash ? nil : reason
    }

    private func taken(_ number: Int) -> CloudError {
        CloudError(
            .serverRecordChanged, at: history.place(ofCommit: number),
            number == 1 ? "the zone has a history already" : "another device has published this version first",
            hint: "import what is new, then publish again", isRetryable: true)
    }
}

extension HistoryPublisher {
    /// Writes the checkpoint at a kept commit and returns its reference. The checkpoint counts once a later commit names this reference.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the commit is not kept, `.damaged` if a file with other bytes has that name,
    ///   `.limitExceeded` if the zone has too many records for a checkpoint.
    package func placeCheckpoint(at number: Int) throws -> CheckpointReference {
        let place = zone.history.place(ofCheckpoint: number)
        guard let bytes = try HistoryReader(zone).log(at: number).checkpointBytes(), bytes.count <= CheckpointDocument.byteLimit else {
            throw CloudError(.limitExceeded, at: place, "the checkpoint would be larger than \(CheckpointDocument.byteLimit) bytes")
        }
        guard try zone.placeCheckpoint(bytes, number: number) != .taken else {
            throw CloudError(.damaged, at: place, "other bytes lie where the checkpoint belongs", hint: "take that file away, then try again")
        }
        return CheckpointReference(number: number, sha256: ContentHash.of(bytes))
    }

    /// Verifies that the checkpoint that a draft names exists and may be named by the commit after `log`.
    func verify(_ reference: CheckpointReference, after log: ReplayedHistory) throws {
        let place = zone.history.place(ofCheckpoint: reference.number)
        guard reference.number < log.nextNumber, reference.number >= log.checkpoint?.number ?? 0 else {
            throw CloudError(.invalidArguments, at: place, "a commit names a checkpoint below itself, and never an older one than its parent")
        }
        guard let bytes = try zone.checkpointBytes(reference.number), ContentHash.of(bytes) == reference.sha256 else {
            throw CloudError(.unknownItem, at: place, "the checkpoint that the commit would name is not there")
        }
    }
}
