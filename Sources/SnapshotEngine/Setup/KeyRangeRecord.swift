import CloudStore
import LocalStore
import SnapshotVersions

/// Which devices of a zone have a range of new keys: a record of the zone, so that no two of them have the same.
///
/// The zone's creator has the range 0 without being named. Every other one has the number of its last place in the list, from 1. Nothing is ever
/// taken out, so no range is given twice.
struct KeyRangeRecord {
    private var devices: [String]

    static let recordType = "SnapshotKeyRanges"
    static let recordName = "snapshot_key_ranges"

    /// Reads the zone's record; an empty one if there is none.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the record is of a form that this program does not know.
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

    /// The record as the zone keeps it.
    var record: CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName, fields: ["devices": .list(devices.map { .string($0) })])
    }

    /// The range that a device has; nil if it has none.
    func range(of device: String, creator: String) -> DeviceKeyRange? {
        if let place = devices.lastIndex(of: device) { return DeviceKeyRange(index: place + 1) }
        return device == creator ? DeviceKeyRange(index: 0) : nil
    }

    /// Gives a device the next range that nobody had.
    ///
    /// - Throws: ``SyncError`` with `.refused` if there is none left.
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
