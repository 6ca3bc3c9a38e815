/// Who besides the owner may use the files of a cloud directory. Source: docs/cloud-directory.md, "Who may read the files".
public enum CloudSharing: String, Sendable, CaseIterable {
    /// Nobody.
    case owner
    /// The directory's group reads and writes.
    case group
    /// The group reads and writes, everybody else reads.
    case all
}
