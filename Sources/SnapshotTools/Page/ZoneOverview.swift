import CloudStore
import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotFormat
import SnapshotModel
public import SnapshotVersions
public import StrictText

/// The data of one zone on a page: of a database and its cloud, or of a cloud alone.
///
/// Combines the results of `doctor`, `status`, `history`, `messages`, `member list` and `diff`, and adds the changes from version to version.
public struct ZoneOverview: Sendable {
    /// The absolute path of the database; nil if only a cloud was examined.
    public let database: String?
    /// The cloud's path or bucket.
    public let cloud: String
    public let zone: String
    /// When the zone was examined.
    public let madeAt: Instant
    /// The findings of `doctor`, as far as they need neither a read of the whole database nor any writing.
    public let doctor: DoctorReport
    /// The report of `status`; nil without a database.
    public let status: StatusReport?
    /// Why the zone cannot be read; nil if it can, or if sync is off.
    public let error: SyncError?

    /// The data that only the page uses. It is a class, because a module that does not see the types of its parts could not lay out a struct of
    /// them.
    let details: ZoneDetails

    /// A row of the table of newest versions.
    struct RecentVersion: Sendable {
        struct Dataset: Sendable {
            let name: String
            /// How many rows the version added, changed or deleted; nil if counting them would take long or is not possible.
            let changed: Int?
        }

        let report: HistoryReport.Version
        let datasets: [Dataset]
        /// The name of the version's pin; nil if it is not pinned.
        let pin: String?
    }

    /// The changes of the newest version with data.
    struct LastChange: Sendable {
        let from: Int
        let to: Int
        let report: DiffReport
        /// The first rows that differ, for each dataset.
        let rows: [EntityDifference]
    }

    /// The maximum number of listed versions, and of listed rows that differ in a dataset.
    static let (versionLimit, rowLimit) = (12, 20)

    /// - Parameter hasValues: whether to include the values of rows that differ.
    init(_ examination: Examination, own: DevicePublicKeys? = nil, assetLimit: Int, hasValues: Bool) async {
        (doctor, madeAt) = (examination.report, examination.facts.now)
        database = doctor.database.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
        cloud = CloudLocation.isBucket(doctor.cloud) ? doctor.cloud : URL(fileURLWithPath: doctor.cloud).standardizedFileURL.path
        zone = doctor.zone
        status = try? examination.facts.status?.get()
        if case .failure(let failure)? = examination.facts.zone { error = failure } else { error = nil }
        details = await ZoneDetails(examination, own: own, assetLimit: assetLimit, hasValues: hasValues)
    }
}

/// The data of a zone that only the page shows.
final class ZoneDetails: Sendable {
    let facts: ZoneSurvey?
    let devices: [StatusReport.OtherDevice]
    let series: VersionSeries
    let recent: [ZoneOverview.RecentVersion]
    let assetLimit: Int
    let messages: DoctorFacts.Look<MessagesReport>?
    /// The members; nil in a zone that is not signed, or if they cannot be read.
    let members: MembersReport?
    let membersError: SyncError?
    /// The last change; nil if fewer than two versions are kept or they cannot be compared.
    let change: ZoneOverview.LastChange?
    let changeError: SyncError?

    init(_ examination: Examination, own: DevicePublicKeys?, assetLimit: Int, hasValues: Bool) async {
        self.assetLimit = assetLimit
        facts = try? examination.facts.zone?.get()
        let survey = facts, commits = (try? survey?.commits.get()) ?? [], now = examination.facts.now
        devices = ((try? survey?.devices.get()) ?? []).map { StatusReport.OtherDevice($0, survey?.versions ?? DataVersions(allUpTo: nil), now: now) }
        series = VersionSeries(commits, newest: (try? survey?.state.get())?.records ?? [])
        guard let inspector = examination.inspector, let survey else {
            (recent, messages, members, membersError, change, changeError) = ([], nil, nil, nil, nil, nil)
            return
        }
        messages = await DoctorFacts.look(.fetch) { try await inspector.messages() }
        (members, membersError) = await Self.attempt(.fetch) {
            survey.info.isSigned ? try await MembersReport(inspector.device?.signedZone?.cloud ?? inspector.cloud, inspector.zone, own: own) : nil
        }
        (change, changeError) = await Self.attempt(.read) { try await ZoneOverview.LastChange(commits, inspector, hasValues: hasValues) }
        recent = await Self.recent(commits, (try? survey.pins?.get())?.pins ?? [], change, inspector)
    }

    /// Runs `body` and keeps its result or its error.
    private static func attempt<T>(_ step: SyncStep, _ body: () async throws -> T?) async -> (T?, SyncError?) {
        do { return (try await body(), nil) } catch { return (nil, SyncError(error, step: step)) }
    }

    private static func recent(_ commits: [Commit], _ pins: [VersionPin], _ change: ZoneOverview.LastChange?, _ inspector: SnapshotInspector) async
        -> [ZoneOverview.RecentVersion]
    {
        var versions: [ZoneOverview.RecentVersion] = []
        for commit in commits.suffix(ZoneOverview.versionLimit).reversed() {
            let counter = ChangeCounter(commit: commit, before: commits.last { $0.changesData && $0.token.number < commit.token.number }, inspector)
            let pin = pins.first { $0.version == commit.token.number }
            versions.append(
                ZoneOverview.RecentVersion(
                    report: HistoryReport.Version(commit), datasets: await counter.datasets(change?.to == commit.token.number ? change?.report : nil),
                    pin: pin.map { $0.name ?? "" }))
        }
        return versions
    }
}

