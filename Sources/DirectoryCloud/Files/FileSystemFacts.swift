package import CloudStore
import Foundation
import Platform
import StrictText

/// Properties of a directory's file system.
package struct FileSystemFacts: Sendable, Hashable {
    /// Its name, or the number by which the kernel knows it.
    package let name: String
    /// Whether other machines may write to it too.
    package let isShared: Bool
    /// How many bytes a user other than root may still write.
    package let freeByteCount: Int
    /// Whether it is mounted read-only.
    package let isReadOnly: Bool
    /// Its mount options: `rw`, `lookupcache=pos`. Empty if they are unknown.
    package let mountOptions: [String]

    /// Reads the properties of a directory's file system, without writing anything.
    ///
    /// Source: statfs(2), statvfs(3); the numbers are those of linux/magic.h and of the file systems' own sources.
    ///
    /// - Throws: ``CloudError`` if the directory cannot be opened.
    package init(ofDirectory path: String) throws(CloudError) {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { throw SystemFault("statvfs", errno).error(at: path) }
        let type: Int?
        do throws(SystemFault) { type = try RemoteFileSystem.type(ofDirectory: path) } catch { throw error.error(at: path) }
        let remote = type.flatMap(RemoteFileSystem.name(ofType:))
        name = remote ?? type.map { Self.localNames[$0] ?? "the file system 0x\(String($0, radix: 16))" } ?? "a file system of unknown kind"
        isShared = remote != nil
        freeByteCount = Int(clamping: UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize)).partialValue)
        isReadOnly = Int(space.f_flag) & Self.readOnly != 0
        mountOptions = Self.mountOptions(ofDirectory: path)
    }

    /// Makes given properties, of a file system with free space.
    package init(name: String, mountOptions: [String]) {
        self.name = name
        self.mountOptions = mountOptions
        isShared = name == "NFS"
        freeByteCount = .max
        isReadOnly = false
    }

    /// Whether this process may create and remove names in a directory, according to modes and mounts.
    package static func isWritable(_ path: String) -> Bool { FileAccess([.write, .search]).refusal(path) == nil }

    /// Whether an NFS client caches that a name did not exist. A new file may then be found up to a minute late.
    package var remembersAbsence: Bool {
        name == "NFS" && !mountOptions.isEmpty && !mountOptions.contains { $0.exact.hasPrefix("lookupcache=pos") || $0 == "lookupcache=none" || $0 == "noac" }
    }

    private static func mountOptions(ofDirectory path: String) -> [String] {
        var info = stat()
        guard stat(path, &info) == 0, let table = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8) else { return [] }
        // The packing of glibc's makedev(3).
        let device = UInt64(truncatingIfNeeded: info.st_dev), major = (device >> 8 & 0xFFF) | (device >> 32 & ~0xFFF),
            minor = (device & 0xFF) | (device >> 12 & ~0xFF)
        return mountOptions(inTable: table, device: "\(major):\(minor)")
    }

    /// The options of the last mount of a device in the kernel's mount table. `device` is the major and minor number: `98:0`.
    ///
    /// Source: proc_pid_mountinfo(5): `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
    static func mountOptions(inTable table: String, device: String) -> [String] {
        let lines = table.exact.split(separator: "\n").map { $0.exact.split(separator: " ") }
        guard let line = lines.last(where: { $0.count > 6 && $0[2] == device }), let end = line.firstIndex(of: "-"), line.count > end + 3 else { return [] }
        return (line[5].exact.split(separator: ",") + line[end + 3].exact.split(separator: ","))
    }

    package static func isThere(_ path: String) -> Bool { FileAccess.exists.refusal(path) == nil }

    /// `ST_RDONLY`.
    private static let readOnly = 1

    private static let localNames: [Int: String] = [
        0xEF53: "ext4", 0x5846_5342: "XFS", 0x9123_683E: "Btrfs", 0x0102_1994: "tmpfs", 0x794C_7630: "overlayfs", 0x2FC1_2FC1: "ZFS", 0xF2F5_2010: "F2FS",
        0xCA45_1A4E: "bcachefs", 0x2011_BAB0: "exFAT", 0x4D44: "FAT", 0x5346_544E: "NTFS", 0x7366_746E: "NTFS", 0x482B: "HFS+", 0x9660: "ISO 9660",
        0x7371_7368: "squashfs",
        0xF15F: "eCryptfs", 0x8584_58F6: "ramfs",
    ]
}
