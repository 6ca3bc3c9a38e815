import Foundation

/// An exclusive lock on a file, which the kernel releases when the process ends in any way.
package final class FileLock: Sendable {
    /// Why the lock was not taken.
    package enum Failure: Error {
        /// Another open file description holds it.
        case held
        /// The file cannot be opened or created.
        case unopened(SystemFault)
        /// The file cannot be locked.
        case unlockable(SystemFault)
    }

    private let descriptor: Int32

    /// Takes the lock, or fails at once. Creates the file with access for its owner only if it is missing.
    package init(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unopened(SystemFault("open", errno)) }
        guard System.setLock(descriptor, isHeld: true) == 0 else {
            let number = errno
            close(descriptor)
            throw [EAGAIN, EWOULDBLOCK, EACCES].contains(number) ? .held : .unlockable(SystemFault("lock", number))
        }
        // Set the property last: if an initializer throws after all properties are set, `deinit` runs and would close the descriptor a second
        // time.
        self.descriptor = descriptor
    }

    deinit {
        // Closing alone may not release the lock: a child process that is just being started also has the descriptor, until its exec closes it.
        _ = System.setLock(descriptor, isHeld: false)
        close(descriptor)
    }
}
