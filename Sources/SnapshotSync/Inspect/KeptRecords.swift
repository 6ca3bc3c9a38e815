import CloudStore

/// Every record of every version that a zone keeps, once for each time that it was saved.
enum KeptRecords {
    /// The records, each with a version that has it, and how many versions are kept.
    ///
    /// - Parameter state: the zone as of a version that is kept or pinned.
    static func all(
        _ newest: ZoneState, in cloud: any CloudDatabase, _ zone: ZoneID, state: (Int) async throws -> ZoneState
    ) async throws -> (records: [(CloudRecord, Int)], versionCount: Int) {
        let commits = try await SyncError.at(.fetch) { try await cloud.history(in: zone) }
        var records = commits.flatMap { commit in commit.saved.map { ($0, commit.token.number) } }
        // What an older, pruned commit saved and a kept one still shows: the oldest kept version and the pinned ones have it.
        for version in Set(newest.pins.map(\.version) + commits.prefix(1).map(\.token.number)).sorted() {
            let inherited = try await state(version).records
            records += inherited.filter { record in !records.contains { $0.0 == record } }.map { ($0, version) }
        }
        records += newest.records.filter { record in !records.contains { $0.0 == record } }.map { ($0, newest.token?.number ?? 0) }
        return (records, commits.count)
    }
}
