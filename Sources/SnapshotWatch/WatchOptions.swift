public import SnapshotEngine
public import SnapshotVersions

/// How a watch waits.
public struct WatchOptions: Sendable, Hashable {
    /// How long after the last look the next one is due, whatever the events say.
    public var poll: Duration
    /// How long the database must be left alone before a change of it is taken up: one sync for a burst of writes.
    public var debounce: Duration
    /// How long a steady stream of writes can put a sync off at most.
    public var maximumDelay: Duration

    /// By default: a poll every 30 s, a debounce of 20 ms, at most 1 s.
    public init(poll: Duration = .seconds(30), debounce: Duration = .milliseconds(20), maximumDelay: Duration = .seconds(1)) {
        self.poll = poll
        self.debounce = debounce
        self.maximumDelay = maximumDelay
    }
}

/// What made a watch sync.
public enum WatchCause: String, Sendable {
    /// It began.
    case start
    /// Rows of the database were changed.
    case database
    /// Something came into the cloud, or the cloud came back.
    case cloud
    /// Nothing but time.
    case poll
    /// The last run failed and may succeed now.
    case retry
}

/// What a watch has to say.
public enum WatchEvent: Sendable {
    /// It watches this database.
    case started(database: String, poll: Duration)
    /// A run ended well; most have done nothing.
    case synced(SyncReport, cause: WatchCause, took: Duration)
    /// Runs fail from now on with this error. Said once, and again when the error is another; the watch goes on.
    case failing(SyncError)
    /// Runs end well again after an error that was told.
    case recovered
    /// The file system's events do not tell everything, for this reason: the poll does the rest. Said once.
    case polling(reason: String)
}
