#if os(Linux)
    import CLinux
#endif
import Platform

/// A file system that other machines write as well. Its events report only this machine's changes.
package enum RemoteFileSystem {
    /// The name of a directory's file system if other machines may change it; nil for a local one, and if the system does not report the
    /// type.
    ///
    /// Source: statfs(2); the numbers are those of linux/magic.h and of the file systems' own sources.
    package static func name(ofDirectory path: String) -> String? {
        (try? type(ofDirectory: path)).flatMap { names[$0] }
    }

    /// The kernel's number for a directory's file system; nil on a system without such numbers.
    static func type(ofDirectory path: String) throws(SystemFault) -> Int? {
        let calls = POSIXFileSystem()
        let descriptor = try calls.openRoot(path)
        defer { try? calls.close(descriptor) }
        return type(descriptor)
    }

    /// Whether other machines may change an open directory; true if that is unknown.
    static func isRemote(_ descriptor: Int32) -> Bool {
        guard let type = type(descriptor) else { return true }
        return type == 0xFFFF_FFFF || names[type] != nil
    }

    private static func type(_ descriptor: Int32) -> Int? {
        #if os(Linux)
            Int(clinux_file_system_type(descriptor)) & 0xFFFF_FFFF
        #else
            nil
        #endif
    }

    static let names: [Int: String] = [
        0x6969: "NFS", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x517B: "SMB", 0x6573_5546: "FUSE", 0x0102_1997: "9P", 0x00C3_6400: "Ceph",
        0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2", 0x0BD0_0BD0: "Lustre",
        0x786F_4256: "VirtualBox",
        0x4750_4653: "GPFS", 0xAAD7_AAEA: "PanFS", 0x19830326: "BeeGFS",
    ]
}
