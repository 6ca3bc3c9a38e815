import CloudStore
import CommitLog
import DirectoryCloud
import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotFormat
public import SnapshotModel
import SnapshotVersions
import StrictText

/// Looks into a zone and changes nothing: its history, the contents of any kept version, and whether all of it is sound.
public struct SnapshotInspector: Sendable {
    let cloud: any CloudDatabase
    let zone: ZoneID
    let applied: AppliedVersion?
    let device: SyncContext?

    init(cloud: any CloudDatabase, zone: ZoneID, applied: AppliedVersion?, device: SyncContext?) {
        self.cloud = cloud
        self.zone = zone
        self.applied = applied
        self.device = device
    }

    /// Looks into a cloud directory without any database.
    public init(cloud path: String, zone: String = "ZentikSyncZone") throws {
        self.init(cloud: try SyncError.at(.open) { try CloudLocation.open(path) }, zone: ZoneID(zone), applied: nil, device: nil)
    }

    /// The zone's kept versions, newest first.
    public func history(limit: Int? = nil) async throws -> HistoryReport {
        let commits = try await cloud.at(.fetch).history(in: zone)
        let newestFirst = commits.reversed().prefix(limit ?? .max)
        let pins = commits.isEmpty ? [] : try await cloud.at(.fetch).records(in: zone, at: nil, notBefore: nil).pins
        return HistoryReport(
            zone: zone.name, newestVersion: commits.last?.token.number, versions: newestFirst.map(HistoryReport.Version.init),
            pins: pins.reversed().map { pin in HistoryReport.Pin(pin, isPruned: !commits.contains { $0.token.number == pin.version }) },
            forks: try await forks())
    }

    /// Writes the JSON container of a dataset, whole, as of a version (the newest, if nil); every byte is checked first.
    public func writeContainer(of dataset: String, version: Int? = nil, to write: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        try await WorkerThreads.host {
            let state = try await records(at: version)
            let record = try find(dataset, in: state)
            let version = try await DatasetVersion(record, in: cloud, zone: zone)
            try version.writeContainer(to: write)
        }
    }

    /// Reads a dataset as of a version (the newest, if nil) into Swift values; every byte is checked first.
    ///
    ///     let container = try await engine.inspector().container(of: NotificationsDataContainer.self, version: 7)
    ///
    /// Memory: the whole dataset, as text and as values.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the version has no such dataset, `.dataRefused` if it is damaged or its entities are not what
    ///   the type says.
    public func container<Container: DatasetContainer>(of type: Container.Type, version: Int? = nil) async throws -> Container {
        var text = Data()
        try await writeContainer(of: Container.dataset, version: version) { text.append(contentsOf: $0) }
        do {
            return try JSONDecoder().decode(Container.self, from: text)
        } catch {
            throw SyncError(
                .dataRefused, step: .decode, at: "dataset \(Container.dataset)", "\(DatasetFile.explain(error))",
                hint: "decode it into a type whose entities have the dataset's fields")
        }
    }

    /// Reads and checks versions from the commit to the last byte.
    ///
    /// - Parameters:
    ///   - all: every kept version; else the newest.
    ///   - local: also compares the device's tables, row by row, with the version that was applied.
    public func verify(all: Bool = false, local: Bool = false, progress: ProgressHandler? = nil) async throws -> VerifyReport {
        try await WorkerThreads.host {
            try await SnapshotVerifier(inspector: self, progress: progress).run(all: all, local: local)
        }
    }

    func records(at version: Int?) async throws -> ZoneState {
        let state: ZoneState
        do {
            state = try await VersionFinder(cloud: cloud, zone: zone, token: applied?.token).state(of: version)
        } catch let error as SyncError where error.code == .dataRefused {
            // After a fork the zone is looked at as it stands; what is wrong with it is said where forks are.
            guard let common = try await device?.fetchUpstreamChanges().fork else { throw error }
            state = try await VersionFinder(cloud: cloud, zone: zone, token: common.token).state(of: version)
        }
        guard state.token != nil else {
            throw SyncError(.nothingThere, step: .fetch, at: "zone \(zone)", "nothing has been published yet", hint: "run snapsync export on the writer first")
        }
        return state
    }

    func open(_ record: CloudRecord) async throws -> SnapshotAsset {
        try await SnapshotAsset(of: record, dataset: nil, in: cloud, zone: zone)
    }

    /// Refuses to say anything about data that cannot be read.
    func refuseSealed(_ state: ZoneState) throws {
        guard state.records.contains(where: \.isSealed) else { return }
        throw SyncError(
            .refused, step: .fetch, at: "zone \(zone)", "the zone is sealed, and no device's keys are at hand",
            hint: "give the database of a member with --db; where all are lost: snapsync init --recover")
    }

