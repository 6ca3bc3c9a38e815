public import StrictText
public import SyncRuns

/// The times that a watch waits.
public struct WatchOptions: Sendable, Hashable {
    /// The time from the last sync to the next one if there are no events.
    public var poll: Duration
    /// How long the database must be unchanged before the watch takes up changes that follow a run, so that a burst of writes causes two
    /// syncs at most. The first change after a quiet time is synced at once.
    public var debounce: Duration
    /// The longest time that continuous writes can postpone a sync.
    public var maximumDelay: Duration

    /// Creates options. The defaults are a poll every 30 s, a debounce of 20 ms, and a delay of at most 1 s.
    public init(poll: Duration = .seconds(30), debounce: Duration = .milliseconds(20), maximumDelay: Duration = .seconds(1)) {
        (self.poll, self.debounce, self.maximumDelay) = (poll, debounce, maximumDelay)
    }
}

/// The cause of a watch's sync.
public enum WatchCause: String, Sendable {
    /// The watch began.
    case start
    /// Rows of the database were changed.
    case database
    /// The cloud has changed or is available again, or the gate's decision may have changed.
    case cloud
    /// The poll was due.
    case poll
    /// The last run failed, and the watch tries again.
    case retry
}

/// An event of a watch.
public enum WatchEvent: Sendable {
    /// The watch of this database began.
    case started(database: String, poll: Duration)
    /// A run succeeded; most runs had no work.
    case synced(SyncReport, cause: WatchCause, took: Duration)
    /// Runs fail with this error. Reported once, and again if the error changes; the watch goes on.
    case failing(SyncError)
    /// Runs succeed again after a reported error.
    case recovered
    /// File system events may be missed for this reason, so the watch relies on the poll as well. Reported once for each reason.
    case polling(reason: String)
}
