import CloudStore
import LocalStore
import SnapshotVersions

/// The record of the zone that says which devices have a range of new keys, so that no two devices share a range.
///
/// The zone's creator has range 0 and is not listed. Every other device has the number of its last position in the list, from 1. Entries are
/// never removed, so no range is given twice.
struct KeyRangeRecord {
    private var devices: [String]

    static let recordType = "SnapshotKeyRanges"
    static let recordName = "snapshot_key_ranges"

    /// Reads the zone's record; it is empty if the zone has none.
    ///
    /// - Throws: ``SyncError`` with `.refused` if this program does not know the record's form.
    init(_ state: ZoneState) throws {
        guard let record = state.record(Self.recordName) else {
            devices = []
            return
        }
        guard record.type == Self.recordType, case .list(let values) = record.fields["devices"] else { throw Self.unknown }
        devices = try values.map {
            guard case .string(let name) = $0 else { throw Self.unknown }
            return name
        }
    }

    /// The record as it is stored in the zone.
    var record: CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName, fields: ["devices": .list(devices.map { .string($0) })])
    }

    /// Returns a device's range; nil if it has none.
    func range(of device: String, creator: String) -> DeviceKeyRange? {
        if let place = devices.lastIndex(of: device) { return DeviceKeyRange(index: place + 1) }
        return device == creator ? DeviceKeyRange(index: 0) : nil
    }

    /// Gives a device the next unused range.
    ///
    /// - Throws: ``SyncError`` with `.refused` if no range is left.
    mutating func add(_ device: String, in zone: ZoneID) throws -> DeviceKeyRange {
        guard let range = DeviceKeyRange(index: devices.count + 1) else {
            throw SyncError(
                .refused, step: .open, at: "zone \(zone)", "all of its \(DeviceKeyRange.count) ranges of keys are given to devices",
                hint: "use a text key that is unique everywhere, or --shared-keys")
        }
        devices.append(device)
        return range
    }

    private static var unknown: SyncError {
        SyncError(.refused, step: .open, at: "record \(recordName)", "it has a form that this program does not know", hint: "update snapsync")
    }
}
