package import CloudStore

extension HistoryReader {
    /// All commits that are kept, oldest first, checked link by link.
    ///
    /// They begin behind the last gap: below a checkpoint that counts, a sync tool may bring removals in any order.
    ///
    /// - Throws: ``CloudError`` with `.damaged` for a commit that is missing above that checkpoint or does not follow from its parent.
    package func all() throws -> [Commit] {
        let numbers = try source.commitNumbers()
        guard let newest = numbers.last else { return [] }
        let first = newest - (numbers.reversed().enumerated().prefix { $0.element == newest - $0.offset }.count - 1)
        guard let bytes = try source.commitBytes(first) else { return [] }
        let oldest = try VerifiedCommit(bytes, number: first, of: source.history)
        var log = ReplayedHistory(after: oldest, of: source.history)
        var commits = [oldest.commit]
        try source.forEachCommit(from: log.nextNumber) { commits.append(try log.append($0)) }
        // The walk ends at the newest commit or at a gap, and folding the zone whole refuses a gap. In a signed zone it also sees who signed; by the
        // hashes of the parents that counts for all commits before.
        let whole: ReplayedHistory
        do {
            whole = try self.log(at: nil)
        } catch let error as CloudError where error.code == .zoneMoved {
            // Nothing is left but the last commit, which was verified.
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
