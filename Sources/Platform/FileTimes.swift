#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#else
    package import Darwin
#endif

/// A file's size, times and inode.
package struct FileTimes: Sendable {
    /// A file's time, since 1970.
    package struct Time: Sendable {
        package let seconds: Int
        package let nanoseconds: Int

        package init(seconds: Int, nanoseconds: Int) {
            (self.seconds, self.nanoseconds) = (seconds, nanoseconds)
        }

        init(_ time: timespec) { self.init(seconds: Int(time.tv_sec), nanoseconds: Int(time.tv_nsec)) }

        /// When the content of the file with this status last changed.
        package init(modificationOf status: stat) { self.init(System.modification(status)) }

        var specification: timespec { timespec(tv_sec: .init(seconds), tv_nsec: .init(nanoseconds)) }

        /// In microseconds, rounded down.
        package var microseconds: Int64 { Int64(seconds) * 1_000_000 + Int64(nanoseconds) / 1000 }
    }

    /// The file's size in bytes.
    package let byteCount: Int
    /// The file's inode: a renamed file keeps it, and a copy has another.
    package let fileNumber: UInt64
    /// When the content last changed.
    package let modified: Time
    /// When the content was last read.
    package let accessed: Time

    /// Reads the file's status, following links; nil if that fails.
    package init?(ofFile path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        byteCount = Int(status.st_size)
        fileNumber = UInt64(status.st_ino)
        modified = Time(System.modification(status))
        accessed = Time(System.access(status))
    }

    /// Sets a file's times without following links.
    ///
    /// - Returns: whether they were set.
    package static func set(modified: Time, accessed: Time, ofFile path: String) -> Bool {
        utimensat(AT_FDCWD, path, [accessed.specification, modified.specification], AT_SYMLINK_NOFOLLOW) == 0
    }
}
