package import CloudStore
import LocalStore
package import StrictText

/// A version that every prune keeps. The pin is a record of the zone, so that every pruning device sees it.
///
/// It names the checkpoint at the version by its hash. With the checkpoint, the version can be read after its commit is gone.
package struct VersionPin: Sendable, Hashable {
    package let version: Int
    /// The user's name for the pin; nil for none.
    package let name: String?
    /// The SHA-256 of the version's commit.
    package let commit: String
    package let checkpoint: CheckpointReference
    /// The version's own timestamp.
    package let timestamp: Instant
    package let pinnedAt: Instant

    package init(version: Int, name: String?, commit: String, checkpoint: CheckpointReference, timestamp: Instant, pinnedAt: Instant) {
        self.version = version
        self.name = name
        self.commit = commit
        self.checkpoint = checkpoint
        self.timestamp = timestamp
        self.pinnedAt = pinnedAt
    }

    init(_ pending: PendingPin, at now: Instant) {
        self.init(
            version: pending.version, name: pending.name, commit: pending.commit,
            checkpoint: CheckpointReference(number: pending.version, sha256: pending.checkpoint), timestamp: pending.timestamp, pinnedAt: now)
    }

    /// Reads a record; nil if it is not a pin, or not one that this version of the program can use.
    init?(_ record: CloudRecord) {
        guard record.type == Self.recordType, case .integer(let number) = record.fields["version"], let version = Int(exactly: number),
            (1...CloudNames.largestNumber).contains(version),
            record.name == Self.recordName(version), case .string(let commit) = record.fields["commit"],
            case .string(let checkpoint) = record.fields["checkpoint"], case .date(let timestamp) = record.fields["timestamp"],
            case .date(let pinnedAt) = record.fields["pinnedAt"]
        else { return nil }
        var name: String?
        if case .string(let text) = record.fields["name"] { name = text }
        self.init(
            version: version, name: name, commit: commit, checkpoint: CheckpointReference(number: version, sha256: checkpoint), timestamp: timestamp,
            pinnedAt: pinnedAt)
    }

    /// The pin as a record of the zone.
    package var record: CloudRecord {
        var fields: [String: CloudValue] = [
            "version": .integer(Int64(version)), "commit": .string(commit), "checkpoint": .string(checkpoint.sha256), "timestamp": .date(timestamp),
            "pinnedAt": .date(pinnedAt),
        ]
        if let name { fields["name"] = .string(name) }
        return CloudRecord(type: Self.recordType, name: Self.recordName(version), fields: fields)
    }

    static let recordType = "SnapshotPin"
    static func recordName(_ version: Int) -> String { "pin_\(version)" }
    static func isRecordName(_ name: String) -> Bool { name.exact.hasPrefix("pin_") && Int(name.dropFirst(4)).map { recordName($0) == name } ?? false }
}

extension CloudRecord {
    /// Whether the record carries no dataset: a pin, the record of a prune, the key ranges of devices, the members or keys of a signed zone, or
    /// its promise of freshness.
    package var isOfVersions: Bool {
        [VersionPin.recordType, RetentionRecord.recordType, KeyRangeRecord.recordType, MemberList.recordType, KeyRing.recordType, FreshnessRecord.recordType]
            .contains(type)
    }
}

extension ZoneState {
    /// The pinned versions, sorted by number.
    package var pins: [VersionPin] { records.compactMap(VersionPin.init).sorted { $0.version < $1.version } }
}
