import Foundation

/// The calls of the C library that several modules need.
package enum System {
    /// The time by the machine's real-time clock, in microseconds since 1970.
    package static var microsecondsSince1970: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Compares bytes as `memcmp` does: negative, zero or positive.
    @inlinable
    package static func compare(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, byteCount: Int) -> Int32 {
        memcmp(left, right, byteCount)
    }

    /// Repeats a call while signals interrupt it.
    ///
    /// - Throws: ``SystemFault`` with the name `call` if the call returns a negative value.
    package static func retrying<Value: SignedInteger>(_ call: String, _ body: () -> Value) throws(SystemFault) -> Value {
        while true {
            let value = body()
            if value >= 0 { return value }
            let number = errno
            guard number == EINTR else { throw SystemFault(call, number) }
        }
    }

    /// Makes the content of an open file, or the names of an open directory, durable.
    package static func synchronize(_ descriptor: Int32) throws(SystemFault) {
        _ = try retrying("fsync") { synchronizeOnce(descriptor) }
    }

    /// A variable of the process's environment; nil if it is not set. Foundation's `environment` makes a dictionary of all of them.
    package static func environment(_ name: String) -> String? {
        // SAFETY: the toolkit never changes the environment, and the text is copied at once.
        getenv(name).map { String(cString: $0) }
    }

    /// Creates an empty file that only its owner may read and write.
    ///
    /// - Returns: whether it was created; false if the path exists or the file cannot be created.
    package static func makePrivateFile(_ path: String) -> Bool {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        return descriptor >= 0 && close(descriptor) == 0
    }

    /// Removes a file.
    ///
    /// - Returns: whether it was removed.
    @discardableResult
    package static func unlink(_ path: String) -> Bool { removeName(path) == 0 }

    /// Overwrites a secret before its memory is freed. The optimizer cannot remove the write.
    package static func erase(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { eraseMemory($0) }
    }

    /// From this call on, keeps the process's memory out of core dumps, and prevents other processes of the same user from reading it.
    package static func protectMemory() {
        forbidDumps()
    }

    /// The final target of a symbolic link; nil if the path is not a link, or if the target does not exist.
    package static func destination(ofLink path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}

/// The C library's `unlink`, whose name ``System/unlink(_:)`` hides.
private func removeName(_ path: String) -> Int32 { unlink(path) }
