import CLinux
import CloudStore
import CommitLog
import Glibc
import Platform

/// A file system that other machines write, too: its events tell of this machine's changes alone.
package enum RemoteFileSystem {
    /// The name of the file system that a directory lies on, if other machines may change it; nil for a local one.
    ///
    /// Source: statfs(2); the numbers are those of linux/magic.h and of the file systems' own sources.
    package static func name(ofDirectory path: String) -> String? {
        type(ofDirectory: path).flatMap { names[$0] }
    }

    /// The number by which the kernel knows the file system that a directory lies on; nil if the directory cannot be opened.
    static func type(ofDirectory path: String) -> Int? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return type(descriptor)
    }

    /// Whether other machines may change what an open directory holds; true where that cannot be told.
    static func isRemote(_ descriptor: Int32) -> Bool {
        let type = type(descriptor)
        return type == 0xFFFF_FFFF || names[type] != nil
    }

    private static func type(_ descriptor: Int32) -> Int { Int(clinux_file_system_type(descriptor)) & 0xFFFF_FFFF }

    private static let names: [Int: String] = [
        0x6969: "NFS", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x517B: "SMB", 0x6573_5546: "FUSE", 0x0102_1997: "9P", 0x00C3_6400: "Ceph",
        0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2", 0x0BD0_0BD0: "Lustre", 0x786F_4256: "VirtualBox",
        0x4750_4653: "GPFS", 0xAAD7_AAEA: "PanFS", 0x19830326: "BeeGFS",
    ]
}
