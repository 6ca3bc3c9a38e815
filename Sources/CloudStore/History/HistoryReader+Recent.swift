extension HistoryReader {
    /// Up to `count` commits that end with the token's, oldest first; they are read backwards, each by the hash that the next one names.
    ///
    /// - Throws: ``CloudError`` with `.changeTokenExpired`, `.rolledBack` or `.damaged`; commits before the token's may be pruned.
    func commits(upTo token: ChangeToken, count: Int) throws -> [Commit] {
        guard count > 0 else { return [] }
        var commits = [try verified(token).commit]
        while commits.count < count, let next = commits.last, let parent = next.parent, try source.commitBytes(next.token.number - 1) != nil {
            commits.append(try verified(ChangeToken(number: next.token.number - 1, hash: parent)).commit)
        }
        return commits.reversed()
    }
}
