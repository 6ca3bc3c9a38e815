import CloudStore
import LocalStore
import SnapshotVersions

/// The bootstrap latch: no database publishes before its first import, or before it made the zone.
///
/// A database that was made anew under its old name finds its zone there, empty perhaps because a sync tool is still bringing
/// the files; its first version would fork or replace what it does not know.
enum FirstPublishGuard {
    /// Refuses to publish from a database that has neither imported anything nor made the zone.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    static func verify(_ device: SyncContext, token: ChangeToken?) throws {
        guard token == nil, let note = try device.database.read(at: .read, { try $0.state.bootstrapNote() }), !note.madeZone else { return }
        throw SyncError(
            .refused, step: .announce, at: "zone \(device.zone)",
            "it has no version yet, and this database did not make it: what others published may still be on its way",
            hint:
                "if a sync tool is bringing files, wait and run snapsync import; if this database is the first: snapsync init --take-over --db \(device.database.path)"
        )
    }
}
