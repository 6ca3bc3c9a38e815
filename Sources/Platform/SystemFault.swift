#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A system call's failure: which call and which error number.
package struct SystemFault: Error, Hashable, Sendable {
    package let call: String
    package let number: Int32

    package init(_ call: String, _ number: Int32) {
        self.call = call
        self.number = number
    }

    /// Whether nothing has the name that was asked for.
    package var isAbsence: Bool { number == ENOENT }
    /// Whether something has the name that was to be new.
    package var isPresence: Bool { number == EEXIST }
    /// Whether the handle's file or directory is no longer known to the server.
    package var isStale: Bool { number == ESTALE }
    /// Whether the file system cannot do such a thing at all, whatever the file.
    package var isUnsupported: Bool { [EOPNOTSUPP, ENOSYS, EINVAL, EISDIR, EPERM, EXDEV, ENOENT, EMLINK].contains(number) }

    /// Whether the user lacks the right.
    package var isDenial: Bool { number == EACCES || number == EPERM }
    /// Whether the file system is mounted so that nothing can be written.
    package var isReadOnly: Bool { number == EROFS }
    /// Whether the thing may be there at the next look.
    package var isPassing: Bool { isAbsence || number == ENOTDIR || number == EINTR }

    /// The system's own words: `No space left on device`.
    package var words: String { String(cString: strerror(number)) }
}
