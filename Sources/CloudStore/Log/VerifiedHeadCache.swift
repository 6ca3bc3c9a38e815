import Synchronization

/// Caches the ends of the histories that were verified last, so that a look that finds nothing new does not decode the last commit again.
///
/// The bytes are still read and hashed at every look. If the hash is known, the content has been verified.
package final class VerifiedHeadCache: Sendable {
    private static let limit = 16
    private let ends = Mutex<[ReplayedHistory]>([])

    package init() {}

    /// The log that ends with that commit, without records; nil if it is not in the cache.
    func end(at token: ChangeToken, of history: HistoryID) -> ReplayedHistory? {
        ends.withLock { ends in ends.first { $0.token == token && $0.history == history } }
    }

    /// Caches the end of a log that was verified.
    func remember(_ log: ReplayedHistory) {
        let end = log.end
        ends.withLock { ends in
            ends.removeAll { $0.token == end.token && $0.history == end.history }
            ends.insert(end, at: 0)
            if ends.count > Self.limit { ends.removeLast() }
        }
    }
}
