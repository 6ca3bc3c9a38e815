public import CloudStore
import CommitLog
import Platform
public import StrictText

extension DirectoryCloud {
    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try await inZone(zone) { try self.publisher($0).placeCheckpoint(at: number) }
    }

    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try await inZone(zone) { try HistoryReader(source: $0).state(of: checkpoint) }
    }

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] {
        try await inZone(zone) { try $0.storedFiles() }
    }

    public func storeClock(in zone: ZoneID) async throws -> Instant {
        try await offThread { root in
            let clock = try self.zoneFolder(zone, in: root).clock()
            // Other runs sweep a directory when they create a file in it. That hardly ever happens above the zones, and no zone's listing
            // covers those directories, so sweep them here.
            self.files.sweep(root, clock: clock)
            if let scope = try root.folder(zone.scope.rawValue) { self.files.sweep(scope, clock: clock) }
            return clock
        }
    }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try await inZone(zone) { try HistoryPruner(store: $0, zone: $0.info).remove(files, by: device) }
    }
}
