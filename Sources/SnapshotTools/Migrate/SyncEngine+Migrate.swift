import LocalStore
import Logging
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

extension SyncEngine {
    /// Migrates records of the old layout, one JSON file each, into the tables of a writer; the next sync publishes them.
    ///
    /// Runs in one transaction. Layout and rules are in docs/from-cloudkit.md. The cloud is not accessed.
    ///
    /// - Parameters:
    ///   - skipsBad: whether to skip files that cannot be migrated; otherwise one such file fails the migration.
    ///   - isDryRun: whether to only report what would be done, with every bad file.
    /// - Throws: ``SyncError`` with `.dataRefused` for bad files, `.refused` at a reader.
    public func migrate(from directory: String, skipsBad: Bool = false, isDryRun: Bool = false) async throws -> MigrationReport {
        try await locked {
            let device = try localDevice(), settings = device.settings
            guard settings.role.publishes else {
                throw SyncError(.refused, step: .apply, at: database.path, "this device is a reader: read-only", hint: "migrate at the writer, and import here")
            }
            if !isDryRun {
                // The triggers must log the migrated rows, so check that they are installed.
                for mended in try device.keepTracking() { logger.notice("\(mended)") }
            }
            let migrator = RecordMigrator(database: database, schemas: settings.datasets, directory: directory, skipsBad: skipsBad, isDryRun: isDryRun)
            return try SyncError.at(.apply) { try migrator.run() }
        }
    }
}
