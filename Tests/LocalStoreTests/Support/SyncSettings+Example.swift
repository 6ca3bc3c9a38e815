import LocalStore
import LocalTables
import SnapshotModel

extension SyncSettings {
    /// A writer's settings, with the built-in datasets.
    static var example: SyncSettings {
        SyncSettings(
            cloud: "/mnt/share/with space and 'quote'", cloudUUID: "3f0c1c1e-0000-4000-8000-000000000001", scope: "private", zone: "Zone",
            role: .writer, device: "desk-1", datasets: DatasetSchema.builtIn, replacesOwnRows: false)
    }
}
