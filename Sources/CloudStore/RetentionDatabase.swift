public import StrictText

/// The operations that a cloud needs so that old versions can be removed: checkpoints, a listing of files, the store's clock, removal.
///
/// A backend that keeps every version adopts the protocol without implementing anything: the defaults throw `invalidArguments`.
public protocol RetentionDatabase: Sendable {
    /// Stores the checkpoint at a kept commit: all live records as of that version.
    ///
    /// It counts once a commit's draft names it. A caller that keeps the checkpoint's hash can read the version even after the commit is
    /// gone.
    func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference
    /// All live records as of a checkpoint, verified by its hash. Throws `unknownItem` if the checkpoint does not exist.
    func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState
    /// The files of the zone's history and its assets, from a listing; no file is opened.
    func storedFiles(in zone: ZoneID) async throws -> [StoredFile]
    /// The store's own clock, which also sets ``StoredFile/modified``.
    func storeClock(in zone: ZoneID) async throws -> Instant
    /// Removes files of the zone permanently, or none if one of them must stay.
    ///
    /// Commits are removed oldest first and only up to a checkpoint that counts. Files that the newest version names stay. Only a device
    /// that may publish may call this.
    func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws
}

extension RetentionDatabase {
    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference { throw keepsAll(zone) }
    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState { throw keepsAll(zone) }
    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { throw keepsAll(zone) }
    public func storeClock(in zone: ZoneID) async throws -> Instant { throw keepsAll(zone) }
    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws { throw keepsAll(zone) }

    private func keepsAll(_ zone: ZoneID) -> CloudError {
        CloudError(.invalidArguments, at: "\(zone)", "this cloud keeps every version and has no checkpoints to pin one with")
    }
}
