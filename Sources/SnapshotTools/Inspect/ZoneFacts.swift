import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotVersions

/// The state of a zone: its newest version, its records and its devices.
struct ZoneFacts: Sendable {
    let newest: ChangeToken?
    let state: ZoneState
    let reports: [DeviceReport]
    let versions: DataVersions
    /// Commits that lost their number to another device's commit.
    let forks: [ForkReport]

    /// The signature of the zone; nil if it is not signed.
    let signature: SignatureReport?

    init(_ device: SyncContext) async throws {
        let news = try await device.fetchUpstreamChanges(), newest = news.changes.token
        self.newest = newest
        forks = try await ForkReport.all(news, at: device)
        (state, reports) = try await SyncError.at(.fetch) {
            (try await device.cloud.records(in: device.zone, at: newest?.number, notBefore: nil), try await device.cloud.deviceReports(in: device.zone))
        }
        signature = try await SyncError.at(.fetch) {
            guard let signed = device.signedZone else { return nil }
            return try await SignatureReport(signed.cloud, device.zone, own: signed.authority.knowledge.own)
        }
        versions = try await DataVersions(
            after: [news.applied?.number ?? 0] + reports.map { $0.token?.number ?? 0 }, upTo: newest, in: device.cloud, device.zone)
    }

    /// The size of a record's newest snapshot asset, in bytes; nil if there is none.
    func assetSize(of record: String) -> Int? {
        state.record(record).flatMap(DatasetRecord.init)?.dataFile.byteCount
    }
}
