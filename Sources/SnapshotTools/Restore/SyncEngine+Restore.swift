import CloudStore
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
public import StrictText

/// The state that `restore` restores.
public enum RestoreTarget: Sendable, Hashable {
    /// A kept or pinned version.
    case version(Int)
    /// The newest version before an instant.
    case before(Instant)
}

extension SyncEngine {
    /// Restores an earlier version with tracked changes, which the next sync publishes as a new version. Publishers only.
    ///
    /// News in the zone is imported first. ``undo(progress:)`` restores the previous data.
    public func restore(_ target: RestoreTarget, progress: ProgressHandler? = nil) async throws -> RestoreReport {
        try await locked {
            let device = try device()
            try await device.checkPublisher(
                .apply, else: "what it restores could not be published",
                hint: "restore on a device that publishes; to look at an old version here: snapsync import --version N")
            try device.refuseUnknownFields()
            let finder = VersionFinder(cloud: device.cloud, zone: device.zone, token: nil)
            let number =
                switch target {
                case .version(let number): number
                case .before(let instant): try await finder.newest(before: instant)
                }
            // Find the version before the import, so that nothing is changed if it does not exist.
            let source = StateRestorer.Source(name: "version \(number)", version: number, state: try await finder.state(of: number), cloud: device.cloud)
            _ = try await ImportRun(device: device, progress: progress).importNewest()
            return try await StateRestorer(device: device, progress: progress).run(source, act: "restore of version \(number)")
        }
    }

    /// Restores the data that the last `restore`, `replace` or `undo` replaced. It can be undone itself.
    public func undo(progress: ProgressHandler? = nil) async throws -> RestoreReport {
        try await locked {
            let device = try device()
            guard let point = try database.read(at: .read, { try $0.state.undoPoint() }) else {
                throw SyncError(
                    .nothingThere, step: .apply, at: device.database.path, "there is nothing to undo",
                    hint: "undo brings back what the last restore or replace has replaced")
            }
            let name = "the state before the \(point.act)"
            let source: StateRestorer.Source
            if let copy = point.copy {
                let (cloud, state) = try await LocalBackups(device: device).state(of: copy)
                source = StateRestorer.Source(name: name, version: nil, state: state, cloud: cloud)
            } else {
                let state = try await VersionFinder(cloud: device.cloud, zone: device.zone, token: nil).state(of: point.version)
                source = StateRestorer.Source(name: name, version: point.version, state: state, cloud: device.cloud)
            }
            // A reader does not publish its rows, so it needs no import before it restores them.
            if device.settings.role.publishes { _ = try await ImportRun(device: device, progress: progress).importNewest() }
            return try await StateRestorer(device: device, progress: progress).run(source, act: point.actOfUndoing)
        }
    }
}

extension SyncContext {
    /// Refuses the operation if the zone's data has fields that this device does not know: its next export would lose them.
    func refuseUnknownFields() throws {
        try SyncGuards.refuseUnknownFields(database.read(at: .read) { try $0.datasetStates.all() })
    }
}

extension UndoPoint {
    /// The name of restoring this state: an undo, then alternately a redo and an undo of the same operation.
    fileprivate var actOfUndoing: String {
        let undo = "undo of the ", redo = "redo of the "
        if act.exact.hasPrefix(undo) { return redo + act.dropFirst(undo.count) }
        return undo + (act.exact.hasPrefix(redo) ? String(act.dropFirst(redo.count)) : act)
    }
}
