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

    /// What is to be done about the rows.
    enum Outcome {
        /// Nothing: the error names them. It is the given one if that is about no row, or about the only one.
        case refused(any Error)
        /// All of them travel once these columns are of type `any`, by the datasets' names.
        case misfits([String: Set<String>])
    }

    /// Looks for the bad rows of all datasets.
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
            // Of two errors the one that stopped the export says more.
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
