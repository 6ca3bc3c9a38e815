#if os(Linux)
    import CLinux
    #if canImport(Glibc)
        import Glibc
    #else
        import Musl
    #endif

    extension System {
        static func synchronizeOnce(_ descriptor: Int32) -> Int32 { fsync(descriptor) }

        /// Opens a directory to look up names in it, for which the right to search it is enough.
        package static let searchOnly: Int32 = O_PATH

        static func modification(_ status: stat) -> timespec { status.st_mtim }
        static func access(_ status: stat) -> timespec { status.st_atim }

        /// Takes or releases the lock of an open file description on a whole file, without waiting. The lock does not end when another
        /// descriptor of the same file is closed, as the locks of POSIX do.
        static func setLock(_ descriptor: Int32, isHeld: Bool) -> Int32 {
            // F_OFD_SETLK, which Glibc's module leaves out.
            let setLock: Int32 = 37
            var lock = flock()
            lock.l_type = Int16(isHeld ? F_WRLCK : F_UNLCK)
            lock.l_whence = Int16(SEEK_SET)
            return fcntl(descriptor, setLock, &lock)
        }

        static func eraseMemory(_ bytes: UnsafeMutableRawBufferPointer) {
            if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        }

        static func forbidDumps() { _ = clinux_forbid_dumps() }

        /// Dispatch itself blocks the signals of its sources.
        static func leaveToDispatch(_ number: Int32) {}

        /// The process's arguments as the C library hands them to constructors; nil where it does not.
        static var startArguments: UnsafePointer<UnsafeMutablePointer<CChar>?>? { clinux_arguments().map { UnsafePointer($0) } }
    }
#endif
