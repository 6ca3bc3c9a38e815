import CloudStore
import LocalStore
import SnapshotVersions
import StrictText

/// Refuses a database's first publication before its first import, unless the database made the zone.
///
/// If a database is created again under its old name, its zone exists already. The zone may look empty because a sync tool is still delivering
/// the files. A first version published then would fork the zone or replace data that the database does not know.
enum FirstPublishGuard {
    /// Refuses to publish from a database that has neither imported a version nor made the zone.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    static func verify(_ device: SyncContext, token: ChangeToken?) throws {
        guard token == nil, let note = try device.database.read(at: .read, { try $0.state.bootstrapNote() }), !note.madeZone else { return }
        throw SyncError(
            .refused, step: .announce, at: "zone \(device.zone)",
            "the zone has no version yet, and this database did not make it: versions of other devices may still be on their way",
            hint:
                "if a sync tool delivers the files, wait and run snapsync import; if this database is the first: snapsync init --take-over --db \(device.database.path.shellWord)"
        )
    }
}
