import Foundation

/// Every file and folder beneath a directory, with what would show that somebody touched it: inode, size, time and mode.
///
/// Two listings are equal exactly if nothing was made, replaced, written or removed between them.
package struct FileListing: Equatable, CustomStringConvertible {
    /// A path relative to the directory, and the facts of what lies there.
    package let entries: [String: String]

    /// Lists a directory.
    ///
    /// - Parameter foldersToo: whether a folder's time and size count: a temporary file that came and went changes them.
    package init(of directory: String, foldersToo: Bool = true) throws {
        var entries: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) + ["."] {
            var facts = stat()
            guard lstat("\(directory)/\(name)", &facts) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            let isFolder = facts.st_mode & S_IFMT == S_IFDIR
            entries[name] =
                isFolder && !foldersToo
                ? "folder"
                : "inode \(facts.st_ino) size \(facts.st_size) time \(facts.st_mtim.tv_sec).\(facts.st_mtim.tv_nsec) mode \(String(facts.st_mode, radix: 8))"
        }
        self.entries = entries
    }

    package var description: String { entries.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n") }
}
