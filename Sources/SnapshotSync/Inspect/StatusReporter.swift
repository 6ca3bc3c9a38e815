import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// What a database has, what the zone has, and how far they are apart.
public struct StatusReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        public let recordCount: Int
        /// The `syncTimestamp` of the container that was imported or exported last.
        public let syncTimestamp: String
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
    /// What the zone's devices say of themselves, this one among them.
    public let devices: [OtherDevice]
}

/// Collects a ``StatusReport``.
struct StatusReporter: Sendable {
    let device: Device

    func run() async throws -> StatusReport {
        let (applied, view, lastSuccess, states) = try SyncError.at(.read) {
            try device.database.read { (try $0.applied(), try $0.view(), try $0.lastSuccess(), try $0.datasetStates()) }
        }
        let newest = try await SyncError.at(.fetch) { try await device.cloud.changes(since: applied?.token, in: device.zone).token }
        let reports = try await SyncError.at(.fetch) { try await device.cloud.deviceReports(in: device.zone) }
        return StatusReport(
            database: device.database.path, cloud: device.settings.cloud, zone: device.settings.zone, role: device.settings.role.rawValue,
            device: device.settings.device, journalMode: try SyncError.at(.read) { try device.database.journalMode() },
            version: applied?.number, newestVersion: newest?.number, behind: (newest?.number ?? 0) - (applied?.number ?? 0), view: view,
            lastSuccess: lastSuccess?.description,
            datasets: states.map { StatusReport.Dataset(name: $0.name, recordCount: $0.recordCount, syncTimestamp: $0.syncTimestamp.description) },
            devices: reports.map(StatusReport.OtherDevice.init))
    }
}
