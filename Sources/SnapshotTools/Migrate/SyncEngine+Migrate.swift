import LocalStore
import Logging
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

extension SyncEngine {
    /// Brings records of the old layout, one JSON file each, into the tables of a writer; the next sync publishes them.
    ///
    /// One transaction: all or nothing. Layout and rules are in docs/migrate.md. The cloud is not touched.
    ///
    /// - Parameters:
    ///   - skipsBad: leave out files that cannot be brought over; else one such file refuses all.
    ///   - isDryRun: only say what would be done, and name every bad file.
    /// - Throws: ``SyncError`` with `.dataRefused` for bad files, `.refused` at a reader.
    public func migrate(from directory: String, skipsBad: Bool = false, isDryRun: Bool = false) async throws -> MigrationReport {
        try await locked {
            let device = try localDevice(), settings = device.settings
            guard settings.role.publishes else {
                throw SyncError(.refused, step: .apply, at: database.path, "this device is a reader: read-only", hint: "migrate at the writer, and import here")
            }
            if !isDryRun {
                // What comes now is to be noted.
                for mended in try device.keepTracking() { logger.notice("\(mended)") }
            }
            let migrator = RecordMigrator(database: database, schemas: settings.datasets, directory: directory, skipsBad: skipsBad, isDryRun: isDryRun)
            return try SyncError.at(.apply) { try migrator.run() }
        }
    }
}
