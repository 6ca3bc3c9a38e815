package import CloudStore
package import Platform
package import StrictText

/// The system calls below a cloud directory: each function is one call.
///
/// All reading and writing of a cloud goes through this protocol, so that a simulated file system can make each call fail, lose its effect,
/// or reorder it. The implementation defines what a descriptor is. Every function throws a ``SystemFault``. A call that a signal interrupted
/// is repeated and not reported.
package protocol FileSystemCalls: Sendable {
    /// Opens the directory at an absolute or relative path, following links, since the user chose the path.
    func openRoot(_ path: String) throws(SystemFault) -> Int32
    /// Opens `path` beneath a directory. It follows no link and never leaves the directory.
    func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32
    /// Opens a file again for reading, given a descriptor that was opened for writing.
    func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32
    func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus
    /// Whether other machines may change an open directory without this machine's cache noticing.
    func isRemote(_ directory: Int32) -> Bool
    /// Reads at an offset. May read less than requested; returns 0 at the end.
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int
    /// Appends bytes. May write fewer than given.
    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int
    /// Appends a part of another file, which the file system copies by itself. May copy less than requested; throws if copying is not
    /// supported.
    func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int
    /// Starts writing a part of a file to the disk, without waiting. Only a hint: it makes nothing durable, and ``synchronize(_:)`` reports
    /// failures.
    func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int)
    /// Makes a file's content, or a directory's names, durable.
    func synchronize(_ descriptor: Int32) throws(SystemFault)
    /// Closes a descriptor. It is closed even if this throws.
    func close(_ descriptor: Int32) throws(SystemFault)
    /// Gives an open file without a name its name, if the name is free.
    func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault)
    /// Gives a file a second name, if the name is free.
    func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault)
    /// Renames a file, if the new name is free.
    func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault)
    func unlink(_ name: String, in directory: Int32) throws(SystemFault)
    func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault)
    /// Removes an empty directory.
    func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault)
    /// Sets the rights of an open file or directory.
    func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemFault)
    /// The names in a directory, without `.` and `..`, in no particular order.
    func names(in directory: Int32) throws(SystemFault) -> [String]
}

/// The purpose for which a file beneath a cloud is opened.
package enum OpenPurpose: Sendable {
    /// An existing file, for reading. Never blocks, not even on a FIFO.
    case read
    /// An existing directory.
    case directory
    /// A new file under a free name, with mode 0600 unless the directory is shared (``InheritedMode``).
    case create
    /// A new file without a name in the directory, with the same mode. It vanishes when it is closed, unless it was linked.
    case createNameless
}

/// The status of an open file.
package struct FileStatus: Sendable {
    package let isRegular: Bool
    /// The size in bytes.
    package let byteCount: Int
    /// When the content last changed, by the file system's clock.
    package let modified: Instant

    package init(isRegular: Bool, byteCount: Int, modified: Instant) {
        (self.isRegular, self.byteCount, self.modified) = (isRegular, byteCount, modified)
    }
}

/// The calls for the system that this program runs on.
package let systemFileCalls: any FileSystemCalls = {
    #if os(Linux)
        LinuxFileSystem()
    #else
        POSIXFileSystem()
    #endif
}()

extension FileSystemCalls {
    /// A simulated file system has no other machines.
    package func isRemote(_ directory: Int32) -> Bool { false }

    /// A simulated file system need not remove directories: a cloud never removes its own.
    package func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault) { throw SystemFault.missing("rmdir") }

    /// Without an implementation the caller writes the bytes.
    package func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
        throw SystemFault.missing("copy_file_range")
    }

    /// Does nothing: a hint may be ignored.
    package func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {}

    /// Does nothing: a simulated file system has no other users.
    package func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemFault) {}
}

/// A descriptor that is closed exactly once: explicitly, with its error reported, or else when the last reference is released.
///
/// Closing must not happen while other threads use it; reading through ``number`` from several threads is fine.
final class OpenDescriptor {
    /// The descriptor; -1 after ``close()``.
    private(set) var number: Int32
    private let calls: any FileSystemCalls

    init(_ number: Int32, _ calls: any FileSystemCalls) { (self.number, self.calls) = (number, calls) }

    deinit {
        // Only files that were read or abandoned are closed here. An error of close no longer matters for them.
        try? close()
    }

    /// Closes the descriptor now.
    func close() throws(SystemFault) {
        guard number >= 0 else { return }
        let closing = number
        number = -1
        try calls.close(closing)
    }
}

extension SystemFault {
    /// The error to report at `place`, a path relative to the cloud.
    package func error(at place: String) -> CloudError {
        if isOutOfSpace {
            CloudError(.quotaExceeded, at: place, "\(call): \(words)", hint: "make room, then try again; nothing was published")
        } else if isForbidden {
            CloudError(.permissionFailure, at: place, "\(call): \(words)", hint: "give this user the right to read and write the shared folder")
        } else if isStale {
            CloudError(
                .serverResponseLost, at: place, "\(call): \(words)", hint: "try again; if it stays so, mount the shared folder anew", isRetryable: true)
        } else if isWrongKind {
            CloudError(
                .damaged, at: place, "something else than a plain file or directory stands there (\(words))",
                hint: "take it away; snapsync makes no links and follows none")
        } else {
            CloudError(.inputOutput, at: place, "\(call): \(words)", hint: "check the disk or the mount, then try again", isRetryable: true)
        }
    }
}
