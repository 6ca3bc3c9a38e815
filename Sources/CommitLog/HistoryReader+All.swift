package import CloudStore

extension HistoryReader {
    /// Returns all kept commits, oldest first, each checked against its parent.
    ///
    /// They begin after the last gap. Below a checkpoint that counts, gaps are normal, because a sync tool may deliver removals in any
    /// order.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if a commit above that checkpoint is missing or does not follow from its parent.
    package func all() throws -> [Commit] {
        let numbers = try source.commitNumbers()
        guard let newest = numbers.last else { return [] }
        let first = newest - (numbers.reversed().enumerated().prefix { $0.element == newest - $0.offset }.count - 1)
        guard let bytes = try source.commitBytes(first) else { return [] }
        let oldest = try VerifiedCommit(bytes, number: first, of: source.history)
        var log = ReplayedHistory(after: oldest, of: source.history)
        var commits = [oldest.commit]
        try source.forEachCommit(from: log.nextNumber) { commits.append(try log.append($0)) }
        // The walk above ends at the newest commit or at a gap; reading the whole zone refuses a gap. In a signed zone it also verifies the
        // signers. Each commit names its parent's hash, so this covers all commits before it.
        let whole: ReplayedHistory
        do {
            whole = try self.log(at: nil)
        } catch let error as CloudError where error.code == .zoneMoved {
            // Only the last commit of a moved zone is left, and it is already verified.
            return commits
        }
        if source.history.isSigned, let token = whole.token, !commits.contains(where: { $0.token == token }) {
            throw CloudError(
                .damaged, at: source.history.place(ofCommit: token.number), "the history changed while it was read", hint: "run the same command again",
                isRetryable: true)
        }
        return commits
    }
}
