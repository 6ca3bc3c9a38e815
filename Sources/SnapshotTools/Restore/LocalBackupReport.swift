import StrictText

/// A copy of earlier data beside the database, which `undo` or a look can bring back.
public struct LocalBackupReport: Sendable, Encodable {
    /// The copy's number: the version to look at with `--cloud FILE.snapsync-kept`.
    public let number: Int
    public let at: String
    /// Why it was made, in words.
    public let reason: String
    /// The size of its files in bytes.
    public let size: Int

    init(_ copy: LocalBackups.Copy) {
        number = copy.number
        at = copy.at.description
        reason = copy.reason
        size = copy.byteCount
    }
}