    /// What describes a record's dataset: the index of its snapshot asset, else the device's dataset file.
    func schema(of record: CloudRecord, _ fields: DatasetRecord) async throws -> DatasetSchema? {
        if let reader = try? await cloud.openAsset(fields.dataFile, in: zone), let data = try? reader.index(), let index = try? SnapshotIndex.decode(data) {
            return try? index.schema(table: index.dataset)
        }
        return device?.settings.datasets.first { $0.recordName == record.name }
    }

    private func find(_ dataset: String, in state: ZoneState) throws -> CloudRecord {
        try refuseSealed(state)
        // Without a dataset file nobody knows a record's dataset but by the usual name, or by the record's own.
        let described = device?.settings.datasets.first { $0.name == dataset }?.recordName
        let names = described.map { [$0] } ?? [dataset + "_data", dataset]
        guard let record = names.lazy.compactMap({ state.record($0) }).first else {
            let known = state.records.filter { !$0.isOfVersions }.map(\.name).joined(separator: ", ")
            throw SyncError(
                .nothingThere, step: .fetch, at: "version \(state.token?.number ?? 0) of zone \(zone)", "it has no dataset \(dataset)",
                hint: known.isEmpty ? nil : "it has the records \(known)")
        }
        return record
    }
}

/// A zone's kept versions.
public struct HistoryReport: Sendable, Encodable {
    public struct Version: Sendable, Encodable {
        public struct Dataset: Sendable, Encodable {
            public let record: String
            public let recordCount: Int
            /// The newest snapshot asset.
            public let file: String
            /// Its size in bytes.
            public let size: Int
            /// The change assets since, oldest first; with them it is the version.
            public let changeFiles: [String]
            /// The size of all of them in bytes.
            public let changeSize: Int

            init?(_ record: CloudRecord) {
                guard let fields = DatasetRecord(record) else { return nil }
                self.record = record.name
                recordCount = fields.recordCount
                file = fields.dataFile.path
                size = fields.dataFile.byteCount
                changeFiles = fields.changeFiles.map(\.path)
                changeSize = fields.changeByteCount
            }
        }

        public let version: Int
        public let timestamp: String
        public let device: String
        /// SHA-256 of the commit's bytes.
        public let hash: String
        /// In a signed zone: the Ed25519 public key that signed the version, as 64 hexadecimal digits.
        public let key: String?
        /// What the version changed.
        public let saved: [Dataset]
        public let deleted: [String]

        init(_ commit: Commit) {
            version = commit.token.number
            timestamp = commit.timestamp.description
            device = commit.device
            hash = commit.token.hash
            key = commit.key
            saved = commit.saved.compactMap(Dataset.init)
            deleted = commit.deleted
        }
    }

    /// A version that is kept whatever is pruned.
    public struct Pin: Sendable, Encodable {
        public let version: Int
        public let name: String?
        /// The version's own.
        public let timestamp: String
        public let pinnedAt: String
        /// Whether the versions of its age are gone: it can be read all the same, and stands in no other list.
        public let isPruned: Bool

        init(_ pin: VersionPin, isPruned: Bool) {
            version = pin.version
            name = pin.name
            timestamp = pin.timestamp.description
            pinnedAt = pin.pinnedAt.description
            self.isPruned = isPruned
        }
    }

    public let zone: String
    public let newestVersion: Int?
    /// Newest first.
    public let versions: [Version]
    /// The pinned versions, newest first.
    public let pins: [Pin]
    /// Commits that lost their number to another device's.
    public let forks: [ForkReport]
}

/// What a zone has, for who looks at a cloud directory without a database.
public struct ZoneStatusReport: Sendable, Encodable {
    public let cloudUUID: String
    public let container: String
    public let zone: String
    /// The device that publishes, or `many`.
    public let publisher: String
    public let newestVersion: Int?
    public let newestTimestamp: String?
    public let records: [HistoryReport.Version.Dataset]
    public let devices: [StatusReport.OtherDevice]
    /// What makes the zone a signed one; nil if it is none.
    public let signature: SignatureReport?
}

extension SnapshotInspector {
    /// What the zone has.
    public func zoneStatus() async throws -> ZoneStatusReport {
        try await SyncError.at(.fetch) {
            let identity = try await cloud.identity()
            let info = try await cloud.zone(zone)
            let state = try await cloud.records(in: zone)
            let reports = try await cloud.deviceReports(in: zone)
            let versions = try await DataVersions(after: reports.map { $0.token?.number ?? 0 }, upTo: state.token, in: cloud, zone)
            return ZoneStatusReport(
                cloudUUID: identity.uuid, container: identity.container, zone: zone.name, publisher: info.publishers == .many ? "many" : info.creator,
                newestVersion: state.token?.number, newestTimestamp: state.timestamp?.description,
                records: state.records.compactMap(HistoryReport.Version.Dataset.init),
                devices: reports.map { StatusReport.OtherDevice($0, versions, now: .now) },
                signature: try await SignatureReport(cloud, zone, own: nil))
        }
    }
}
