#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Replaces a local file whole and durably: a reader sees the old bytes or the new ones. Not for the cloud, where nothing is replaced.
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
        guard isWanted() else { return false }
        guard rename(temporary, path) == 0 else { throw SystemFault("rename", errno) }
        isInPlace = true
        // The name is durable once its folder is; a folder that cannot be opened leaves that to the system.
        let folder = open(path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
        return true
    }
}
