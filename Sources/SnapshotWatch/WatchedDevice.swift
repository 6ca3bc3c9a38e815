import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import LocalTables
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The database that a watch syncs. It is opened once, and again if another file has replaced it.
struct WatchedDevice: Sendable {
    let database: String
    private let backend: CloudDatabase?
    private let cloudPath: String
    /// The database's zone. It changes when a run follows the zone to another one.
    private(set) var zone: ZoneID
    private let name: String
    private var publishes: Bool
    private let open: @Sendable () throws -> SyncEngine
    /// The engine; nil after a failure.
    private var engine: SyncEngine?
    private var identity: FileIdentity?
    /// The database's state that the last run has seen; nil before the first run and after a failure.
    private var seen: ChangeMark?
    /// The number of the applied version.
    private(set) var knownVersion = 0

    /// Begins with an engine on a database that is set up.
    init(_ engine: SyncEngine, reopening open: @escaping @Sendable () throws -> SyncEngine) throws {
        let settings = try engine.database.read { try $0.settings.read() }
        (self.engine, self.open, database, backend) = (engine, open, engine.database.path, engine.backend)
        (cloudPath, zone) = (engine.options.cloudPath ?? settings.cloud, settings.zoneID)
        (name, publishes, identity) = (settings.device, settings.role.publishes, FileIdentity(of: engine.database.path))
    }

    /// Returns the zone's event source; nil for a backend that reports no events.
    func zoneEvents(_ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        // The directory need not exist yet.
        guard let backend else { return ZoneEvents(cloud: cloudPath, zone: zone, handler) }
        return backend.events(in: zone, handler)
    }

    func reads(messagesFrom sender: String) -> Bool { publishes && sender != name }

    /// Whether the database has changes that no run has seen. Also true if this cannot be determined: the run then reports the reason.
    func hasChanges() -> Bool {
        guard let engine, let seen, FileIdentity(of: database) == identity else { return true }
        let mark = try? engine.database.changeMark()
        return mark.map { $0.sequence > seen.sequence || $0.frame != seen.frame } ?? true
    }

    /// Syncs once. The run finishes even if the caller's task is cancelled meanwhile.
    mutating func sync(progress: ProgressHandler? = nil) async -> Result<SyncReport, SyncError> {
        do {
            let engine = try opened()
            let before = try engine.database.changeMark()
            let report = try await Task { try await engine.sync(progress: progress) }.value
            let (version, settings) = try engine.database.read { (try $0.state.applied()?.number ?? 0, try $0.settings.read()) }
            let after = try engine.database.changeMark()
            // Rows that were written during the run count as new. A changed schema does not, because an import changes it temporarily.
            seen = ChangeMark(sequence: before.sequence, frame: after.frame)
            knownVersion = version
            publishes = settings.role.publishes
            zone = ZoneID(settings.zone, scope: zone.scope)
            return .success(report)
        } catch {
            // Start afresh next time: the database or the cloud may have been replaced.
            (engine, seen) = (nil, nil)
            return .failure(SyncError(error))
        }
    }

    private mutating func opened() throws -> SyncEngine {
        let found = FileIdentity(of: database)
        if let engine, found == identity { return engine }
        engine = nil
        let opened = try open()
        (engine, identity, seen) = (opened, found, nil)
        return opened
    }
}

/// The file that is at a path now.
private struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let number: UInt64

    init?(of path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        device = UInt64(facts.st_dev)
        number = UInt64(facts.st_ino)
    }
}
