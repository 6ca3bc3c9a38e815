import Foundation

/// The ways to use a file or directory, checked against modes and mounts.
package struct FileAccess: OptionSet, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The empty set checks only whether the path exists.
    package static let exists: FileAccess = []
    package static let read = FileAccess(rawValue: R_OK)
    package static let write = FileAccess(rawValue: W_OK)
    /// Permission to look up names in a directory.
    package static let search = FileAccess(rawValue: X_OK)

    /// The system's reason why the file may not be used in this way; nil if it may.
    package func refusal(_ path: String) -> SystemFault? {
        access(path, rawValue) == 0 ? nil : SystemFault("access", errno)
    }
}
