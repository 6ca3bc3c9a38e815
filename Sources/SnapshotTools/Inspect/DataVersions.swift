import CloudStore
import SnapshotEngine
import SnapshotVersions

/// Which of a zone's newest versions changed data: what a device lacks that is behind. Pins, and what was pruned, are versions, too, and
/// nobody misses anything without them.
struct DataVersions: Sendable {
    /// The zone's newest version; 0 if it has none.
    private let newest: Int
    /// The first version that was looked at; those before it count as versions with data.
    private let first: Int
    /// The versions from the first on that changed data.
    private let numbers: [Int]
    /// The newest of the versions that were looked at which each device has published: a publisher need not report them.
    private var published: [String: Int] = [:]

    /// At most so many versions are looked at.
    private static let limit = 200

    /// Looks at the versions after the oldest of `held`.
    init(after held: [Int], upTo newest: ChangeToken?, in cloud: any CloudDatabase, _ zone: ZoneID) async throws {
        guard let newest, let oldest = held.filter({ $0 < newest.number }).min() else {
            (self.newest, first, numbers) = (newest?.number ?? 0, (newest?.number ?? 0) + 1, [])
            return
        }
        let commits = try await cloud.at(.fetch).commits(upTo: newest, count: min(newest.number - oldest, Self.limit), in: zone)
        self.newest = newest.number
        first = commits.first?.token.number ?? newest.number + 1
        numbers = commits.filter(\.changesData).map(\.token.number)
        for commit in commits where commit.changesData { published[commit.device] = commit.token.number }
    }

    /// The version that a device has: the one that it has reported, or published since.
    func held(by device: String, reported: Int?) -> Int? { published[device].map { max($0, reported ?? 0) } ?? reported }

    /// Every version as one with data, where they cannot be looked at.
    init(allUpTo newest: ChangeToken?) { (self.newest, first, numbers) = (newest?.number ?? 0, (newest?.number ?? 0) + 1, []) }

    /// How many versions with data came after that one.
    func count(after version: Int) -> Int { max(0, min(first - 1, newest) - version) + numbers.count { $0 > version } }
}
