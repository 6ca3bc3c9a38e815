package import CloudStore

extension HistoryReader {
    /// Returns the zone as of a checkpoint. The checkpoint's hash is enough to trust it, even where the commits below it are pruned.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the checkpoint is not there, `.damaged` if it is another.
    package func state(of reference: CheckpointReference) throws -> ZoneState {
        guard let bytes = try source.checkpointBytes(reference.number) else {
            throw CloudError(
                .unknownItem, at: source.history.place(ofCheckpoint: reference.number), "the checkpoint is not there",
                hint: "if a sync tool is bringing files, wait for it")
        }
        let log = try ReplayedHistory(checkpoint: bytes, named: reference, of: source.history)
        if let members = log.members { try source.authority.accept(members, isNewest: false, of: source.history) }
        if let deletion = log.deletion { throw deletion.error(in: source.history.zone) }
        return log.state
    }

    /// Returns a log replayed up to commit `number`, starting at the checkpoint that the commit names.
    ///
    /// If that checkpoint or a commit after it was pruned, a later commit may name a checkpoint that is closer to `number`.
    func folded(upTo number: Int, naming reference: CheckpointReference?) throws -> ReplayedHistory {
        do {
            return try folded(upTo: number, from: reference)
        } catch let error as CloudError where error.code == .damaged && error.isRetryable {
            if let closer = try closestCheckpoint(to: number), closer != reference { return try folded(upTo: number, from: closer) }
            guard try isPruned(number) else { throw error }
            throw notKept(number)
        }
    }

    /// The error for a version whose commit was pruned, or whose checkpoint or earlier commits were.
    func notKept(_ number: Int) -> CloudError {
        CloudError(
            .unknownItem, at: source.history.place(ofCommit: number), "that version is no longer kept",
            hint: "snapsync history lists the versions that are kept")
    }

    private func folded(upTo number: Int, from reference: CheckpointReference?) throws -> ReplayedHistory {
        var log = try start(at: reference)
        try fold(&log, upTo: number) { _ in }
        return log
    }

    /// Returns the highest checkpoint that is not above `number` and that a commit from `number` on names.
    private func closestCheckpoint(to number: Int) throws -> CheckpointReference? {
        var closest: CheckpointReference?
        var next = number
        while let bytes = try source.commitBytes(next) {
            if let named = try VerifiedCommit(bytes, number: next, of: source.history).checkpoint {
                guard named.number <= number else { break }
                closest = named
            }
            next += 1
        }
        return closest
    }

    /// Whether the newest commit names a checkpoint at or above `number`. Then commits up to that checkpoint may be missing.
    private func isPruned(_ number: Int) throws -> Bool {
        guard let newest = try source.newestCommitNumber(), let bytes = try source.commitBytes(newest) else { return false }
        return try VerifiedCommit(bytes, number: newest, of: source.history).checkpoint.map { $0.number >= number } ?? false
    }
}
