#if os(Linux)
    import CLinux
    #if canImport(Glibc)
        import Glibc
    #else
        import Musl
    #endif
    package import CloudStore
    package import Platform
    import StrictText

    /// Uses Linux's own calls where they are faster or safer than those of POSIX: files without a name, `openat2`, copies by the file
    /// system.
    package struct LinuxFileSystem: FileSystemCalls {
        private let base = POSIXFileSystem()
        private let hasOpenat2: Bool

        /// - Parameter hasOpenat2: false opens a path part by part, as on kernels before 5.6.
        package init(hasOpenat2: Bool = true) { self.hasOpenat2 = hasOpenat2 }

        package func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
            let descriptor = try openBeneath(path, in: directory, purpose.flags ?? O_RDWR | O_TMPFILE)
            return purpose == .create || purpose == .createNameless ? try base.sharing(descriptor, in: directory) : descriptor
        }

        private func openBeneath(_ path: String, in directory: Int32, _ flags: Int32) throws(SystemFault) -> Int32 {
            guard hasOpenat2 else { return try base.openStepByStep(path, in: directory, flags) }
            do throws(SystemFault) {
                return try System.retrying("open") { clinux_open_beneath(directory, path, flags, 0o600) }
            } catch {
                // Some container sandboxes return EPERM for a system call that they do not know.
                guard error.number == ENOSYS || error.number == EPERM else { throw error }
                return try base.openStepByStep(path, in: directory, flags)
            }
        }

        package func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 {
            try base.openPath("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
        }

        package func isRemote(_ directory: Int32) -> Bool { RemoteFileSystem.isRemote(directory) }

        package func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
            var position = off64_t(offset)
            return try System.retrying("copy_file_range") { copy_file_range(source, &position, descriptor, nil, byteCount, 0) }
        }

        package func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {
            // This call does not wait, so it cannot consume an error that fsync would have reported.
            _ = sync_file_range(descriptor, off64_t(offset), off64_t(byteCount), UInt32(SYNC_FILE_RANGE_WRITE))
        }

        package func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) {
            _ = try System.retrying("link") { linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", directory, name, AT_SYMLINK_FOLLOW) }
        }

        package func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
            _ = try System.retrying("rename") { renameat2(directory, name, directory, newName, UInt32(RENAME_NOREPLACE)) }
        }
    }

    // The calls for which Linux needs nothing beyond POSIX.
    extension LinuxFileSystem {
        package func openRoot(_ path: String) throws(SystemFault) -> Int32 { try base.openRoot(path) }
        package func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus { try base.status(descriptor) }
        package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
            try base.read(descriptor, into: buffer, at: offset)
        }
        package func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int { try base.write(descriptor, bytes) }
        package func synchronize(_ descriptor: Int32) throws(SystemFault) { try base.synchronize(descriptor) }
        package func close(_ descriptor: Int32) throws(SystemFault) { try base.close(descriptor) }
        package func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault) {
            try base.link(name, as: newName, in: directory)
        }
        package func unlink(_ name: String, in directory: Int32) throws(SystemFault) { try base.unlink(name, in: directory) }
        package func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault) { try base.makeDirectory(name, in: directory) }
        package func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault) { try base.removeDirectory(name, in: directory) }
        package func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemFault) { try base.setMode(descriptor, mode) }
        package func names(in directory: Int32) throws(SystemFault) -> [String] { try base.names(in: directory) }
    }
#endif
