package import CloudStore
import CommitLog
package import Platform
package import StrictText

/// The system calls below a cloud directory, and nothing else: one function, one call.
///
/// Everything that reads or writes a cloud goes through here, so that a simulated file system can stand in its place and
/// fail, forget or reorder each call. Descriptors are whatever the implementation makes of them.
/// Every function throws a ``SystemFault``; a call that a signal interrupted is made again and never reported.
package protocol FileSystemCalls: Sendable {
    /// Opens the directory at an absolute or relative path, following links: the user chose that path.
    func openRoot(_ path: String) throws(SystemFault) -> Int32
    /// Opens `path` beneath a directory, following no link and leaving it never.
    func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32
    /// Opens the file of a descriptor that was opened for writing once more, for reading.
    func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32
    func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus
    /// What tells whether an open directory's names were changed; nil where nothing does.
    func stamp(ofDirectory descriptor: Int32) throws(SystemFault) -> FolderStamp?
    /// Whether other machines may change what an open directory holds, and this one's cache not know of it.
    func isRemote(_ directory: Int32) -> Bool
    /// Reads at a place; 0 at the end, perhaps less than asked for.
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int
    /// Writes at the end, perhaps less than given.
    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int
    /// Appends a part of another file, which the file system copies by itself, perhaps less than asked for; throws where it cannot.
    func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int
    /// Has the bytes of a part of a file begin their way to the disk, without waiting for them. A hint: nothing is durable by it, and
    /// what fails is for ``synchronize(_:)`` to report.
    func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int)
    /// Makes a file's content, or a directory's names, durable.
    func synchronize(_ descriptor: Int32) throws(SystemFault)
    /// Closes; the descriptor is gone whether or not it throws.
    func close(_ descriptor: Int32) throws(SystemFault)
    /// Gives an open file without a name its name, if nothing has it.
    func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault)
    /// Gives a file a second name, if nothing has it.
    func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault)
    /// Changes a file's name, if nothing has the new one.
    func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault)
    func unlink(_ name: String, in directory: Int32) throws(SystemFault)
    func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault)
    /// Removes an empty directory.
    func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault)
    /// Sets the rights of an open file or directory.
    func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemFault)
    /// The names in a directory, without `.` and `..`, in no order.
    func names(in directory: Int32) throws(SystemFault) -> [String]
}

/// What a file beneath a cloud is opened for.
package enum OpenPurpose: Sendable {
    /// An existing file, for reading; never blocks, not even on a FIFO.
    case read
    /// An existing directory.
    case directory
    /// A new file under a name that nothing has, 0600 unless the directory is shared (``DirectorySharing``).
    case create
    /// A new file without a name in the directory, with the same rights; gone when it is closed, unless it was linked.
    case createNameless
}

/// What an open file is.
package struct FileStatus: Sendable {
    package let isRegular: Bool
    /// Bytes.
    package let byteCount: Int
    /// When the content changed last, by the file system's clock.
    package let modified: Instant

    package init(isRegular: Bool, byteCount: Int, modified: Instant) {
        self.isRegular = isRegular
        self.byteCount = byteCount
        self.modified = modified
    }
}

/// The calls of the system that this program runs on.
package let systemFileCalls: any FileSystemCalls = {
    #if os(Linux)
        LinuxFileSystem()
    #else
        POSIXFileSystem()
    #endif
}()

extension FileSystemCalls {
    /// The stamp of an open directory; nil where its times tell nothing of what other machines do, as of a file system that is
    /// only made up.
    package func stamp(ofDirectory descriptor: Int32) throws(SystemFault) -> FolderStamp? { nil }

    /// A file system that only stands in for one has no other machines.
    package func isRemote(_ directory: Int32) -> Bool { false }

    /// A cloud's own directories are never removed; where a file system only stands in for one, neither are others.
    package func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault) { throw SystemFault.missing("rmdir") }

    /// Where the system cannot copy, bytes are written.
    package func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
        throw SystemFault.missing("copy_file_range")
    }

    /// A hint may be ignored.
    package func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {}

    /// Where a file system only stands in for one, nobody is kept out.
    package func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemFault) {}
}
