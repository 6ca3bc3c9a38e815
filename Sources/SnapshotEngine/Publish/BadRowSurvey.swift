import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

/// Finds every row that cannot be exported, after one such row has stopped an export.
///
/// Reads all rows of the datasets from the export's state of the database. Memory: one block, and the reasons of the first ``limit`` rows.
struct BadRowSurvey {
    /// The largest number of rows in the error.
    static let limit = 20

    let path: String
    let session: ReadSession

    /// Finds the bad rows of the datasets.
    ///
    /// - Returns: an error that names them; the original one if that is not about a row, or if only one row is bad.
    func survey(_ error: any Error, of datasets: [DatasetSchema]) -> any Error {
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
            // The error that stopped the export says more than this one.
            return first
        }
        guard rows.count > 1 else { return first }
        var details = rows.faults.map { "\($0.place): \($0.reason)" }
        if rows.count > rows.faults.count { details.append("and \(rows.count - rows.faults.count) more") }
        var hints: [String] = []
        for hint in rows.faults.compactMap(\.hint) where !hints.contains(hint) { hints.append(hint) }
        return SyncError(
            .dataRefused, step: first.step, at: path, "\(rows.count) rows cannot be synced; nothing was published", hint: hints.joined(separator: "; ")
        ).with(details: details)
    }
}
