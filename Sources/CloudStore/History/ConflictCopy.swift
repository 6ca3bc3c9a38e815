public import StrictText

/// A commit's file under another name than its own: what a tool that replicates folders leaves where two devices published
/// one number.
///
/// `00000000000000000013.sync-conflict-20260301-080000-ABCDEFG.json`, `00000000000000000013 (Conflicted Copy).json`. The file
/// under the plain name stands; this one lost. Readers never follow it.
public struct ConflictCopy: Hashable, Sendable {
    /// The file's name in `commits/`.
    public let fileName: String
    /// The commit that the file holds: its number, and the SHA-256 of its bytes.
    public let token: ChangeToken
    /// The hash of its parent; nil for the first commit.
    public let parent: String?
    public let device: String
    public let timestamp: Instant
    /// Whether its author has published a later commit on top of the one that stands, and so has taken that one in.
    public let authorHasGoneOn: Bool

    public init(fileName: String, token: ChangeToken, parent: String?, device: String, timestamp: Instant, authorHasGoneOn: Bool = false) {
        self.fileName = fileName
        self.token = token
        self.parent = parent
        self.device = device
        self.timestamp = timestamp
        self.authorHasGoneOn = authorHasGoneOn
    }
}

extension CloudNames {
    /// The number of a commit whose file a replicating tool has given another name: the 20 digits, something that is no digit,
    /// and `.json`. nil for a commit's own name and for everything else.
    static func number(ofConflictCopy name: String) -> Int? {
        let stem = name.utf8.dropLast(5)
        guard name.hasSuffix(".json"), stem.count > 20, let number = number(ofDigits: stem.prefix(20)),
            let next = stem.dropFirst(20).first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
        else { return nil }
        return number
    }
}

extension ZoneFolder {
    /// The conflict copies of commits that lie here, in the order of their names. A copy of the very commit that stands under
    /// the plain name is none, and neither is a file that holds no commit of this zone.
    func conflictCopies() throws -> [ConflictCopy] {
        guard let commits = try folder.folder(CloudNames.commits) else { return [] }
        var found: [ConflictCopy] = []
        for name in try commits.names().sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            guard let number = CloudNames.number(ofConflictCopy: name), let copy = try? conflictCopy(name, number, in: commits) else { continue }
            if try commitBytes(number).map({ ContentHash.of($0) }) == copy.token.hash { continue }
            found.append(copy)
        }
        return found
    }

    private func conflictCopy(_ name: String, _ number: Int, in commits: CloudFolder) throws -> ConflictCopy? {
        guard let bytes = try commits.bytes(of: name, limit: CommitDocument.byteLimit) else { return nil }
        let commit = try VerifiedCommit(bytes, number: number, of: history).commit
        return ConflictCopy(
            fileName: name, token: commit.token, parent: commit.parent, device: commit.device, timestamp: commit.timestamp,
            // A later commit that cannot be read shows nothing of the author, and hides no copy.
            authorHasGoneOn: (try? hasGoneOn(commit.device, from: number)) == true)
    }

    /// Whether a device has published one of the commits that follow the commit `number` under its plain name, link by link.
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
