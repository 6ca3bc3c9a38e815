import Platform

extension Instant {
    /// The time by this machine's real-time clock.
    public static var now: Instant { Instant(microseconds: System.microsecondsSince1970) }
}
