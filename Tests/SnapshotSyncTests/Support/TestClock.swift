import StrictText
import Synchronization

/// A clock that goes on by a second at each look, from the present on: clouds refuse one that is a day off their own.
final class TestClock: Sendable {
    private let microseconds = Mutex(Instant.now.microseconds)

    /// The time, in the form that engine and cloud take.
    var now: @Sendable () -> Instant {
        {
            self.microseconds.withLock { time in
                time += 1_000_000
                return Instant(microseconds: time)
            }
        }
    }

    /// Measures time by this clock, which goes on only where it is looked at: never by how fast the machine is.
    var stopwatch: @Sendable () -> @Sendable () -> Duration {
        {
            let begin = self.microseconds.withLock { $0 }
            return { .microseconds(self.microseconds.withLock { $0 } - begin) }
        }
    }

    /// Sets the clock forward or back.
    func move(bySeconds seconds: Int64) { microseconds.withLock { $0 += seconds * 1_000_000 } }
}
