package import CloudStore
import LocalTables
import SnapshotVersions
import StrictText

/// The record of a signed zone in which its publishers promise a new version at least once a day.
///
/// An attacker who can withhold new versions from a device cannot make one. So the age of the newest version reveals the attack. Source:
/// docs/security.md, "Freshness".
package struct FreshnessRecord: Sendable {
    package static let recordType = "SnapshotFreshness"
    package static let recordName = "snapshot_freshness"
    /// A day, in seconds.
    package static let standardInterval = 86_400
    private static let field = "interval"

    /// The longest time between two versions, in seconds.
    package let interval: Int

    package init(interval: Int) { self.interval = interval }

    /// Reads the promise of a record; nil for another record, or for an interval out of range.
    package init?(_ record: CloudRecord) {
        guard record.name == Self.recordName, record.type == Self.recordType, case .integer(let seconds) = record.fields[Self.field],
            (60...31_536_000).contains(seconds)
        else { return nil }
        interval = Int(seconds)
    }

    /// The record as it is stored in the zone.
    package var record: CloudRecord { CloudRecord(type: Self.recordType, name: Self.recordName, fields: [Self.field: .integer(Int64(interval))]) }
}

extension SyncContext {
    /// Records the zone's promise and the age of its newest version, as new commits say them.
    func noteFreshness(_ changes: ZoneChanges) throws {
        guard signedZone != nil, let newest = changes.commits.last else { return }
        let before = try database.read { try $0.state.freshness() }
        var interval = changes.base.isEmpty ? before?.interval : changes.base.compactMap(FreshnessRecord.init).first?.interval
        for commit in changes.commits {
            if commit.deleted.contains(FreshnessRecord.recordName) { interval = nil }
            if let promise = commit.saved.compactMap(FreshnessRecord.init).first { interval = promise.interval }
        }
        let note = interval.map { FreshnessNote(interval: $0, newest: newest.clock) }
        guard note != before else { return }
        try database.write { try $0.state.freshness.set(note) }
    }

    /// Publishes a version without changes if the promise makes one due. Returns its number; nil if none was due.
    package func keepFresh() async throws -> Int? {
        guard signedZone != nil, let note = try database.read({ try $0.state.freshness() }), note.isDue(at: now()) else { return nil }
        // Versions that this device has published since are not recorded in the note, so read the newest commit.
        let applied = try database.read { try $0.state.appliedHere() }
        guard let applied, let newest = try await cloud.commits(upTo: applied.token, count: 1, in: zone).last else { return nil }
        var current = FreshnessNote(interval: note.interval, newest: newest.clock)
        var version: Int?
        if current.isDue(at: now()) {
            try ClockGuard.verify(now())
            let promise = FreshnessRecord(interval: note.interval)
            version = try await MetadataPublisher(context: self).publish { _ in MetadataPublisher.Changes(saving: [promise.record]) }.number
            current = FreshnessNote(interval: note.interval, newest: now())
        }
        try database.write { [current] in try $0.state.freshness.set(current) }
        return version
    }

    /// Returns a reader's warning if no new version has arrived for three intervals; nil otherwise.
    package func staleness() throws -> String? {
        guard signedZone != nil, let note = try database.read({ try $0.state.freshness() }), let age = note.silence(at: now()) else { return nil }
        return
            "the newest version is \(AgeText.words(seconds: age)) old, and the zone has one at least every \(AgeText.words(seconds: note.interval)): either no publisher syncs, or new versions are kept back from this device"
    }
}

/// Formats spans of time for people.
package enum AgeText {
    /// Returns the two largest units, rounded down to whole ones: `45 s`, `12 min`, `2 h 5 min`, `3 d 4 h`.
    package static func words(seconds: Int) -> String {
        let seconds = max(0, seconds)
        let parts = [(seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
        guard let first = parts.firstIndex(where: { $0.0 > 0 }) else { return "0 s" }
        // Minutes are shown without seconds.
        let shown = parts[first..<min(first + 2, max(first + 1, 3))].filter { $0.0 > 0 }
        return shown.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
