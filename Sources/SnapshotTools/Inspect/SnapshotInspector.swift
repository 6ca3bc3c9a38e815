package import CloudStore
import DirectoryCloud
import Foundation
import LocalTables
import SnapshotEngine
import SnapshotFormat
public import SnapshotHistory
public import SnapshotModel
import SnapshotVersions
import StrictText
public import SyncRuns

/// Reads a zone without changing anything: its history, the contents of any kept version, and whether all of it is undamaged.
public struct SnapshotInspector: Sendable {
    package let cloud: CloudDatabase
    package let zone: ZoneID
    let applied: AppliedVersion?
    let context: SyncContext?

    init(cloud: CloudDatabase, zone: ZoneID, applied: AppliedVersion?, context: SyncContext?) {
        (self.cloud, self.zone, self.applied, self.context) = (cloud, zone, applied, context)
    }

    /// Opens a location without a database.
    ///
    /// - Parameter zone: nil for its only zone, or `main`.
    public init(cloud path: String, zone: String? = nil) async throws {
        let cloud = try SyncError.at(.open) { try CloudLocation.open(path) }
        let name = if let zone { zone } else { try await cloud.zoneName() }
        self.init(cloud: cloud, zone: ZoneID(name), applied: nil, context: nil)
    }

    /// The zone's kept versions and pins, newest first.
    ///
    /// - Parameter limit: how many versions at most; nil for all.
    public func history(limit: Int? = nil) async throws -> HistoryReport {
        try await WorkerThreads.host { try await HistoryReport(of: zone, in: cloud, limit: limit) }
    }

    /// Writes the JSON container of a dataset whole, as of a version (the newest, if nil). Every byte is checked before it is written.
    public func writeContainer(of dataset: String, version: Int? = nil, to write: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        try await WorkerThreads.host {
            let state = try await records(at: version)
            let record = try find(dataset, in: state)
            let version = try await DatasetVersion(record, in: cloud, zone: zone)
            try version.writeContainer(to: write)
        }
    }

    /// Decodes a dataset as of a version (the newest, if nil) into Swift values. Every byte is checked first.
    ///
    ///     let container = try await engine.inspector().container(of: NotificationsDataContainer.self, version: 7)
    ///
    /// Memory: the whole dataset, as text and as values.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the version has no such dataset, `.dataRefused` if it is damaged or the type cannot
    ///   decode its entities.
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

    /// Reads and checks versions completely, from the commit to the last byte of the assets.
    ///
    /// - Parameters:
    ///   - all: whether to check every kept version instead of only the newest.
    ///   - local: whether to compare the device's tables with the applied version, too, row by row.
    public func verify(all: Bool = false, local: Bool = false, progress: ProgressHandler? = nil) async throws -> VerifyReport {
        try await WorkerThreads.host {
            try await SnapshotVerifier(inspector: self, progress: progress).run(all: all, local: local)
        }
    }

    /// The database, or without one the cloud, for a command in a hint.
    package var location: String { context?.database.path ?? cloud.location }

    package func records(at version: Int?) async throws -> ZoneState {
        let state = try await VersionFinder(cloud: cloud, zone: zone, token: applied?.token).state(of: version)
        guard state.token != nil else {
            throw SyncError(.nothingThere, step: .fetch, at: zone.place, "nothing has been published yet", hint: "run snapsync export on the writer first")
        }
        return state
    }

    func open(_ record: CloudRecord) async throws -> SnapshotAsset {
        try await SnapshotAsset(of: record, dataset: nil, in: cloud, zone: zone)
    }

    /// Refuses the operation if the data is sealed and cannot be read.
    package func refuseSealed(_ state: ZoneState) throws {
        guard state.records.contains(where: \.isSealed) else { return }
        throw SyncError(
            .refused, step: .fetch, at: zone.place, "the zone is sealed, and no device's keys are at hand",
            hint: "give the database of a member instead of the location; where all are lost: snapsync join … --recover")
    }

    /// The schema of a record's dataset: from the index of its snapshot asset, or else from the device's dataset file.
    func schema(of record: CloudRecord, _ fields: DatasetRecord) async throws -> DatasetSchema? {
        if let reader = try? await cloud.openAsset(fields.dataFile, in: zone), let data = try? reader.index(), let index = try? SnapshotIndex.decode(data) {
            return try? index.schema(table: index.dataset)
        }
        return context?.settings.datasets.first { $0.recordName == record.name }
    }

    private func find(_ dataset: String, in state: ZoneState) throws -> CloudRecord {
        try refuseSealed(state)
        // A zone whose publisher has a dataset file describes no table: the record is found by its usual name or its own.
        let described = (context?.settings.datasets.named(dataset) ?? (try? state.descriptions(in: zone))?.map(\.schema).named(dataset))?.recordName
        let names = described.map { [$0] } ?? [dataset + "_data", dataset]
        guard let record = names.lazy.compactMap({ state.record($0) }).first else {
            let known = state.records.filter { !$0.isOfVersions }.map(\.name).joined(separator: ", ")
            throw SyncError(
                .nothingThere, step: .fetch, at: "version \(state.token?.number ?? 0) of \(zone.place)", "it has no dataset \(dataset)",
                hint: known.isEmpty ? nil : "it has the records \(known)")
        }
        return record
    }
}

/// All records of all versions that a zone keeps, one for each time a record was saved.
enum RetainedRecords {
    /// The records, each with a version that has it; the number of kept versions; and the pinned versions.
    ///
    /// - Parameter state: reads the zone at a kept or pinned version.
    static func all(
        _ newest: ZoneState, in cloud: CloudDatabase, _ zone: ZoneID, state: (Int) async throws -> ZoneState
    ) async throws -> (records: [(CloudRecord, Int)], versionCount: Int, pins: PinnedVersions) {
        let commits = try await cloud.history(in: zone)
        var records = commits.flatMap { commit in commit.saved.map { ($0, commit.token.number) } }
        // A record that a pruned commit saved may still be part of kept versions: the oldest kept version and the pinned ones contain it.
        let pins = try await PinnedVersions(newest.pins, in: cloud, zone)
        var inherited = pins.records
        if let oldest = commits.first?.token.number { inherited += try await state(oldest).records.map { ($0, oldest) } }
        for (record, version) in inherited.sorted(by: { $0.version < $1.version }) where !records.contains(where: { $0.0 == record }) {
            records.append((record, version))
        }
        records += newest.records.filter { record in !records.contains { $0.0 == record } }.map { ($0, newest.token?.number ?? 0) }
        return (records, commits.count, pins)
    }
}
