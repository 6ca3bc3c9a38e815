import CloudStore
import Foundation
package import Platform
import StrictText

/// Uses only calls of POSIX. They suffice for the whole contract of a cloud, without the faster or safer calls of a particular system.
///
/// Files are created with 0600 and directories with 0700, unless the directory above is shared (``InheritedMode``). Every file has a
/// temporary name until it is linked. The type of a file system is unknown here, so each one is treated as if other machines could change
/// it.
///
// SAFETY (@unchecked Sendable): without state.
package class POSIXFileSystem: FileSystemCalls, @unchecked Sendable {
    package init() {}

    package func openRoot(_ path: String) throws(SystemFault) -> Int32 {
        try openPath(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }

    /// Opens an absolute or relative path, following links.
    func openPath(_ path: String, _ flags: Int32) throws(SystemFault) -> Int32 {
        try System.retrying("open") { systemOpen(path, flags) }
    }

    package func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
        guard let flags = purpose.flags else { throw SystemFault.missing("open") }
        let descriptor = try openStepByStep(path, in: directory, flags)
        return purpose == .create ? try sharing(descriptor, in: directory) : descriptor
    }

    /// Opens a path one part at a time, without following links and without accepting `..`, so that it cannot leave the directory.
    func openStepByStep(_ path: String, in directory: Int32, _ flags: Int32) throws(SystemFault) -> Int32 {
        var current = directory
        // Compare bytes, not characters: "/" followed by a combining mark is one character.
        var rest = path.utf8[...]
        while true {
            let part = String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
            rest = rest.dropFirst(part.utf8.count)
            let isLast = rest.isEmpty
            let result = Result { () throws(SystemFault) in
                guard !path.isEmpty else { throw SystemFault("open", ENOENT) }
                guard !part.isEmpty, part != ".." else { throw SystemFault("open", EXDEV) }
                return try System.retrying("open") {
                    openat(current, part, (isLast ? flags : System.searchOnly | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC, 0o600)
                }
            }
            if current != directory { _ = systemClose(current) }
            current = try result.get()
            if isLast { return current }
            rest = rest.dropFirst()
        }
    }

    /// Gives a new file the rights that its directory grants. Closes the file if that fails.
    func sharing(_ descriptor: Int32, in directory: Int32) throws(SystemFault) -> Int32 {
        do throws(SystemFault) {
            let rights = InheritedMode.ofFile(in: try mode(of: directory))
            if rights != InheritedMode.ofFile(in: 0) { try setMode(descriptor, rights) }
            return descriptor
        } catch {
            _ = systemClose(descriptor)
            throw error
        }
    }

    package func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemFault) {
        _ = try System.retrying("chmod") { fchmod(descriptor, mode_t(mode)) }
    }

    private func mode(of descriptor: Int32) throws(SystemFault) -> UInt32 { UInt32(try facts(descriptor).st_mode) }

    func facts(_ descriptor: Int32) throws(SystemFault) -> stat {
        var info = stat()
        _ = try System.retrying("fstat") { fstat(descriptor, &info) }
        return info
    }

    /// Never succeeds: only a file without a name needs this, and there are none on this system.
    package func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 { throw SystemFault.missing("open") }

    package func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus {
        let info = try facts(descriptor)
        return FileStatus(
            isRegular: info.st_mode & S_IFMT == S_IFREG, byteCount: Int(info.st_size),
            modified: Instant(microseconds: FileTimes(info).modified))
    }

    /// POSIX does not tell which file system a directory is on.
    package func isRemote(_ directory: Int32) -> Bool { true }

    package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
        try System.retrying("read") { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    package func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int {
        try System.retrying("write") { systemWrite(descriptor, bytes) }
    }

    package func synchronize(_ descriptor: Int32) throws(SystemFault) { try System.synchronize(descriptor) }

    package func close(_ descriptor: Int32) throws(SystemFault) {
        // The descriptor is closed even if close reports EINTR. Closing it again could close another thread's.
        guard systemClose(descriptor) != 0, errno != EINTR else { return }
        throw SystemFault("close", errno)
    }

    /// Never succeeds: there are no files without a name on this system.
    package func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) { throw SystemFault.missing("link") }

    package func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault) {
        _ = try System.retrying("link") { linkat(directory, name, directory, newName, 0) }
    }

    /// Never succeeds: POSIX's `rename` replaces an existing file.
    package func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
        throw SystemFault.missing("rename")
    }

    /// Never succeeds: the caller writes the bytes.
    package func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
        throw SystemFault.missing("copy_file_range")
    }

    package func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {}

    package func unlink(_ name: String, in directory: Int32) throws(SystemFault) {
        _ = try System.retrying("unlink") { unlinkat(directory, name, 0) }
    }

    package func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        do throws(SystemFault) {
            _ = try System.retrying("mkdir") { mkdirat(directory, name, 0o700) }
        } catch {
            // A killed run may have created the directory without sharing it yet.
            if error.isPresence { try share(name, in: directory) }
            throw error
        }
        try share(name, in: directory)
    }

    /// Gives a directory that this user owns the rights that its parent grants, if the parent is shared.
    private func share(_ name: String, in directory: Int32) throws(SystemFault) {
        let wanted = InheritedMode.ofFolder(in: try mode(of: directory))
        // Open it without following links, so that the mode is set only on a directory that is really here.
        guard wanted != InheritedMode.ofFolder(in: 0), let descriptor = try? open(name, in: directory, .directory) else { return }
        defer { _ = systemClose(descriptor) }
        let info = try facts(descriptor)
        if info.st_uid == geteuid(), UInt32(info.st_mode) & 0o7777 != wanted { try setMode(descriptor, wanted) }
    }

    package func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        _ = try System.retrying("rmdir") { unlinkat(directory, name, Int32(AT_REMOVEDIR)) }
    }

    package func names(in directory: Int32) throws(SystemFault) -> [String] {
        // Open the directory again: reading moves a position, which must not be shared with the caller's descriptor.
        let copy = try System.retrying("open") { openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let number = errno
            _ = systemClose(copy)
            throw SystemFault("opendir", number)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw SystemFault("readdir", errno) }
                return names
            }
            // SAFETY: readdir's entry lives until the next call on this stream, and d_name ends with a zero byte.
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            // The format contains no name that is not UTF-8.
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }
}

extension OpenPurpose {
    /// The flags of `open`; nil for a file without a name, which POSIX does not have.
    var flags: Int32? {
        switch self {
        case .read: O_RDONLY | O_NONBLOCK | O_NOCTTY
        case .directory: O_RDONLY | O_DIRECTORY
        case .create: O_RDWR | O_CREAT | O_EXCL
        case .createNameless: nil
        }
    }
}

// The C library's functions that the methods above shadow.
private func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int { write(descriptor, bytes.baseAddress, bytes.count) }
