public import CloudStore
public import StrictText

extension MemoryCloudDatabase {
    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try publisher(zone).placeCheckpoint(at: number)
    }

    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try HistoryReader(source: store(zone)).state(of: checkpoint)
    }

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { try store(zone).storedFiles() }

    public func storeClock(in zone: ZoneID) async throws -> Instant { try store(zone).clock() }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        let store = try store(zone)
        try HistoryPruner(store: store, zone: store.zone.info).remove(files, by: device)
    }
}
