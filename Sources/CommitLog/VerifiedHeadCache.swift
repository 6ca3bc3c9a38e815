import CloudStore
import Synchronization

/// What is known of the commits that were verified last, so that a look that finds nothing new need not decode the last one again.
///
/// The bytes are read and hashed at every look all the same: a hash that is known stands for bytes that are known.
package final class VerifiedHeadCache: Sendable {
    private static let limit = 16
    private let ends = Mutex<[ReplayedHistory]>([])

    package init() {}

    /// The log that ends with that commit, without records; nil if it is not known.
    func end(at token: ChangeToken, of history: HistoryID) -> ReplayedHistory? {
        ends.withLock { ends in ends.first { $0.token == token && $0.history == history } }
    }

    /// Remembers where a log that was folded or verified ends.
    func remember(_ log: ReplayedHistory) {
        let end = log.end
        ends.withLock { ends in
            ends.removeAll { $0.token == end.token && $0.history == end.history }
            ends.insert(end, at: 0)
            if ends.count > Self.limit { ends.removeLast() }
        }
    }
}
