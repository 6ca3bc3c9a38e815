import Foundation

/// A failed system call: which call, and its error number.
package struct SystemFault: Error, Hashable, Sendable {
    package let call: String
    package let number: Int32

    /// A failure that the system reported.
    package init(_ call: String, _ number: Int32) { (self.call, self.number) = (call, number) }

    /// A call that this system, or an emulation of it, does not have.
    package static func missing(_ call: String) -> SystemFault { SystemFault(call, ENOSYS) }

    /// Whether the path does not exist.
    package var isAbsence: Bool { number == ENOENT }
    /// Whether the path that was to be created exists.
    package var isPresence: Bool { number == EEXIST }
    /// Whether the server no longer knows the file or directory of an open handle.
    package var isStale: Bool { number == ESTALE }
    /// Whether the file system does not support such an operation, whatever the file.
    package var isUnsupported: Bool { [EOPNOTSUPP, ENOSYS, EINVAL, EISDIR, EPERM, EXDEV, ENOENT, EMLINK].contains(number) }

    /// Whether there is no space: the disk is full or the user's quota is used up.
    package var isOutOfSpace: Bool { number == ENOSPC || number == EDQUOT }
    /// Whether the path ends at a link, leads through something that is not a directory, or names something that cannot be opened as a file.
    package var isWrongKind: Bool { [ELOOP, ENOTDIR, EXDEV, ENXIO, EISDIR].contains(number) }
    /// Whether the path cannot be reached: it does not exist, or a mount is gone.
    package var isUnreachable: Bool {
        [ENOENT, ENOTDIR, ENODEV, ESTALE, ENOTCONN, EHOSTDOWN, ELOOP, ENAMETOOLONG].contains(number)
    }
    /// Whether the transfer failed. Some network mounts report this for a call that they do not support.
    package var isInputOutput: Bool { number == EIO }
    /// Whether a limit on open files, or on watchers, is reached.
    package var isTooManyOpen: Bool { number == EMFILE || number == ENFILE }
    /// Whether the limit of watched directories, or the memory for them, is used up.
    package var isTooManyWatches: Bool { number == ENOSPC || number == ENOMEM }

    /// Whether the user lacks permission.
    package var isDenial: Bool { number == EACCES || number == EPERM }
    /// Whether the file system is mounted read-only.
    package var isReadOnly: Bool { number == EROFS }
    /// Whether modes, an owner or a read-only mount forbid the operation.
    package var isForbidden: Bool { isDenial || isReadOnly }
    /// Whether the path does not exist, or a part of it is not a directory.
    package var isMissing: Bool { isAbsence || number == ENOTDIR }
    /// Whether the same operation may succeed at the next attempt.
    package var isPassing: Bool { isMissing || number == EINTR }

    /// The system's message: `No space left on device`.
    package var words: String { String(cString: strerror(number)) }
}
