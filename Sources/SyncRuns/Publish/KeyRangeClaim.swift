package import CloudStore
package import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// Claims a device's range of new keys in the zone.
package struct KeyRangeClaim {
    let zone: ZoneID
    let cloud: CloudDatabase
    let device: String

    package init(zone: ZoneID, cloud: CloudDatabase, device: String) {
        (self.zone, self.cloud, self.device) = (zone, cloud, device)
    }
    private static let policy = RetryPolicy(attempts: 10)

    /// Returns the range of a database that `init` is setting up, and claims one if necessary.
    ///
    /// The claiming commit is the only commit that a device makes before its first import. It saves only the record of ranges.
    ///
    /// - Parameter isKnown: whether this database has used a range before, under the same name.
    /// - Throws: ``SyncError`` with `.nothingThere` before the zone's first version, which its creator publishes.
    package func run(isKnown: (DeviceKeyRange) throws -> Bool) async throws -> DeviceKeyRange {
        let info = try await cloud.zone(zone)
        for attempt in 1... {
            let state = try await cloud.records(in: zone)
            var record = try KeyRangeRecord(state)
            if let range = record.range(of: device, creator: info.creator), try state.token == nil || isKnown(range) { return range }
            guard let token = state.token else {
                throw SyncError(
                    .nothingThere, step: .open, at: zone.place,
                    "nothing has been published yet, and ranges of keys are given after the first version, which the device that made the zone makes",
                    hint: "run snapsync sync on \(info.creator) first")
            }
            let range = try record.add(device, in: zone)
            do {
                let draft = CommitDraft(device: device, saving: [record.record], clock: .now)
                let commit = try await cloud.prepare(draft, after: token, in: zone)
                _ = try await cloud.publish(commit)
                return range
            } catch let error as CloudError where error.isRetryable && attempt < Self.policy.attempts {
                try await Task.sleep(for: Self.policy.delay(after: attempt))
            }
        }
        throw SyncError(.tryAgainLater, step: .announce, at: zone.place, "other devices publish without a pause", hint: "run the same command again")
    }

    /// Claims a new range for a database that was renamed because it is a copy of another database. Its present range belongs to the other
    /// database.
    static func renew(_ context: SyncContext) async throws {
        let current = try context.database.read { try $0.keyRanges.current() }
        guard let current, current.device != context.settings.device else { return }
        let creator = try await context.zoneInfo().creator
        let name = context.settings.device
        _ = try await MetadataPublisher(context: context).publish { state in
            var record = try KeyRangeRecord(state)
            if record.range(of: name, creator: creator) != nil { return MetadataPublisher.Changes() }
            _ = try record.add(name, in: context.zone)
            return MetadataPublisher.Changes(saving: [record.record])
        }
        let state = try await context.cloud.records(in: context.zone)
        guard let range = try KeyRangeRecord(state).range(of: name, creator: creator) else { return }
        try context.database.write {
            try $0.keyRanges.set(range, of: name)
            try $0.keyRanges.advance(context.settings.datasets)
        }
    }
}

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
                .refused, step: .open, at: zone.place, "all of its \(DeviceKeyRange.count) ranges of keys are given to devices",
                hint: "use a text key that is unique everywhere, or --shared-keys")
        }
        devices.append(device)
        return range
    }

    private static var unknown: SyncError {
        SyncError(.refused, step: .open, at: "record \(recordName)", "it has a form that this program does not know", hint: "update snapsync")
    }
}
