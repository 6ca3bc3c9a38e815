#if os(Linux)
    import CLinux
    import Foundation
    package import Platform
    import StrictText

    /// Uses Linux's own calls where they are faster or safer than those of POSIX: files without a name, `openat2`, copies by the file
    /// system.
    ///
    // SAFETY (@unchecked Sendable): constant.
    package final class LinuxFileSystem: POSIXFileSystem, @unchecked Sendable {
        private let hasOpenat2: Bool

        /// - Parameter hasOpenat2: false opens a path part by part, as on kernels before 5.6.
        package init(hasOpenat2: Bool = true) { self.hasOpenat2 = hasOpenat2 }

        package override func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
            let descriptor = try openBeneath(path, in: directory, purpose.flags ?? O_RDWR | O_TMPFILE)
            return purpose == .create || purpose == .createNameless ? try sharing(descriptor, in: directory) : descriptor
        }

        private func openBeneath(_ path: String, in directory: Int32, _ flags: Int32) throws(SystemFault) -> Int32 {
            guard hasOpenat2 else { return try openStepByStep(path, in: directory, flags) }
            do throws(SystemFault) {
                return try System.retrying("open") { clinux_open_beneath(directory, path, flags, 0o600) }
            } catch {
                // Some container sandboxes return EPERM for a system call that they do not know.
                guard error.number == ENOSYS || error.number == EPERM else { throw error }
                return try openStepByStep(path, in: directory, flags)
            }
        }

        package override func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 {
            try openPath("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
        }

        package override func isRemote(_ directory: Int32) -> Bool { RemoteFileSystem.isRemote(directory) }

        package override func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
            var position = off64_t(offset)
            return try System.retrying("copy_file_range") { copy_file_range(source, &position, descriptor, nil, byteCount, 0) }
        }

        package override func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {
            // This call does not wait, so it cannot consume an error that fsync would have reported.
            _ = sync_file_range(descriptor, off64_t(offset), off64_t(byteCount), UInt32(SYNC_FILE_RANGE_WRITE))
        }

        package override func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) {
            _ = try System.retrying("link") { linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", directory, name, AT_SYMLINK_FOLLOW) }
        }

        package override func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
            _ = try System.retrying("rename") { renameat2(directory, name, directory, newName, UInt32(RENAME_NOREPLACE)) }
        }
    }
#endif
