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

    /// A failure that the system reported.
    package init(_ call: String, _ number: Int32) {
        self.call = call
        self.number = number
    }

    /// A call that this system, or what stands in for one, does not have.
    package static func missing(_ call: String) -> SystemFault { SystemFault(call, ENOSYS) }

    /// Whether nothing has the name that was asked for.
    package var isAbsence: Bool { number == ENOENT }
    /// Whether something has the name that was to be new.
    package var isPresence: Bool { number == EEXIST }
    /// Whether the handle's file or directory is no longer known to the server.
    package var isStale: Bool { number == ESTALE }
    /// Whether the file system cannot do such a thing at all, whatever the file.
    package var isUnsupported: Bool { [EOPNOTSUPP, ENOSYS, EINVAL, EISDIR, EPERM, EXDEV, ENOENT, EMLINK].contains(number) }

    /// Whether there is no room: the disk is full or the user's quota is used up.
    package var isOutOfSpace: Bool { number == ENOSPC || number == EDQUOT }
    /// Whether the path ends at a link, or leads through something that is no directory, or to something that cannot be opened as a file.
    package var isWrongKind: Bool { [ELOOP, ENOTDIR, EXDEV, ENXIO, EISDIR].contains(number) }
    /// Whether nothing can be reached under a path: nothing is there, or a mount is gone.
    package var isUnreachable: Bool {
        [ENOENT, ENOTDIR, ENODEV, ESTALE, ENOTCONN, EHOSTDOWN, ELOOP, ENAMETOOLONG].contains(number)
    }
    /// Whether the system reports a failed transfer, which some network mounts do for a call that they do not know.
    package var isInputOutput: Bool { number == EIO }
    /// Whether a limit on open files, or on watchers, is reached.
    package var isTooManyOpen: Bool { number == EMFILE || number == ENFILE }
    /// Whether a limit on watched directories, or the memory for them, is used up.
    package var isTooManyWatches: Bool { number == ENOSPC || number == ENOMEM }

    /// Whether the user lacks the right.
    package var isDenial: Bool { number == EACCES || number == EPERM }
    /// Whether the file system is mounted so that nothing can be written.
    package var isReadOnly: Bool { number == EROFS }
    /// Whether modes, an owner or a read-only mount forbid it.
    package var isForbidden: Bool { isDenial || isReadOnly }
    /// Whether nothing is there, or a part of the path is no directory.
    package var isMissing: Bool { isAbsence || number == ENOTDIR }
    /// Whether the thing may be there at the next look.
    package var isPassing: Bool { isMissing || number == EINTR }

    /// The system's own words: `No space left on device`.
    package var words: String { String(cString: strerror(number)) }
}
