public import CloudStore
public import StrictText
import Synchronization

/// A cloud in this process's memory that implements the whole contract: for tests and previews, and as a second backend that shows that the
/// contract does not depend on files.
///
///     let cloud = MemoryCloudDatabase(container: "iCloud.org.example.app")
///
/// Its commits and checkpoints have the same bytes as in a directory cloud. Nothing outlives the process.
public final class MemoryCloudDatabase: CloudDatabase {
    private let opened: CloudIdentity
    private let nonces: NonceSource
    private let ends = VerifiedHeadCache()
    package let authorities = ZoneAuthorities()
    private let contents: Contents
    private let now: @Sendable () -> Instant

    /// Makes an empty cloud.
    ///
    /// - Parameter now: the cloud's own clock. A publisher's clock is checked against it.
    public convenience init(container: String = "iCloud.org.example.memory", now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(container: container, now: now, nonces: .system)
    }

    /// Makes an empty cloud with a given source of random names.
    package init(container: String, now: @escaping @Sendable () -> Instant, nonces: NonceSource) {
        opened = CloudIdentity(formatVersion: 1, uuid: nonces.uuid(), container: container)
        self.now = now
        self.nonces = nonces
        contents = Contents()
    }

    /// A cloud with the same zones, for another device of this process.
    private init(sharing other: MemoryCloudDatabase) {
        (opened, now, nonces, contents) = (other.opened, other.now, other.nonces, other.contents)
    }

    /// The zones, which all devices of this process share.
    private final class Contents: Sendable {
        let zones = Mutex<[ZoneID: MemoryZone]>([:])
    }

    public func identity() async throws -> CloudIdentity { opened }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try createZone(zone, ZoneMarker(creator: creator, publishers: publishers))
    }

    private func createZone(_ zone: ZoneID, _ marker: ZoneMarker) throws -> ZoneInfo {
        try CloudNames.verify(zone)
        try CloudNames.verify(marker.creator, isNameOf: "device")
        let info = try ZoneMarker.info(of: zone, from: marker.bytes(), at: "\(zone)/\(ZoneMarker.fileName)")
        return contents.zones.withLock { zones in
            if let found = zones[zone] { return found.info }
            zones[zone] = MemoryZone(info: info, now: now)
            return info
        }
    }

    public func zone(_ zone: ZoneID) async throws -> ZoneInfo {
        try store(zone).zone.info
    }

    public func zones() async throws -> [ZoneInfo] {
        contents.zones.withLock { $0.values.map(\.info) }
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
        let store = try store(zone)
        try store.authority.verifySealing(in: store.history)
        return MemoryAssetWriter(AssetPath(record: record, number: number, nonce: nonces.hex(8), kind: kind), into: store.zone)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try MemoryAssetReader(asset, in: try store(zone).zone)
    }

    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        guard let store = try? store(zone) else { return }
        for path in assets.compactMap({ AssetPath($0.path) }) {
            // As in a directory cloud, an asset stays if a commit names it after all, or if that cannot be determined.
            guard (try? HistoryReader(source: store).isNamed(path)) == false else { continue }
            store.zone.change { files in
                files.assets[path.path] = nil
                files.assets[path.indexPath] = nil
            }
        }
    }

    public func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try report.verify()
        let store = try store(zone), keys = store.history.isSigned ? try store.authority.signer() : nil
        let made = MemoryFiles.Report(bytes: try report.bytes(of: store.history, by: keys), key: keys?.publicKeys.signing)
        store.zone.change { files in
            let own = files.reports[report.device]?.first { $0.key == made.key }
            if let last = own.flatMap({ try? DeviceReport($0.bytes, of: report.device, in: store.history, at: "\(zone)") }), !report.isNews(after: last) {
                return
            }
            files.reports[report.device] = (files.reports[report.device] ?? []).filter { $0.key != made.key } + [made]
        }
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        let store = try store(zone), reports = store.zone.files.reports[device] ?? []
        return ReportReader(store).newest(of: device, Array(reports.indices)) { (reports[$0].bytes, "\(zone)") }
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try CloudNames.verify(device, isNameOf: "device")
        try store(zone).zone.change { $0.reports[device] = nil }
    }

    public func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] {
        let store = try store(zone), reader = ReportReader(store)
        return reports(in: store) { name, reports in reader.newest(of: name, Array(reports.indices)) { (reports[$0].bytes, "\(zone)") } }
    }

    private func reports(in store: MemoryStore, _ pick: (String, [MemoryFiles.Report]) -> DeviceReport?) -> [DeviceReport] {
        store.zone.files.reports.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.compactMap { pick($0.key, $0.value) }
    }
}

extension MemoryCloudDatabase: SigningCloud {
    package func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, protection: ZoneProtection) async throws -> ZoneInfo {
        try createZone(zone, ZoneMarker(creator: creator, publishers: publishers, protection: protection))
    }

    package func forOneDevice() -> any SigningCloud { MemoryCloudDatabase(sharing: self) }

    package func members(in zone: ZoneID) async throws -> MemberList? { try HistoryReader(source: store(zone)).newestMembers() }

    package func joinRequests(in zone: ZoneID) async throws -> [DeviceReport] {
        let store = try store(zone), reader = ReportReader(store)
        return reports(in: store) { name, reports in reader.request(of: name, Array(reports.indices)) { (reports[$0].bytes, "\(zone)") } }
    }
}

extension MemoryCloudDatabase {
    func publisher(_ zone: ZoneID) throws -> HistoryPublisher<MemoryStore> {
        let store = try store(zone)
        return HistoryPublisher(store: store, zone: store.zone.info, nonces: nonces)
    }

    func store(_ zone: ZoneID) throws(CloudError) -> MemoryStore {
        try CloudNames.verify(zone)
        guard let found = contents.zones.withLock({ $0[zone] }) else {
            throw CloudError(.zoneNotFound, at: "\(zone)", "there is no such zone in this cloud", hint: "create the zone first")
        }
        return MemoryStore(
            history: HistoryID(cloud: opened.uuid, zone: zone, protection: found.info.protection), ends: ends,
            authority: try authorities.authority(of: found.info), zone: found, now: now)
    }
}
