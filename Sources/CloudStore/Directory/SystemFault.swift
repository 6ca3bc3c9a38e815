import Glibc

/// A system call's failure: which call and which error number.
package struct SystemFault: Error, Hashable, Sendable {
    package let call: String
    package let number: Int32

    package init(_ call: String, _ number: Int32) {
        self.call = call
        self.number = number
    }

    /// Whether nothing has the name that was asked for.
    var isAbsence: Bool { number == ENOENT }
    /// Whether something has the name that was to be new.
    var isPresence: Bool { number == EEXIST }
    /// Whether the handle's file or directory is no longer known to the server.
    var isStale: Bool { number == ESTALE }
    /// Whether the file system cannot do such a thing at all, whatever the file.
    var isUnsupported: Bool { [EOPNOTSUPP, ENOSYS, EINVAL, EISDIR, EPERM, EXDEV, ENOENT, EMLINK].contains(number) }

    /// Whether the user lacks the right.
    var isDenial: Bool { number == EACCES || number == EPERM }
    /// Whether the file system is mounted so that nothing can be written.
    var isReadOnly: Bool { number == EROFS }
    /// Whether the thing may be there at the next look.
    package var isPassing: Bool { isAbsence || number == ENOTDIR || number == EINTR }

    /// The system's own words: `No space left on device`.
    var words: String { String(cString: strerror(number)) }

    /// The error to report at `place`, a path relative to the cloud.
    package func error(at place: String) -> CloudError {
        switch number {
        case ENOSPC, EDQUOT:
            CloudError(.quotaExceeded, at: place, "\(call): \(words)", hint: "make room, then try again; nothing was published")
        case EACCES, EPERM, EROFS:
            CloudError(.permissionFailure, at: place, "\(call): \(words)", hint: "give this user the right to read and write the cloud directory")
        case ESTALE:
            CloudError(
                .serverResponseLost, at: place, "\(call): \(words)", hint: "try again; if it stays so, mount the cloud directory anew", isRetryable: true)
        case ELOOP, ENOTDIR, EXDEV, ENXIO, EISDIR:
            CloudError(
                .damaged, at: place, "something else than a plain file or directory stands there (\(words))",
                hint: "take it away; snapsync makes no links and follows none")
        default:
            CloudError(.inputOutput, at: place, "\(call): \(words)", hint: "check the disk or the mount, then try again", isRetryable: true)
        }
    }
}
