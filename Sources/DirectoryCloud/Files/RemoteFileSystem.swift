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
        (try? type(ofDirectory: path)).flatMap(name(ofType:))
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
        return type == 0xFFFF_FFFF || name(ofType: type) != nil
    }

    private static func type(_ descriptor: Int32) -> Int? {
        #if os(Linux)
            Int(clinux_file_system_type(descriptor)) & 0xFFFF_FFFF
        #else
            nil
        #endif
    }

    /// The name of a file system that other machines may change, by the kernel's number.
    static func name(ofType type: Int) -> String? {
        switch type {
        case 0x6969: "NFS"
        case 0xFF53_4D42: "CIFS"
        case 0xFE53_4D42, 0x517B: "SMB"
        case 0x6573_5546: "FUSE"
        case 0x0102_1997: "9P"
        case 0x00C3_6400: "Ceph"
        case 0x5346_414F, 0x6B41_4653: "AFS"
        case 0x7375_7245: "Coda"
        case 0x0116_1970: "GFS2"
        case 0x7461_636F: "OCFS2"
        case 0x0BD0_0BD0: "Lustre"
        case 0x786F_4256: "VirtualBox"
        case 0x4750_4653: "GPFS"
        case 0xAAD7_AAEA: "PanFS"
        case 0x1983_0326: "BeeGFS"
        default: nil
        }
    }
}
