/// When a watch looks at its database, and when it syncs: the rules alone, without clock, files or tasks.
///
/// Times are durations since any one beginning. Events note what may have happened; ``step(at:)`` says what to do now.
struct WatchSchedule: Sendable {
    /// What to do.
    enum Step: Hashable, Sendable {
        /// Nothing, until then or the next event.
        case wait(until: Duration)
        /// See whether the database has changes that no run has seen, and tell ``looked(found:at:)``.
        case look
        /// Sync, and tell ``succeeded(at:jitter:)`` or ``failed(retrying:at:jitter:)``.
        case sync(WatchCause)
    }

    private let options: WatchOptions
    /// Writes to the database's files that were not looked into yet.
    private var burst: (first: Duration, last: Duration)?
    /// The next look after one that found nothing.
    private var secondLook: (at: Duration, pause: Duration)?
    /// Why a sync is due at once.
    private var wanted: WatchCause? = .start
    private var pollAt: Duration = .zero
    /// How many runs have failed one after another, and when the next may begin.
    private var failures = 0
    private var notBefore: Duration = .zero

    /// A failed run is tried again after 0.1 s, and after twice as long each time, up to the poll.
    private static let firstRetry = Duration.milliseconds(100)
    /// A commit is visible only some time after its last write: SQLite syncs the file in between. The looks go on for that long.
    private static let lastLook = Duration.seconds(5)

    init(_ options: WatchOptions) { self.options = options }

    /// The database's files were written.
    mutating func databaseWritten(at now: Duration) {
        burst = (burst?.first ?? now, now)
    }

    /// Something came into the cloud.
    mutating func cloudChanged() {
        if wanted == nil { wanted = .cloud }
    }

    /// The cloud's directory itself changed; it may be back, so there is no reason to wait any longer.
    mutating func cloudMoved(at now: Duration) {
        cloudChanged()
        notBefore = min(notBefore, now + Self.firstRetry)
    }

    /// What to do at `now`.
    func step(at now: Duration) -> Step {
        if failures > 0 {
            // What is written meanwhile is no reason for haste; the next run takes it along.
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

    /// The database was looked at.
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

    /// A run begins: what was noted so far is its business.
    mutating func begins() {
        wanted = nil
        burst = nil
        secondLook = nil
    }

    /// A run ended well.
    ///
    /// - Parameter jitter: from 0 to 1: devices that began together shall not poll together.
    mutating func succeeded(at now: Duration, jitter: Double) {
        failures = 0
        notBefore = .zero
        pollAt = now + options.poll * (0.9 + 0.2 * jitter)
    }

    /// A run failed.
    ///
    /// - Parameter retrying: whether it may succeed with nothing changed; else it waits for the poll.
    mutating func failed(retrying: Bool, at now: Duration, jitter: Double) {
        failures += 1
        let doubled = Self.firstRetry * (1 << min(failures - 1, 20))
        let pause = retrying ? min(doubled, options.poll) * (0.5 + 0.5 * jitter) : options.poll
        notBefore = now + pause
        pollAt = notBefore
    }
}
