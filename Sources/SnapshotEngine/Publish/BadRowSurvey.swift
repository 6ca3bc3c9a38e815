import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

/// Finds every row of an export that cannot travel, after one of them has stopped it.
///
/// Reads all rows of the datasets on the export's state. Memory: one block, and the reasons of the first ``limit`` rows.
struct BadRowSurvey {
    /// How many rows are named.
    static let limit = 20

    let path: String
    let session: ReadSession

    /// The error that names the bad rows of all datasets; the given one if it is about no row, or about the only one.
    func complete(_ error: any Error, of datasets: [DatasetSchema]) -> any Error {
        guard let first = error as? SyncError, first.isBadRow else { return error }
        let rows = BadRows(limit: Self.limit)
        do {
            for schema in datasets {
                rows.begin(schema)
                try session.withReader(0) { reader in
                    let all = try reader.rows(of: schema)
                    defer { all.end() }
                    while try all.next(into: rows) {}
                }
            }
        } catch {
            // Of two errors the one that stopped the export says more.
            return first
        }
        guard rows.count > 1 else { return first }
        var details = rows.faults.map { "\($0.place): \($0.reason)" }
        if rows.count > rows.faults.count { details.append("and \(rows.count - rows.faults.count) more") }
        var hints: [String] = []
        for hint in rows.faults.compactMap(\.hint) where !hints.contains(hint) { hints.append(hint) }
        return SyncError(
            .dataRefused, step: first.step, at: path, "\(rows.count) rows cannot travel, and nothing was published",
            hint: hints.joined(separator: "; ")
        ).with(details: details)
    }
}