/// Counts the rows that a version changed, unless that requires reading large files.
private struct ChangeCounter {
    let commit: Commit
    /// The previous version with data; nil if none is kept.
    let before: Commit?
    let inspector: SnapshotInspector

    /// The length of JSON, in bytes, above which rows are not counted.
    private static let limit = 4 << 20

    init(commit: Commit, before: Commit?, _ inspector: SnapshotInspector) { (self.commit, self.before, self.inspector) = (commit, before, inspector) }

    /// The datasets that the version saved, with their counts of changed rows.
    ///
    /// - Parameter known: the differences from the previous version, if they were already computed.
    func datasets(_ known: DiffReport?) async -> [ZoneOverview.RecentVersion.Dataset] {
        var found: [(record: CloudRecord, fields: DatasetRecord, changed: Int?)] = []
        for record in commit.saved {
            guard let fields = DatasetRecord(record) else { continue }
            found.append((record, fields, await rows(record, fields)))
        }
        var compared = known
        // A small version without change assets is compared with the previous one.
        if compared == nil, let before, found.contains(where: { $0.changed == nil }),
            Total.of(found.map { Total.of([$0.fields.dataFile.rawByteCount, $0.fields.changeRawByteCount]) }) <= Self.limit
        {
            compared = try? await inspector.diff(.version(before.token.number), .version(commit.token.number)) { _ in }
        }
        var datasets: [ZoneOverview.RecentVersion.Dataset] = []
        for one in found {
            var changed = one.changed
            if changed == nil, let compared, let name = try? await inspector.schema(of: one.record, one.fields)?.name {
                changed = compared.datasets.first { $0.dataset == name }.map { $0.added + $0.changed + $0.removed }
            }
            datasets.append(ZoneOverview.RecentVersion.Dataset(name: one.record.name, changed: changed))
        }
        return datasets
    }

    /// The row count of the first version, or the number of changes in the version's change asset; nil if there is no change asset or it is too
    /// large.
    private func rows(_ record: CloudRecord, _ fields: DatasetRecord) async -> Int? {
        if commit.parent == nil { return fields.recordCount }
        guard let step = fields.step, step.rawByteCount <= Self.limit, let schema = try? await inspector.schema(of: record, fields) else { return nil }
        let changes = try? await ChangeAsset(step, after: nil, dataset: schema.name, in: inspector.cloud, zone: inspector.zone).read(schema)
        return changes.map { $0.entityKeys.count + $0.deletions.count }
    }
}

extension ZoneOverview.LastChange {
    /// Compares the two newest versions with data; nil if fewer are kept.
    init?(_ commits: [Commit], _ inspector: SnapshotInspector, hasValues: Bool) async throws {
        let newest = commits.filter(\.changesData).suffix(2).map(\.token.number)
        guard newest.count == 2 else { return nil }
        let rows = FirstDifferences(limit: ZoneOverview.rowLimit)
        report = try await inspector.diff(.version(newest[0]), .version(newest[1]), hasValues: hasValues) { rows.take($0) }
        (from, to, self.rows) = (newest[0], newest[1], rows.rows)
    }
}

/// Keeps the first differences of each dataset.
// SAFETY (of @unchecked Sendable): the comparison makes one call at a time, and ends before the rows are read.
private final class FirstDifferences: @unchecked Sendable {
    private let limit: Int
    private var counts: [String: Int] = [:]
    private(set) var rows: [EntityDifference] = []

    init(limit: Int) { self.limit = limit }

    func take(_ row: EntityDifference) {
        counts[row.dataset, default: 0] += 1
        if counts[row.dataset, default: 0] <= limit { rows.append(row) }
    }
}

extension SyncEngine {
    /// Examines the database, its cloud and its zone for a ``ReportPage``. Writes nothing.
    ///
    /// - Parameter hasValues: whether the page shows the values of rows, not only their keys.
    /// - Throws: ``SyncError`` if the database was not set up. Other errors are part of the overview.
    public func overview(hasValues: Bool = false) async throws -> ZoneOverview {
        try await WorkerThreads.host {
            let examination = try await examine(.brief)
            return await ZoneOverview(
                examination, own: examination.inspector?.device?.signedZone?.authority.knowledge.own,
                assetLimit: try database.read(at: .read) { try $0.settings.operatorSettings().assetLimit }, hasValues: hasValues)
        }
    }
}

extension SnapshotInspector {
    /// Examines a cloud and a zone without a database for a ``ReportPage``. Writes nothing.
    ///
    /// - Parameter hasValues: whether the page shows the values of rows, not only their keys.
    public static func overview(cloud: String, zone: String = "ZentikSyncZone", hasValues: Bool = false) async -> ZoneOverview {
        await WorkerThreads.host {
            await ZoneOverview(
                examine(cloud: cloud, zone: zone), assetLimit: OperatorSettings.standardAssetLimit, hasValues: hasValues)
        }
    }
}
