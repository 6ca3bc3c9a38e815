#if os(Linux)
    import CLinux
    import Foundation

    extension System {
        static func synchronizeOnce(_ descriptor: Int32) -> Int32 { fsync(descriptor) }

        /// The flag to open a directory only for looking up names in it, which needs no more than search permission.
        package static let searchOnly: Int32 = O_PATH

        /// The flags to open a folder with that make a file without a name in it, which cannot get one; nil if the system has none.
        static let openNameless: Int32? = O_TMPFILE | O_EXCL | O_RDWR

        static func fileSizeLimit(_ limit: inout rlimit) -> Int32 { getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) }

        static func modification(_ status: stat) -> timespec { status.st_mtim }

        /// Takes or releases the lock of an open file description on a whole file, without waiting. Unlike POSIX locks, this lock is not released
        /// when another descriptor of the same file is closed.
        static func setLock(_ descriptor: Int32, isHeld: Bool) -> Int32 {
            // F_OFD_SETLK, which is missing in Glibc's module map.
            let setLock: Int32 = 37
            var lock = flock()
            lock.l_type = Int16(isHeld ? F_WRLCK : F_UNLCK)
            lock.l_whence = Int16(SEEK_SET)
            return fcntl(descriptor, setLock, &lock)
        }

        static func eraseMemory(_ bytes: UnsafeMutableRawBufferPointer) {
            if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        }

        /// Gives all threads one heap, as a program does that ends soon. Glibc gives each thread its own, which grows by a page and a system call at a
        /// time. Call it before the second thread begins.
        package static func shareHeap() { clinux_share_heap() }

        static func forbidDumps() { _ = clinux_forbid_dumps() }

        /// Dispatch itself blocks the signals of its sources on Linux.
        static func leaveToDispatch(_ number: Int32) {}

        /// The process's arguments as the C library passes them to constructors; nil if it does not.
        static var startArguments: UnsafePointer<UnsafeMutablePointer<CChar>?>? { clinux_arguments().map { UnsafePointer($0) } }
    }
#endif
