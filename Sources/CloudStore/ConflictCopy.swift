public import StrictText

/// A commit's file under another name than its own. A tool that replicates folders leaves one if two devices published the same number.
///
/// Examples: `00000000000000000013.sync-conflict-20260301-080000-ABCDEFG.json`, `00000000000000000013 (Conflicted Copy).json`. The file with
/// the plain name counts; this one lost the number. Readers never follow it.
public struct ConflictCopy: Hashable, Sendable {
    /// The file's name in `commits/`.
    public let fileName: String
    /// The commit that the file holds: its number, and the SHA-256 of its bytes.
    public let token: ChangeToken
    /// The hash of its parent; nil for the first commit.
    public let parent: String?
    public let device: String
    public let timestamp: Instant
    /// Whether its author has since published a later commit on top of the commit that counts, and so has already imported that one.
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
