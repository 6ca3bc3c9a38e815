import StrictText
import Synchronization

/// A clock that goes on by a second at each look.
final class TestClock: Sendable {
    private let microseconds = Mutex<Int64>(1_900_000_000_000_000)

    /// The time, in the form that engine and cloud take.
    var now: @Sendable () -> Instant {
        { self.microseconds.withLock { time in
            time += 1_000_000
            return Instant(microseconds: time)
        } }
    }

    /// Sets the clock forward or back.
    func move(bySeconds seconds: Int64) { microseconds.withLock { $0 += seconds * 1_000_000 } }
}
