#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Instant {
    /// The time by this machine's real-time clock.
    public static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}
