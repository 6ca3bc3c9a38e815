package import Foundation

/// A file's inode, and when its content last changed.
package struct FileTimes: Sendable {
    /// The file's inode: a renamed file keeps it, and a copy has another.
    package let fileNumber: UInt64
    /// When the content last changed, in microseconds since 1970, rounded down.
    package let modified: Int64

    package init(_ status: stat) {
        fileNumber = UInt64(status.st_ino)
        let time = System.modification(status)
        modified = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Reads the file's status, following links; nil if that fails.
    package init?(ofFile path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Sets when a file's content last changed and was last read, in microseconds since 1970, without following links.
    ///
    /// - Returns: whether the times were set.
    package static func set(_ microseconds: Int64, ofFile path: String) -> Bool {
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let time = timespec(tv_sec: .init(seconds), tv_nsec: .init(rest * 1000))
        return rest >= 0 && utimensat(AT_FDCWD, path, [time, time], AT_SYMLINK_NOFOLLOW) == 0
    }
}
