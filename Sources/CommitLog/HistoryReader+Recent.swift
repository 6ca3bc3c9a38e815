package import CloudStore

extension HistoryReader {
    /// Returns up to `count` commits that end with the token's, oldest first. They are read backwards, each found by the hash in its
    /// successor.
    ///
    /// - Throws: ``CloudError`` with `.changeTokenExpired`, `.rolledBack` or `.damaged`. Commits before the token's may have been pruned.
    package func commits(upTo token: ChangeToken, count: Int) throws -> [Commit] {
        _ = try log(after: token)
        var commits: [Commit] = []
        var next: ChangeToken? = token
        var read: [Int: [UInt8]] = [:]
        while let token = next, commits.count < count {
            if read[token.number] == nil {
                let width = min(source.readWidth(at: token.number, after: count - commits.count), count - commits.count, token.number)
                let numbers = token.number - width + 1...token.number
                let found = zip(numbers, try source.commitBytes(numbers))
                read = Dictionary(uniqueKeysWithValues: found.compactMap { number, bytes in bytes.map { (number, $0) } })
            }
            guard let bytes = read[token.number] else { break }
            let commit = try VerifiedCommit(bytes, number: token.number, of: source.history, knowing: token).commit
            guard commit.token == token else {
                throw CloudError(
                    .damaged, at: source.history.place(ofCommit: token.number), "the commit is not the one that the next one follows",
                    hint: "the history is damaged or two devices published the same number; run snapsync doctor")
            }
            commits.append(commit)
            next = commit.parent.map { ChangeToken(number: token.number - 1, hash: $0) }
        }
        return commits.reversed()
    }
}
