public import StrictText

// Retention: what a backend does so that old versions can go. One that keeps every version leaves these to the defaults.
extension CloudDatabase {
    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference { throw keepsAll(zone) }
    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState { throw keepsAll(zone) }
    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { throw keepsAll(zone) }
    public func storeClock(in zone: ZoneID) async throws -> Instant { throw keepsAll(zone) }
    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws { throw keepsAll(zone) }

    private func keepsAll(_ zone: ZoneID) -> CloudError {
        CloudError(.invalidArguments, at: "\(zone)", "this cloud keeps every version and has no checkpoints to pin one with")
    }
}

extension CloudDatabaseDecorator {
    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try await wrapped.placeCheckpoint(at: number, in: zone)
    }

    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try await wrapped.records(in: zone, of: checkpoint)
    }

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { try await wrapped.storedFiles(in: zone) }

    public func storeClock(in zone: ZoneID) async throws -> Instant { try await wrapped.storeClock(in: zone) }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try await wrapped.remove(files, by: device, in: zone)
    }
}
