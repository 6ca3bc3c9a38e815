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

    /// How to continue.
    enum Outcome {
        /// Fail with this error, which names the rows. It is the original error if that is not about a row, or if only one row is bad.
        case refused(any Error)
        /// All bad rows can be exported once these columns, by dataset name, have the type `any`.
        case misfits([String: Set<String>])
    }

    /// Finds the bad rows of the datasets.
    func survey(_ error: any Error, of datasets: [DatasetSchema]) -> Outcome {
        guard let first = error as? SyncError, first.isBadRow else { return .refused(error) }
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
            return .refused(first)
        }
        if rows.count > 0, rows.misfitCount == rows.count { return .misfits(rows.misfits) }
        guard rows.count > 1 else { return .refused(first) }
        var details = rows.faults.map { "\($0.place): \($0.reason)" }
        if rows.count > rows.faults.count { details.append("and \(rows.count - rows.faults.count) more") }
        var hints: [String] = []
        for hint in rows.faults.compactMap(\.hint) where !hints.contains(hint) { hints.append(hint) }
        return .refused(
            SyncError(
                .dataRefused, step: first.step, at: path, "\(rows.count) rows cannot travel, and nothing was published",
                hint: hints.joined(separator: "; ")
            ).with(details: details))
    }
}
