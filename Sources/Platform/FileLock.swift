#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An exclusive lock on a file, which the kernel releases when the process ends, however it ends.
package final class FileLock: Sendable {
    /// Why the lock was not taken.
    package enum Failure: Error {
        /// Another open file description holds it.
        case held
        /// The file cannot be opened or made.
        case unopened(SystemFault)
        /// The file cannot be locked.
        case unlockable(SystemFault)
    }

    private let descriptor: Int32

    /// Takes the lock, or fails at once. Makes the file, for its owner alone, if there is none.
    package init(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unopened(SystemFault("open", errno)) }
        guard System.setLock(descriptor, isHeld: true) == 0 else {
            let number = errno
            close(descriptor)
            throw [EAGAIN, EWOULDBLOCK, EACCES].contains(number) ? .held : .unlockable(SystemFault("lock", number))
        }
        // Last: an initializer that throws after every property is set runs deinit, which would close the number a second time.
        self.descriptor = descriptor
    }

    deinit {
        // Closing is not enough: a program that this one is just starting has the descriptor, too, until its exec closes it.
        _ = System.setLock(descriptor, isHeld: false)
        close(descriptor)
    }
}
