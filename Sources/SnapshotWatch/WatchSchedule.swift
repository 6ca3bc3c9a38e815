/// Decides when a watch checks its database and when it syncs. It contains only the rules, without a clock, files or tasks.
///
/// Times are durations since an arbitrary start. Events record what may have happened; ``step(at:)`` returns what to do now.
struct WatchSchedule: Sendable {
    /// The next action.
    enum Step: Hashable, Sendable {
        /// Wait until this time or the next event.
        case wait(until: Duration)
        /// Check whether the database has changes that no run has seen, and call ``looked(found:at:)``.
        case look
        /// Sync, and call ``succeeded(at:jitter:)`` or ``failed(retrying:at:jitter:)``.
        case sync(WatchCause)
    }

    private let options: WatchOptions
    /// The times of the first and last write to the database's files since the last check.
    private var burst: (first: Duration, last: Duration)?
    /// The next check after one that found nothing.
    private var secondLook: (at: Duration, pause: Duration)?
    /// The cause of a sync that is due at once.
    private var wanted: WatchCause? = .start
    private var pollAt: Duration = .zero
    /// The number of consecutive failed runs; `notBefore` is the time of the next attempt.
    private var failures = 0
    private var notBefore: Duration = .zero

    /// The delay before the first retry. It doubles with each failure, up to the poll.
    private static let firstRetry = Duration.milliseconds(100)
    /// A commit becomes visible only some time after its last write, because SQLite syncs the file in between. The checks continue for this long.
    private static let lastLook = Duration.seconds(5)

    init(_ options: WatchOptions) { self.options = options }

    /// Records that the database's files were written.
    mutating func databaseWritten(at now: Duration) {
        burst = (burst?.first ?? now, now)
    }

    /// Records that the cloud has changed.
    mutating func cloudChanged() {
        if wanted == nil { wanted = .cloud }
    }

    /// Records that the cloud's directory itself changed. The cloud may be available again, so the schedule stops waiting.
    mutating func cloudMoved(at now: Duration) {
        cloudChanged()
        notBefore = min(notBefore, now + Self.firstRetry)
    }

    /// Returns what to do at `now`.
    func step(at now: Duration) -> Step {
        if failures > 0 {
            // Changes in the meantime do not bring the retry forward. The next run handles them.
            return now >= notBefore ? .sync(wanted == .cloud ? .cloud : .retry) : .wait(until: notBefore)
        }
        if let wanted { return .sync(wanted) }
        if now >= pollAt { return .sync(.poll) }
        guard let look = lookAt else { return .wait(until: pollAt) }
        return now >= look ? .look : .wait(until: min(look, pollAt))
    }

    private var lookAt: Duration? {
        let first = burst.map { min($0.last + options.debounce, $0.first + options.maximumDelay) }
        guard let first, let second = secondLook?.at else { return first ?? secondLook?.at }
        return min(first, second)
    }

    /// Records the result of checking the database.
    mutating func looked(found: Bool, at now: Duration) {
        let pause = (burst == nil ? secondLook.map { $0.pause * 2 } : nil) ?? max(options.debounce, .milliseconds(10))
        burst = nil
        if found {
            secondLook = nil
            wanted = wanted ?? .database
        } else {
            secondLook = pause > Self.lastLook ? nil : (now + pause, pause)
        }
    }

    /// Records that a run begins. The run handles everything that was recorded so far.
    mutating func begins() {
        wanted = nil
        burst = nil
        secondLook = nil
    }

    /// Records that a run succeeded.
    ///
    /// - Parameter jitter: from 0 to 1, so that devices that started together do not poll together.
    mutating func succeeded(at now: Duration, jitter: Double) {
        failures = 0
        notBefore = .zero
        pollAt = now + options.poll * (0.9 + 0.2 * jitter)
    }

    /// Records that a run failed.
    ///
    /// - Parameter retrying: whether a retry may succeed without any change; otherwise the schedule waits for the poll.
    mutating func failed(retrying: Bool, at now: Duration, jitter: Double) {
        failures += 1
        let doubled = Self.firstRetry * (1 << min(failures - 1, 20))
        let pause = retrying ? min(doubled, options.poll) * (0.5 + 0.5 * jitter) : options.poll
        notBefore = now + pause
        pollAt = notBefore
    }
}
