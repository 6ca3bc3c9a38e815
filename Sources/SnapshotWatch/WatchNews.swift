import SnapshotVersions

/// What of a watch's runs is worth telling: each trouble once, and its end.
struct WatchNews: Sendable {
    /// How long a run may be put off (by another one, by a file that has not arrived) before that is worth a word.
    static let patience = Duration.seconds(10)

    private var reported: SyncError?
    private var failingSince: Duration?

    /// A run failed: the event to tell, if it is news.
    mutating func failed(_ error: SyncError, at now: Duration) -> WatchEvent? {
        let since = failingSince ?? now
        failingSince = since
        if error.code == .tryAgainLater, now - since < Self.patience { return nil }
        if let reported, reported.code == error.code, reported.place == error.place, reported.reason == error.reason { return nil }
        reported = error
        return .failing(error)
    }

    /// A run ended well: the event to tell, if it is news.
    mutating func succeeded() -> WatchEvent? {
        failingSince = nil
        return reported.take() == nil ? nil : .recovered
    }
}
