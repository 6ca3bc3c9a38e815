import SnapshotVersions

/// Decides which results of a watch's runs become events: each problem once, and its end.
struct WatchNews: Sendable {
    /// How long runs may be postponed (by another run, or by a file that has not arrived) before this is reported.
    static let patience = Duration.seconds(10)

    private var reported: SyncError?
    private var failingSince: Duration?

    /// A run failed. Returns the event to report; nil if there is nothing new to report.
    mutating func failed(_ error: SyncError, at now: Duration) -> WatchEvent? {
        let since = failingSince ?? now
        failingSince = since
        if error.code == .tryAgainLater, now - since < Self.patience { return nil }
        if let reported, reported.code == error.code, reported.place == error.place, reported.reason == error.reason { return nil }
        reported = error
        return .failing(error)
    }

    /// A run succeeded. Returns the event to report; nil if there is nothing new to report.
    mutating func succeeded() -> WatchEvent? {
        failingSince = nil
        return reported.take() == nil ? nil : .recovered
    }
}
