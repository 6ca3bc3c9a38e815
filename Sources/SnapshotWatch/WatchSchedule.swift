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

    /// The writes to the database's files since the debounce last ended.
    private struct Burst {
        let first: Duration
        var last: Duration
        /// Whether the next commit waits for the debounce.
        var isJoined: Bool
    }

    private let options: WatchOptions
    private var burst: Burst?
    /// The next check beside the one that the debounce asks for: at once after a first commit, or again because a check found nothing.
    private var nextLook: (at: Duration, pause: Duration)?
    /// Until then, changes wait for the debounce: a run has just ended. The watch's first run does not count.
    private var joinsUntil: Duration = .zero
    private var isFirstRun = false
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
    /// The pause after a check that came before the commit was visible. It doubles with each check.
    private static let firstPause = Duration.milliseconds(1)

    init(_ options: WatchOptions) { self.options = options }

    /// Records that the database's files were written.
    ///
    /// - Parameter mayBeCommit: whether a transaction may have ended with this write. The first one after a quiet time is checked at once; the
    ///   debounce joins those that follow it or a run.
    mutating func databaseWritten(at now: Duration, mayBeCommit: Bool) {
        var writes = burst ?? Burst(first: now, last: now, isJoined: now < joinsUntil)
        writes.last = now
        if mayBeCommit, !writes.isJoined {
            writes.isJoined = true
            nextLook = (now, .zero)
        }
        burst = writes
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
        guard let debounced = debounceEnds, let next = nextLook?.at else { return debounceEnds ?? nextLook?.at }
        return min(debounced, next)
    }

    private var debounceEnds: Duration? { burst.map { min($0.last + options.debounce, $0.first + options.maximumDelay) } }

    /// Records the result of checking the database.
    mutating func looked(found: Bool, at now: Duration) {
        let isDebounced = debounceEnds.map { $0 <= now } ?? false
        if isDebounced || found { burst = nil }
        if found {
            nextLook = nil
            wanted = wanted ?? .database
            return
        }
        let longest = max(options.debounce, .milliseconds(10))
        var pause = nextLook.map { max($0.pause * 2, Self.firstPause) } ?? longest
        // New writes: what was not found before them says nothing of how long they take.
        if isDebounced { pause = min(pause, longest) }
        nextLook = pause > Self.lastLook ? nil : (now + pause, pause)
    }

    /// Records that a run begins. The run handles everything that was recorded so far.
    mutating func begins() {
        isFirstRun = wanted == .start
        wanted = nil
        burst = nil
        nextLook = nil
    }

    /// Records that a run succeeded.
    ///
    /// - Parameter jitter: from 0 to 1, so that devices that started together do not poll together.
    mutating func succeeded(at now: Duration, jitter: Double) {
        failures = 0
        if !isFirstRun { joinsUntil = now + options.debounce }
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
