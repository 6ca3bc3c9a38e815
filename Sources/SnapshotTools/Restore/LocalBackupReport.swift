import StrictText

/// A backup of earlier data beside the database, which `undo` can restore.
public struct LocalBackupReport: Sendable, Encodable {
    /// The backup's number. It is the version to inspect with `--cloud FILE.snapsync-kept`.
    public let number: Int
    public let at: String
    /// Why the backup was made, as a sentence.
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
