/// The modes of what is made in a cloud's directory.
///
/// Files are created with 0600 and directories with 0700. If the directory above has the set-group-ID bit, both give the group and others the rights
/// that it gives them, whatever the umask is. Source: docs/cloud-directory.md, "Who may read the files".
enum InheritedMode {
    private static let setGroupID: UInt32 = 0o2000

    /// The mode of a new directory inside one of this mode.
    static func ofFolder(in above: UInt32) -> UInt32 {
        above & setGroupID == 0 ? 0o700 : setGroupID | 0o700 | above & 0o077
    }

    /// The mode of a new file in a directory of this mode. Files are never changed, so no other user needs to write them.
    static func ofFile(in above: UInt32) -> UInt32 {
        above & setGroupID == 0 ? 0o600 : 0o600 | above & 0o044
    }
}
