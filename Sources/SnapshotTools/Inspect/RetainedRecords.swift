import CloudStore
import SnapshotEngine
import SnapshotVersions

/// All records of all versions that a zone keeps, one for each time a record was saved.
enum RetainedRecords {
    /// The records, each with a version that has it; the number of kept versions; and the pinned versions.
    ///
    /// - Parameter state: reads the zone at a kept or pinned version.
    static func all(
        _ newest: ZoneState, in cloud: CloudDatabase, _ zone: ZoneID, state: (Int) async throws -> ZoneState
    ) async throws -> (records: [(CloudRecord, Int)], versionCount: Int, pins: PinnedVersions) {
        let commits = try await cloud.at(.fetch).history(in: zone)
        var records = commits.flatMap { commit in commit.saved.map { ($0, commit.token.number) } }
        // A record that a pruned commit saved may still be part of kept versions: the oldest kept version and the pinned ones contain it.
        let pins = try await PinnedVersions(newest.pins, in: cloud, zone)
        var inherited = pins.records
        if let oldest = commits.first?.token.number { inherited += try await state(oldest).records.map { ($0, oldest) } }
        for (record, version) in inherited.sorted(by: { $0.version < $1.version }) where !records.contains(where: { $0.0 == record }) {
            records.append((record, version))
        }
        records += newest.records.filter { record in !records.contains { $0.0 == record } }.map { ($0, newest.token?.number ?? 0) }
        return (records, commits.count, pins)
    }
}
