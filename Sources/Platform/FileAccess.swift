#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a user may do with a file or directory, as far as modes and mounts say.
package struct FileAccess: OptionSet, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The empty set asks only whether anything has the name.
    package static let exists: FileAccess = []
    package static let read = FileAccess(rawValue: R_OK)
    package static let write = FileAccess(rawValue: W_OK)
    /// Look up names in a directory.
    package static let search = FileAccess(rawValue: X_OK)

    /// The system's reason why the file may not be used so; nil if it may.
    package func refusal(_ path: String) -> SystemFault? {
        access(path, rawValue) == 0 ? nil : SystemFault("access", errno)
    }
}
