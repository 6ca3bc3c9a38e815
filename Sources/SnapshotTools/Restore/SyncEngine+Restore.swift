import CloudStore
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
public import StrictText

/// Which state `restore` brings back.
public enum RestoreTarget: Sendable, Hashable {
    /// A kept or pinned version.
    case version(Int)
    /// The newest version from before an instant.
    case before(Instant)
}

extension SyncEngine {
    /// Makes the data those of an earlier version, by tracked changes that the next sync publishes as a new one. Publishers only.
    ///
    /// What is new in the zone is imported first. ``undo(progress:)`` brings back what was here.
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
            // Looked up before anything is imported: a version that is not there changes nothing.
            let source = StateRestorer.Source(name: "version \(number)", version: number, state: try await finder.state(of: number), cloud: device.cloud)
            _ = try await ImportRun(device: device, progress: progress).importNewest()
            return try await StateRestorer(device: device, progress: progress).run(source, act: "restore of version \(number)")
        }
    }

    /// Brings back the data that the last `restore`, `replace` or `undo` replaced. Can be undone itself.
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
            // A reader's rows are not published; it need not have the newest version to have its own back.
            if device.settings.role.publishes { _ = try await ImportRun(device: device, progress: progress).importNewest() }
            return try await StateRestorer(device: device, progress: progress).run(source, act: point.actOfUndoing)
        }
    }
}

extension SyncContext {
    /// A device that knows less than the zone's data would lose fields by what it publishes.
    func refuseUnknownFields() throws {
        try SyncGuards.refuseUnknownFields(database.read(at: .read) { try $0.datasetStates.all() })
    }
}

extension UndoPoint {
    /// What bringing the state back is called: an undo, and after that in turn a redo and an undo of the same.
    fileprivate var actOfUndoing: String {
        let undo = "undo of the ", redo = "redo of the "
        if act.hasPrefix(undo) { return redo + act.dropFirst(undo.count) }
        return undo + (act.hasPrefix(redo) ? String(act.dropFirst(redo.count)) : act)
    }
}
