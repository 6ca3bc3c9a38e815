import CLinux
package import CloudStore
import CommitLog
package import Glibc
package import Platform
import StrictText

/// The system calls of Linux. Files are made 0600 and directories 0700, unless the directory above is shared (``DirectorySharing``).
package struct LinuxFileSystem: FileSystemCalls {
    private let hasOpenat2: Bool

    /// - Parameter hasOpenat2: false opens part by part, as on kernels before 5.6.
    package init(hasOpenat2: Bool = true) {
        self.hasOpenat2 = hasOpenat2
    }

    package func openRoot(_ path: String) throws(SystemFault) -> Int32 {
        try retrying("open") { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    }

    package func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
        let flags: Int32
        switch purpose {
        case .read: flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
        case .directory: flags = O_RDONLY | O_DIRECTORY
        case .create: flags = O_RDWR | O_CREAT | O_EXCL
        case .createNameless: flags = O_RDWR | O_TMPFILE
        }
        let descriptor = try retrying("open") {
            hasOpenat2 ? clinux_open_beneath(directory, path, flags, 0o600) : clinux_open_step_by_step(directory, path, flags, 0o600)
        }
        guard purpose == .create || purpose == .createNameless else { return descriptor }
        do throws(SystemFault) {
            let rights = DirectorySharing.modeOfFile(in: try mode(of: directory))
            if rights != DirectorySharing.modeOfFile(in: 0) { try setMode(descriptor, rights) }
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    package func setMode(_ descriptor: Int32, _ mode: mode_t) throws(SystemFault) {
        _ = try retrying("chmod") { fchmod(descriptor, mode) }
    }

    private func mode(of descriptor: Int32) throws(SystemFault) -> mode_t {
        var info = stat()
        _ = try retrying("fstat") { fstat(descriptor, &info) }
        return info.st_mode
    }

    package func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 {
        try retrying("open") { Glibc.open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC) }
    }

    package func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus {
        var info = stat()
        _ = try retrying("fstat") { fstat(descriptor, &info) }
        let modified = Int64(info.st_mtim.tv_sec) * 1_000_000 + Int64(info.st_mtim.tv_nsec) / 1000
        return FileStatus(
            isRegular: info.st_mode & S_IFMT == S_IFREG, byteCount: Int(info.st_size), modified: Instant(microseconds: modified))
    }

    package func isRemote(_ directory: Int32) -> Bool { RemoteFileSystem.isRemote(directory) }

    package func stamp(ofDirectory descriptor: Int32) throws(SystemFault) -> FolderStamp? {
        // There another machine's change may show late, at a coarse time, or not at all.
        guard !RemoteFileSystem.isRemote(descriptor) else { return nil }
        var info = stat()
        _ = try retrying("fstat") { fstat(descriptor, &info) }
        return FolderStamp(
            "\(info.st_dev).\(info.st_ino) \(info.st_mtim.tv_sec).\(info.st_mtim.tv_nsec) \(info.st_ctim.tv_sec).\(info.st_ctim.tv_nsec)")
    }

    package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
        try retrying("read") { pread(descriptor, buffer.baseAddress, buffer.count, offset) }
    }

    package func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int {
        try retrying("write") { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }

    package func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
        var position = off64_t(offset)
        return try retrying("copy_file_range") { copy_file_range(source, &position, descriptor, nil, byteCount, 0) }
    }

    package func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {
        // It waits for nothing, so it takes no error from fsync that fsync would have reported.
        _ = sync_file_range(descriptor, off64_t(offset), off64_t(byteCount), UInt32(SYNC_FILE_RANGE_WRITE))
    }

    package func synchronize(_ descriptor: Int32) throws(SystemFault) {
        _ = try retrying("fsync") { fsync(descriptor) }
    }

    package func close(_ descriptor: Int32) throws(SystemFault) {
        // On Linux the descriptor is gone even if close reports EINTR; closing it again could close somebody else's.
        guard Glibc.close(descriptor) != 0, errno != EINTR else { return }
        throw SystemFault("close", errno)
    }

    package func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) {
        _ = try retrying("link") { linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", directory, name, AT_SYMLINK_FOLLOW) }
    }

    package func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault) {
        _ = try retrying("link") { linkat(directory, name, directory, newName, 0) }
    }

    package func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
        _ = try retrying("rename") { renameat2(directory, name, directory, newName, UInt32(RENAME_NOREPLACE)) }
    }

    package func unlink(_ name: String, in directory: Int32) throws(SystemFault) {
        _ = try retrying("unlink") { unlinkat(directory, name, 0) }
    }

    package func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        do throws(SystemFault) {
            _ = try retrying("mkdir") { mkdirat(directory, name, 0o700) }
        } catch {
            // A run that was killed may have made it and not shared it yet.
            if error.isPresence { try share(name, in: directory) }
            throw error
        }
        try share(name, in: directory)
    }

    /// Gives a directory of this user's the rights that the directory above gives, if that one is shared.
    private func share(_ name: String, in directory: Int32) throws(SystemFault) {
        let wanted = DirectorySharing.modeOfFolder(in: try mode(of: directory))
        // Opened without following links: the mode is set on what is a directory here, and on nothing else.
        guard wanted != DirectorySharing.modeOfFolder(in: 0), let descriptor = try? open(name, in: directory, .directory) else { return }
        defer { _ = Glibc.close(descriptor) }
        var info = stat()
        _ = try retrying("fstat") { fstat(descriptor, &info) }
        if info.st_uid == geteuid(), info.st_mode & 0o7777 != wanted { try setMode(descriptor, wanted) }
    }

    package func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        _ = try retrying("rmdir") { unlinkat(directory, name, Int32(AT_REMOVEDIR)) }
    }

    package func names(in directory: Int32) throws(SystemFault) -> [String] {
        // A second description of the directory: reading it moves a position that the caller's descriptor must not share.
        let copy = try retrying("open") { openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let number = errno
            _ = Glibc.close(copy)
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
            // A name that is not UTF-8 is none of ours.
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }

    /// Makes a call again as long as a signal interrupts it.
    private func retrying<Value: SignedInteger>(_ call: String, _ body: () -> Value) throws(SystemFault) -> Value {
        while true {
            let value = body()
            if value >= 0 { return value }
            let number = errno
            guard number == EINTR else { throw SystemFault(call, number) }
        }
    }
}
