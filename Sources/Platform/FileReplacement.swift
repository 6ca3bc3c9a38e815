#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Replaces or makes a local file whole and durably: a reader sees the old bytes or the new ones. Not for the cloud, where nothing is replaced.
package enum FileReplacement {
    /// Writes bytes to a new file in the same folder and gives it the file's name.
    ///
    /// - Parameters:
    ///   - temporary: a path in the folder of `path` that nothing has.
    ///   - mode: the permissions of the new file, less what the process masks.
    ///   - original: a file whose owner and whole mode the new one gets, as far as the process may give them.
    ///   - isWanted: asked last, before the new file gets its name; on false the old one stays.
    /// - Returns: whether the file was replaced.
    /// - Throws: ``SystemFault`` of `open`, `write`, `fsync` or `rename`; the old file is as it was, and nothing lies beside it.
    package static func replace(
        _ path: String, by bytes: UnsafeRawBufferPointer, through temporary: String, mode: UInt16, like original: String? = nil,
        isWanted: () -> Bool = { true }
    ) throws(SystemFault) -> Bool {
        try place(bytes, at: path, through: temporary, mode: mode, like: original) { () throws(SystemFault) -> Bool in
            guard isWanted() else { return false }
            guard rename(temporary, path) == 0 else { throw SystemFault("rename", errno) }
            return true
        }
    }

    /// Writes a new file as ``replace(_:by:through:mode:like:isWanted:)`` does, unless something has its name already.
    ///
    /// - Returns: whether the file was made; false if the name is taken, also by another process just now.
    /// - Throws: ``SystemFault`` of `open`, `write`, `fsync` or `link`; nothing lies beside the file.
    package static func create(_ path: String, with bytes: UnsafeRawBufferPointer, through temporary: String, mode: UInt16) throws(SystemFault) -> Bool {
        try place(bytes, at: path, through: temporary, mode: mode, like: nil) { () throws(SystemFault) -> Bool in
            defer { System.unlink(temporary) }
            if link(temporary, path) == 0 { return true }
            guard errno == EEXIST else { throw SystemFault("link", errno) }
            return false
        }
    }

    /// Makes a folder and those above it that are not there, each durable in the one above it.
    package static func createFolder(_ path: String, mode: UInt16) throws(SystemFault) {
        if mkdir(path, mode_t(mode)) != 0 {
            guard errno == ENOENT else {
                guard errno == EEXIST else { throw SystemFault("mkdir", errno) }
                return
            }
            guard let above = folder(of: path), above != path else { throw SystemFault("mkdir", ENOENT) }
            try createFolder(above, mode: mode)
            guard mkdir(path, mode_t(mode)) == 0 || errno == EEXIST else { throw SystemFault("mkdir", errno) }
        }
        synchronizeFolder(of: path)
    }

    /// - Parameter name: gives the temporary file its name; on false it is removed.
    private static func place(
        _ bytes: UnsafeRawBufferPointer, at path: String, through temporary: String, mode: UInt16, like original: String?,
        _ name: () throws(SystemFault) -> Bool
    ) throws(SystemFault) -> Bool {
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        guard descriptor >= 0 else { throw SystemFault("open", errno) }
        var isInPlace = false
        defer { if !isInPlace { System.unlink(temporary) } }
        do {
            defer { close(descriptor) }
            var status = stat()
            if let original, stat(original, &status) == 0 {
                fchmod(descriptor, status.st_mode & 0o7777)
                // Only root may give a file away; for anybody else the owner is the same as it was.
                _ = fchown(descriptor, status.st_uid, status.st_gid)
            }
            var rest = bytes
            while !rest.isEmpty {
                let count = try System.retrying("write") { write(descriptor, rest.baseAddress, rest.count) }
                // A write of nothing sets no error number: the room has run out.
                guard count > 0 else { throw SystemFault("write", ENOSPC) }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
            try System.synchronize(descriptor)
        }
        guard try name() else { return false }
        isInPlace = true
        synchronizeFolder(of: path)
        return true
    }

    private static func folder(of path: String) -> String? {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
    }

    /// A name is durable once its folder is; a folder that cannot be opened leaves that to the system.
    private static func synchronizeFolder(of path: String) {
        let folder = open(folder(of: path) ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }
}
