import Glibc

/// The file system that a directory lies on.
package struct FileSystemFacts: Sendable, Hashable {
    /// Its name, or the number by which the kernel knows it.
    package let name: String
    /// Whether other machines may write it, too.
    package let isShared: Bool
    /// How many bytes a user who is not root may still write.
    package let freeByteCount: Int
    /// Whether it is mounted read-only.
    package let isReadOnly: Bool

    /// Asks for the facts of a directory; writes nothing.
    ///
    /// Source: statfs(2), statvfs(3); the numbers are those of linux/magic.h and of the file systems' own sources.
    ///
    /// - Throws: ``CloudError`` where the directory cannot be opened.
    package init(ofDirectory path: String) throws(CloudError) {
        var space = statvfs()
        guard statvfs(path, &space) == 0, let type = RemoteFileSystem.type(ofDirectory: path) else {
            throw SystemFault("statvfs", errno).error(at: path)
        }
        let remote = RemoteFileSystem.name(ofDirectory: path)
        name = remote ?? Self.localNames[type] ?? "the file system 0x\(String(type, radix: 16))"
        isShared = remote != nil
        freeByteCount = Int(clamping: UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize)).partialValue)
        isReadOnly = space.f_flag & Self.readOnly != 0
    }

    /// Whether this process may make and remove names in a directory, as far as modes and mounts say.
    package static func isWritable(_ path: String) -> Bool { access(path, W_OK | X_OK) == 0 }

    /// `ST_RDONLY`.
    private static let readOnly: UInt = 1

    private static let localNames: [Int: String] = [
        0xEF53: "ext4", 0x5846_5342: "XFS", 0x9123_683E: "Btrfs", 0x0102_1994: "tmpfs", 0x794C_7630: "overlayfs", 0x2FC1_2FC1: "ZFS", 0xF2F5_2010: "F2FS",
        0xCA45_1A4E: "bcachefs", 0x2011_BAB0: "exFAT", 0x4D44: "FAT", 0x5346_544E: "NTFS", 0x7366_746E: "NTFS", 0x482B: "HFS+", 0x9660: "ISO 9660", 0x7371_7368: "squashfs",
        0xF15F: "eCryptfs", 0x8584_58F6: "ramfs",
    ]
}
