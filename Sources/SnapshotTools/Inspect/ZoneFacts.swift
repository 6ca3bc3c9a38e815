import CloudStore
import LocalTables
import SnapshotEngine
import SnapshotVersions
import StrictText
import SyncRuns

/// The state of a zone: its newest version, its records and its devices.
struct ZoneFacts: Sendable {
    let newest: ChangeToken?
    let state: ZoneState
    let reports: [DeviceReport]
    let versions: DataVersions
    /// The signature of the zone; nil if it is not signed.
    let signature: SignatureReport?

    init(_ context: SyncContext) async throws {
        let news = try await context.fetchUpstreamChanges(), newest = news.changes.token
        self.newest = newest
        state = try await context.cloud.records(in: context.zone, at: newest?.number, notBefore: nil)
        reports = try await context.cloud.deviceReports(in: context.zone)
        let signed = context.signedZone
        signature = if let signed { try await SignatureReport(signed.cloud, context.zone, own: signed.authority.knowledge.own) } else { nil }
        versions = try await DataVersions(
            after: [news.applied?.number ?? 0] + reports.map { $0.token?.number ?? 0 }, upTo: newest, in: context.cloud, context.zone)
    }

    /// The size of a record's newest snapshot asset, in bytes; nil if there is none.
    func assetSize(of record: String) -> Int? {
        state.record(record).flatMap(DatasetRecord.init)?.dataFile.byteCount
    }
}

/// The zone's newest versions that changed data, to tell how far a device is behind. A version that only pins or prunes does not count, because
/// a device lacks nothing without it.
struct DataVersions: Sendable {
    /// The zone's newest version; 0 if it has none.
    private let newest: Int
    /// The first version that was read; all versions before it count as versions with data.
    private let first: Int
    /// The versions that changed data, among those that were read.
    private let numbers: [Int]
    /// For each device, the newest version among those read that it published. A publisher may have no newer report.
    private var published: [String: Int] = [:]

    /// The maximum number of versions that are read.
    private static let limit = 200

    /// Reads the versions after the oldest of `held`.
    init(after held: [Int], upTo newest: ChangeToken?, in cloud: CloudDatabase, _ zone: ZoneID) async throws {
        guard let newest, let oldest = held.filter({ $0 < newest.number }).min() else {
            (self.newest, first, numbers) = (newest?.number ?? 0, (newest?.number ?? 0) + 1, [])
            return
        }
        let commits = try await cloud.commits(upTo: newest, count: min(newest.number - oldest, Self.limit), in: zone)
        self.newest = newest.number
        first = commits.first?.token.number ?? newest.number + 1
        numbers = commits.filter(\.changesData).map(\.token.number)
        for commit in commits where commit.changesData { published[commit.device] = commit.token.number }
    }

    /// The version that a device has: the one that it reported, or a later one that it published.
    func held(by device: String, reported: Int?) -> Int? { published[device].map { max($0, reported ?? 0) } ?? reported }

    /// Counts every version as one with data; for use when the commits cannot be read.
    init(allUpTo newest: ChangeToken?) { (self.newest, first, numbers) = (newest?.number ?? 0, (newest?.number ?? 0) + 1, []) }

    /// The number of versions with data after this version.
    func count(after version: Int) -> Int { max(0, min(first - 1, newest) - version) + numbers.count { $0 > version } }
}
