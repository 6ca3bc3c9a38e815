import CloudStore
import LocalStore

/// What a zone says: its newest version, its records and its devices.
struct ZoneFacts: Sendable {
    let newest: ChangeToken?
    let state: ZoneState
    let reports: [DeviceReport]

    init(_ device: Device, applied: AppliedVersion?) async throws {
        (newest, state, reports) = try await SyncError.at(.fetch) {
            let newest = try await device.cloud.changes(since: applied?.token, in: device.zone).token
            return (newest, try await device.cloud.records(in: device.zone, at: newest?.number, notBefore: nil), try await device.cloud.deviceReports(in: device.zone))
        }
    }

    /// The size of a record's newest snapshot asset, in bytes; nil if there is none.
    func assetSize(of record: String) -> Int? {
        state.record(record).flatMap(SnapshotFields.init)?.dataFile.byteCount
    }
}
