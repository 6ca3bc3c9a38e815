#if canImport(Darwin)
    import Darwin

    extension System {
        /// On Darwin `fsync` leaves the bytes in the drive's cache, so this uses F_FULLFSYNC. If the file system does not support that, it uses
        /// fsync.
        static func synchronizeOnce(_ descriptor: Int32) -> Int32 {
            fcntl(descriptor, F_FULLFSYNC) == 0 || (errno != EINTR && fsync(descriptor) == 0) ? 0 : -1
        }

        /// The flag to open a directory only for looking up names in it, which needs no more than search permission.
        package static let searchOnly: Int32 = O_SEARCH

        static let openNameless: Int32? = nil

        static func fileSizeLimit(_ limit: inout rlimit) -> Int32 { getrlimit(RLIMIT_FSIZE, &limit) }

        static func modification(_ status: stat) -> timespec { status.st_mtimespec }

        /// Takes or releases the lock of an open file description on a whole file, without waiting.
        static func setLock(_ descriptor: Int32, isHeld: Bool) -> Int32 { flock(descriptor, isHeld ? LOCK_EX | LOCK_NB : LOCK_UN) }

        static func eraseMemory(_ bytes: UnsafeMutableRawBufferPointer) {
            if let start = bytes.baseAddress { _ = memset_s(start, bytes.count, 0, bytes.count) }
        }

        /// The threads of a program share one heap here.
        package static func shareHeap() {}

        static func forbidDumps() {
            var none = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(RLIMIT_CORE, &none)
        }

        /// A signal with the default action would end the process before Dispatch receives it.
        static func leaveToDispatch(_ number: Int32) { signal(number, SIG_IGN) }

        /// Nil, because `CommandLine.arguments` is correct on Darwin.
        static var startArguments: UnsafePointer<UnsafeMutablePointer<CChar>?>? { nil }
    }
#endif
