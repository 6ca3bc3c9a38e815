extension HistoryReader {
    /// All commits that are kept, oldest first, checked link by link.
    ///
    /// - Throws: ``CloudError`` with `.damaged` for a commit that is missing between others or does not follow from its parent.
    func all() throws -> [Commit] {
        guard let first = try source.commitNumbers().first else { return [] }
        guard let bytes = try source.commitBytes(first) else { return [] }
        let oldest = try VerifiedCommit(bytes, number: first, of: source.history)
        var log = CommitLog(after: oldest, of: source.history)
        var commits = [oldest.commit]
        while let bytes = try source.commitBytes(log.nextNumber) { commits.append(try log.append(bytes)) }
        // The walk ends at the newest commit or at a gap, and folding the zone whole refuses a gap.
        _ = try self.log(at: nil)
        return commits
    }
}
