import Foundation

/// Replaces or creates a local file atomically and durably: a reader sees the old bytes or the new ones. Not for the cloud, where files are never
/// replaced.
package enum FileReplacement {
    /// Writes the bytes to a temporary file in the same folder and renames it to `path`.
    ///
    /// - Parameters:
    ///   - temporary: an unused path in the folder of `path`.
    ///   - mode: the permissions of the new file, less the process's umask.
    ///   - original: a file whose owner and mode the new file gets, as far as the process may set them.
    /// - Throws: ``SystemFault`` of `open`, `write`, `fsync` or `rename`. Then the old file is unchanged and the temporary file is removed.
    package static func replace(
        _ path: String, by bytes: UnsafeRawBufferPointer, through temporary: String, mode: UInt16, like original: String? = nil
    ) throws(SystemFault) {
        _ = try place(bytes, at: path, through: temporary, mode: mode, like: original) { () throws(SystemFault) -> Bool in
            guard rename(temporary, path) == 0 else { throw SystemFault("rename", errno) }
            return true
        }
    }

    /// Writes a new file like ``replace(_:by:through:mode:like:)``, unless `path` exists.
    ///
    /// - Returns: whether the file was created; false if the path exists, even if another process has just created it.
    /// - Throws: ``SystemFault`` of `open`, `write`, `fsync` or `link`. Then the temporary file is removed.
    package static func create(_ path: String, with bytes: UnsafeRawBufferPointer, through temporary: String, mode: UInt16) throws(SystemFault) -> Bool {
        try place(bytes, at: path, through: temporary, mode: mode, like: nil) { () throws(SystemFault) -> Bool in
            defer { System.unlink(temporary) }
            if link(temporary, path) == 0 { return true }
            guard errno == EEXIST else { throw SystemFault("link", errno) }
            return false
        }
    }

    /// Creates a folder and its missing parents, each durably.
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

    /// - Parameter name: renames or links the temporary file to its final name; if it returns false, the temporary file is removed.
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
                // Only root may change the owner of a file; for any other process the owner is the same already.
                _ = fchown(descriptor, status.st_uid, status.st_gid)
            }
            var rest = bytes
            while !rest.isEmpty {
                let count = try System.retrying("write") { write(descriptor, rest.baseAddress, rest.count) }
                // A write of zero bytes sets no errno. The disk is full.
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
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
    }

    /// Makes a new name durable by an fsync of its folder. If the folder cannot be opened, the system decides when the name becomes durable.
    package static func synchronizeFolder(of path: String) {
        let folder = open(folder(of: path) ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }
}
