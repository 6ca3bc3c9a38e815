#if canImport(Darwin)
    import Darwin

    extension System {
        /// On Darwin `fsync` leaves the bytes in the drive's cache. Where a file system has no F_FULLFSYNC, fsync is all there is.
        static func synchronizeOnce(_ descriptor: Int32) -> Int32 {
            fcntl(descriptor, F_FULLFSYNC) == 0 || (errno != EINTR && fsync(descriptor) == 0) ? 0 : -1
        }

        /// Opens a directory to look up names in it, for which the right to search it is enough.
        package static let searchOnly: Int32 = O_SEARCH

        static func modification(_ status: stat) -> timespec { status.st_mtimespec }
        static func access(_ status: stat) -> timespec { status.st_atimespec }

        /// Takes or releases the lock of an open file description on a whole file, without waiting.
        static func setLock(_ descriptor: Int32, isHeld: Bool) -> Int32 { flock(descriptor, isHeld ? LOCK_EX | LOCK_NB : LOCK_UN) }

        static func eraseMemory(_ bytes: UnsafeMutableRawBufferPointer) {
            if let start = bytes.baseAddress { _ = memset_s(start, bytes.count, 0, bytes.count) }
        }

        static func forbidDumps() {
            var none = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(RLIMIT_CORE, &none)
        }

        /// A signal whose action is the default one ends the process before Dispatch hears of it.
        static func leaveToDispatch(_ number: Int32) { signal(number, SIG_IGN) }

        /// `CommandLine.arguments` is right here.
        static var startArguments: UnsafePointer<UnsafeMutablePointer<CChar>?>? { nil }
    }
#endif
