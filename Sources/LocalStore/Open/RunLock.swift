#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Keeps two runs on one database apart, for economy only: correctness never rests on it.
///
/// An open-file-description lock on `FILE.snapsync-lock`; the kernel drops it when the process ends, however it ends.
package final class RunLock: Sendable {
    private let descriptor: Int32

    /// The lock file of a database, beside the file itself where `database` is a link to it: every name of one database has one lock.
    package static func path(for database: String) -> String { target(of: database) + ".snapsync-lock" }

    /// The file that a path leads to. Only a link in the last part matters: a folder has one lock file by whatever name it is reached.
    private static func target(of database: String) -> String {
        var status = stat()
        guard lstat(database, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, let real = realpath(database, nil) else { return database }
        defer { free(real) }
        return String(cString: real)
    }

    /// Takes the lock of `database`, or fails at once.
    ///
    /// - Throws: ``LocalStoreError`` with `.running` if another run holds it.
    package init(database: String) throws {
        let path = Self.path(for: database)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw LocalStoreError(
                errno == EACCES || errno == EROFS ? .permissionDenied : .inputOutput, at: path, "the lock file cannot be opened: \(String(cString: strerror(errno)))",
                hint: "check that the database's folder can be written")
        }
        guard Self.set(Int16(F_WRLCK), descriptor) == 0 else {
            let code = errno
            close(descriptor)
            if code == EAGAIN || code == EACCES {
                throw LocalStoreError(.running, at: database, "another run of snapsync works on this database", hint: "let it finish; the next run does what is left", isRetryable: true)
            }
            throw LocalStoreError(.inputOutput, at: path, "the lock file cannot be locked: \(String(cString: strerror(code)))")
        }
        // Last: an initializer that throws once every property is set runs deinit, which would close the number again, by then perhaps another's.
        self.descriptor = descriptor
    }

    deinit {
        // Closing is not enough: a program that this one is just starting has the descriptor, too, until its exec closes it.
        _ = Self.set(Int16(F_UNLCK), descriptor)
        close(descriptor)
    }

    private static func set(_ type: Int16, _ descriptor: Int32) -> Int32 {
        var lock = flock()
        lock.l_type = type
        lock.l_whence = Int16(SEEK_SET)
        return fcntl(descriptor, setLock, &lock)
    }

    /// F_OFD_SETLK, which Glibc's module leaves out.
    private static let setLock: Int32 = 37
}
