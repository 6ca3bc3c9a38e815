import CloudStore
import StrictText

/// Up to when a zone has forgotten what was deleted.
///
/// Tombstones are dropped only by a commit that writes a snapshot asset and says so in its approvals: `tombstones:` and the
/// horizon. Before that instant an entity's absence may mean that it was deleted.
enum TombstoneHorizon {
    /// How old a tombstone must be by the last commit's clock and by the publisher's.
    static let ageInMicroseconds: Int64 = 90 * 86_400_000_000
    private static let prefix = "tombstones:"

    /// The instant before which a publisher may drop tombstones now; nil before the first commit.
    static func now(_ now: Instant, lastCommit: Instant?) -> Instant? {
        lastCommit.map { min(now, $0).advanced(byMicroseconds: -ageInMicroseconds) }
    }

    /// What a commit says that drops the tombstones before `horizon`.
    static func text(_ horizon: Instant) -> String { prefix + horizon.description }

    /// The horizon that approvals name; nil if they name none.
    static func named(in approvals: [String]) -> Instant? {
        approvals.compactMap { $0.hasPrefix(prefix) ? try? Instant(parsing: String($0.dropFirst(prefix.count))) : nil }.max()
    }

    /// The horizon for a device that reads these changes; nil if the cloud still knows of every deletion since the device was there.
    ///
    /// - Parameter wasPruned: whether commits that the device had not read are gone, and with them what they said.
    static func latest(in changes: ZoneChanges, wasPruned: Bool) -> Instant? {
        let named = changes.commits.compactMap { Self.named(in: $0.approvals) }.max()
        guard wasPruned, let last = changes.commits.last?.timestamp else { return named }
        return max(named ?? .distantPast, last.advanced(byMicroseconds: -ageInMicroseconds))
    }
}
