import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// What a database has, what the zone has, and how far they are apart.
public struct StatusReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many entities the last version that was imported or exported has; nil before the first.
        public let recordCount: Int?
        /// The `syncTimestamp` of the container that was imported or exported last; nil before the first.
        public let syncTimestamp: String?
        /// How many entities were touched here since.
        public let changes: Int
        /// Whether every change since is noted; if not, the next sync compares all rows.
        public let isTracked: Bool
    }

    public struct OtherDevice: Sendable, Encodable {
        public let device: String
        public let role: String
        /// The version that it had when it reported; nil before its first.
        public let version: Int?
        public let reportedAt: String

        init(_ report: DeviceReport) {
            device = report.device
            role = report.role
            version = report.token?.number
            reportedAt = report.clock.description
        }
    }

    public let database: String
    public let cloud: String
    public let zone: String
    public let role: String
    public let device: String
    public let journalMode: String
    /// The version that was applied or published last here; nil before the first.
    public let version: Int?
    /// The zone's newest version; nil if it has none.
    public let newestVersion: Int?
    /// How many versions this database is behind.
    public let behind: Int
    /// What the database shows instead of the newest version, in words; nil if it follows the cloud.
    public let view: String?
    /// When the role's work last ended well; nil before the first time.
    public let lastSuccess: String?
    public let datasets: [Dataset]
    /// Commits that lost their number to another device's.
    public let forks: [ForkReport]
    /// What the zone's devices say of themselves, this one among them.
    public let devices: [OtherDevice]
}

/// Collects a ``StatusReport``.
struct StatusReporter: Sendable {
    let device: Device

    func run() async throws -> StatusReport {
        let (applied, view, lastSuccess, states) = try SyncError.at(.read) {
            try device.database.read { transaction in
                (try transaction.applied(), try transaction.view(), try transaction.lastSuccess(), try datasets(in: transaction))
            }
        }
        let news = try await device.news(noting: false), newest = news.changes.token
        let reports = try await SyncError.at(.fetch) { try await device.cloud.deviceReports(in: device.zone) }
        return StatusReport(
            database: device.database.path, cloud: device.settings.cloud, zone: device.settings.zone, role: device.settings.role.rawValue,
            device: device.settings.device, journalMode: try SyncError.at(.read) { try device.database.journalMode() },
            version: applied?.number, newestVersion: newest?.number, behind: (newest?.number ?? 0) - (applied?.number ?? 0), view: view,
            lastSuccess: lastSuccess?.description,
            datasets: states,
            forks: try await forks(news),
            devices: reports.map(StatusReport.OtherDevice.init))
    }

    private func datasets(in transaction: LocalTransaction) throws -> [StatusReport.Dataset] {
        let states = try transaction.datasetStates(), isTracking = try transaction.isTracking(device.settings.datasets)
        return try device.settings.datasets.map { schema in
            let state = states.first { $0.name == schema.name }
            let changes = try transaction.trackedChanges(of: schema)
            return StatusReport.Dataset(
                name: schema.name, recordCount: state?.recordCount, syncTimestamp: state?.syncTimestamp.description, changes: changes.count,
                isTracked: isTracking && changes.isComplete)
        }
    }
}
