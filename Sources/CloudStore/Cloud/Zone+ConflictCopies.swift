import StrictText

extension CloudNames {
    /// The number of a commit whose file a replicating tool has renamed: the 20 digits, then a character that is not a digit, and `.json` at
    /// the end. nil for a commit's own name and for all others.
    static func number(ofConflictCopy name: String) -> Int? {
        let stem = name.utf8.dropLast(5)
        guard name.exact.hasSuffix(".json"), stem.count > 20, let number = number(ofDigits: stem.prefix(20)),
            let next = stem.dropFirst(20).first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
        else { return nil }
        return number
    }
}

extension Zone {
    /// Returns the conflict copies of commits, sorted by name. A copy with the same bytes as the commit under the plain name is not one, and
    /// neither is a file without a commit of this zone.
    ///
    /// Only stores whose files other programs copy have any.
    package func conflictCopies() throws -> [ConflictCopy] {
        guard store.isReplicated else { return [] }
        var found: [ConflictCopy] = []
        for name in try names(in: CloudNames.commits) {
            guard let number = CloudNames.number(ofConflictCopy: name), let copy = try? conflictCopy(name, number) else { continue }
            if try commitBytes(number).map({ ContentHash.of($0) }) == copy.token.hash { continue }
            found.append(copy)
        }
        return found
    }

    private func conflictCopy(_ name: String, _ number: Int) throws -> ConflictCopy? {
        guard let bytes = try store.get(path("\(CloudNames.commits)/\(name)"), limit: CommitDocument.byteLimit) else { return nil }
        let commit = try VerifiedCommit(bytes, number: number, of: history).commit
        return ConflictCopy(
            fileName: name, token: commit.token, parent: commit.parent, device: commit.device, timestamp: commit.timestamp,
            // If a later commit cannot be read, nothing is known of the author, and the copy is reported.
            authorHasGoneOn: (try? hasGoneOn(commit.device, from: number)) == true)
    }

    /// Whether a device has published one of the commits that follow commit `number` under its plain name, each checked against its parent.
    private func hasGoneOn(_ device: String, from number: Int) throws -> Bool {
        guard let bytes = try commitBytes(number) else { return false }
        var last = try VerifiedCommit(bytes, number: number, of: history).commit
        while let bytes = try commitBytes(last.token.number + 1) {
            let next = try VerifiedCommit(bytes, number: last.token.number + 1, of: history).commit
            guard next.parent == last.token.hash else { return false }
            if next.device == device { return true }
            last = next
        }
        return false
    }
}
