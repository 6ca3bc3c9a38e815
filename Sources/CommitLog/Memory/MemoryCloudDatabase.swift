public import CloudStore
public import StrictText
import Synchronization

/// A cloud in this process's memory, with the whole contract: for tests, for previews, and as the second backend that keeps
/// the contract honest.
///
///     let cloud = MemoryCloudDatabase(container: "iCloud.org.example.app")
///
/// The bytes of its commits and checkpoints are those that a directory would hold. Nothing outlives the process.
public final class MemoryCloudDatabase: CloudDatabase {
    private let opened: CloudIdentity
    private let nonces: NonceSource
    private let ends = VerifiedHeadCache()
    private let contents = Mutex<[ZoneID: MemoryZone]>([:])
    private let now: @Sendable () -> Instant

    /// Makes an empty cloud.
    ///
    /// - Parameter now: the cloud's own clock, against which a publisher's is checked.
    public convenience init(container: String = "iCloud.org.example.memory", now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(container: container, now: now, nonces: .system)
    }

    /// Makes an empty cloud with other random names.
    package init(container: String, now: @escaping @Sendable () -> Instant, nonces: NonceSource) {
        opened = CloudIdentity(formatVersion: 1, uuid: nonces.uuid(), container: container)
        self.now = now
        self.nonces = nonces
    }

    public func identity() async throws -> CloudIdentity { opened }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try CloudNames.verify(zone)
        try CloudNames.verify(creator, isNameOf: "device")
        let info = ZoneInfo(id: zone, formatVersion: 1, features: [], creator: creator, publishers: publishers)
        return contents.withLock { zones in
            if let found = zones[zone] { return found.info }
            zones[zone] = MemoryZone(info: info, now: now)
            return info
        }
    }

    public func zone(_ zone: ZoneID) async throws -> ZoneInfo {
        try store(zone).zone.info
    }

    public func zones() async throws -> [ZoneInfo] {
        contents.withLock { $0.values.map(\.info) }
            .sorted { $0.id.description.utf8.lexicographicallyPrecedes($1.id.description.utf8) }
    }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try HistoryReader(source: store(zone)).changes(since: token)
    }

    public func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try HistoryReader(source: store(zone)).state(at: number, notBefore: token)
    }

    public func history(in zone: ZoneID) async throws -> [Commit] {
        try HistoryReader(source: store(zone)).all()
    }

    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try HistoryReader(source: store(zone)).commits(upTo: token, count: count)
    }

    public func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try publisher(zone).prepare(draft, after: token)
    }

    public func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try publisher(commit.zone).publish(commit)
    }

    public func newAsset(
        for record: String, number: Int, kind: AssetKind, in zone: ZoneID
    ) async throws -> sending any AssetWriter {
        try CloudNames.verify(record, isNameOf: "record")
        guard number > 0 else { throw CloudError(.invalidArguments, at: record, "commits are numbered from 1") }
        return MemoryAssetWriter(AssetPath(record: record, number: number, nonce: nonces.hex(8), kind: kind), into: try store(zone).zone)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try MemoryAssetReader(asset, in: try store(zone).zone)
    }

    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        guard let store = try? store(zone) else { return }
        for path in assets.compactMap({ AssetPath($0.path) }) {
            // As in a directory: what a commit names after all stays, and so does what cannot be judged.
            guard (try? HistoryReader(source: store).isNamed(path)) == false else { continue }
            store.zone.change { files in
                files.assets[path.path] = nil
                files.assets[path.indexPath] = nil
            }
        }
    }

    public func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try report.verify()
        try store(zone).zone.change { files in
            if let last = files.reports[report.device], !report.isNews(after: last) { return }
            files.reports[report.device] = report
        }
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try store(zone).zone.files.reports[device]
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try CloudNames.verify(device, isNameOf: "device")
        try store(zone).zone.change { $0.reports[device] = nil }
    }

    public func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] {
        try store(zone).zone.files.reports.values.sorted { $0.device.utf8.lexicographicallyPrecedes($1.device.utf8) }
    }
}

extension MemoryCloudDatabase {
    func publisher(_ zone: ZoneID) throws -> HistoryPublisher<MemoryStore> {
        let store = try store(zone)
        return HistoryPublisher(store: store, zone: store.zone.info, nonces: nonces)
    }

    func store(_ zone: ZoneID) throws(CloudError) -> MemoryStore {
        try CloudNames.verify(zone)
        guard let found = contents.withLock({ $0[zone] }) else {
            throw CloudError(.zoneNotFound, at: "\(zone)", "there is no such zone in this cloud", hint: "create the zone first")
        }
        return MemoryStore(history: HistoryID(cloud: opened.uuid, zone: zone), ends: ends, zone: found, now: now)
    }
}
