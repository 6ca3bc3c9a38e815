import LocalTables
public import SnapshotEngine
import SnapshotModel
public import SyncRuns

extension SyncEngine {
    /// Imports the newest version again, even if it is already applied. Every block of a reader's rows is compared with the version.
    ///
    /// For a reader whose rows may be wrong. Local changes in the log are kept, as in every import. On a publishing device this is the same
    /// as ``importNewest(progress:)``: there the device's own rows count.
    public func importAnew(progress: ProgressHandler? = nil) async throws -> ImportReport {
        try await locked {
            let context = try context()
            var run = ImportRun(context: context, progress: progress)
            run.comparesAll = context.settings.role == .reader
            return try await run.importNewest()
        }
    }
}
