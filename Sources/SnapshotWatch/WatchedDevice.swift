import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import Logging
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
import Synchronization

/// The database that a watch syncs: opened once, and again where another file has taken its place.
struct WatchedDevice: Sendable {
    private let database: String
    private let cloudOverride: String?
    private let backend: (any CloudDatabase)?
    private let cloudPath: String
    /// Its zone; another one after the run in which it has followed a zone that goes on elsewhere.
    private(set) var zone: ZoneID
    private let name: String
    private var publishes: Bool
    private let logger: Logger
    private let now: @Sendable () -> Instant
    private let kept = KeptCloud()
    /// The caller's engine, which is used in place of one that the watch opens.
    private let given: SyncEngine?
    private var engine: SyncEngine?
    private var identity: FileIdentity?
    /// What the last run has seen of the database; nil before the first, and after a failure.
    private var seen: ChangeMark?
    /// The newest version that is here.
    private(set) var knownVersion = 0

    /// Opens a database that was set up.
    static func open(
        _ database: String, cloud: String?, backend: (any CloudDatabase)?, engine: SyncEngine?, logger: Logger, now: @escaping @Sendable () -> Instant
    ) throws -> WatchedDevice {
        let settings = try SyncError.at(.open) { try (engine?.database ?? LocalDatabase(path: database)).read { try $0.settings.read() } }
        return WatchedDevice(
            database: database, cloudOverride: cloud, backend: backend, cloudPath: cloud ?? settings.cloud,
            zone: ZoneID(settings.zone, scope: CloudScope(rawValue: settings.scope) ?? .private), name: settings.device,
            publishes: settings.role.publishes, given: engine, logger: logger, now: now)
    }

    private init(
        database: String, cloudOverride: String?, backend: (any CloudDatabase)?, cloudPath: String, zone: ZoneID, name: String, publishes: Bool,
        given: SyncEngine?, logger: Logger, now: @escaping @Sendable () -> Instant
    ) {
        self.database = database
        self.cloudOverride = cloudOverride
        self.backend = backend
        self.cloudPath = cloudPath
        self.zone = zone
        self.name = name
        self.publishes = publishes
        self.given = given
        self.logger = logger
        self.now = now
    }

    /// The zone's event source; nil for a backend that reports no events.
    func zoneEvents(_ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        // A directory need not be there yet.
        guard let backend else { return ZoneEvents(cloud: cloudPath, zone: zone, handler) }
        return backend.events(in: zone, handler)
    }

    /// Whether a message of that device concerns this one.
    func reads(messagesFrom sender: String) -> Bool { publishes && sender != name }

    /// Whether the database has something that no run has seen. What cannot be told counts as yes: the run will say why.
    func hasChanges() -> Bool {
        guard let engine, let seen, FileIdentity(of: database) == identity else { return true }
        let mark = try? engine.database.changeMark()
        return mark.map { $0.sequence > seen.sequence || $0.frame != seen.frame } ?? true
    }

    /// Syncs once. The run is finished even if the caller's task is cancelled meanwhile.
    mutating func sync(progress: ProgressHandler? = nil) async -> Result<SyncReport, SyncError> {
        do {
            let engine = try opened()
            let before = try SyncError.at(.read) { try engine.database.changeMark() }
            let report = try await Task { try await engine.sync(progress: progress) }.value
            let (after, version, settings) = try SyncError.at(.read) {
                let (version, settings) = try engine.database.read { (try $0.state.applied()?.number ?? 0, try $0.settings.read()) }
                return (try engine.database.changeMark(), version, settings)
            }
            // Rows that were touched meanwhile are news; the schema, which an import itself changes for a moment, is not.
            seen = ChangeMark(sequence: before.sequence, frame: after.frame)
            knownVersion = version
            publishes = settings.role.publishes
            zone = ZoneID(settings.zone, scope: zone.scope)
            return .success(report)
        } catch {
            // Begin anew next time: the database or the cloud may not be what it was.
            kept.forget()
            seen = nil
            if FileIdentity(of: database) != identity { engine = nil }
            return .failure(SyncError(error, step: .open))
        }
    }

    private mutating func opened() throws -> SyncEngine {
        let found = FileIdentity(of: database)
        if let engine, found == identity { return engine }
        engine = nil
        let opened: SyncEngine
        if let given {
            opened = given
        } else if let backend {
            opened = try SyncEngine(database: database, cloud: backend, logger: logger, now: now)
        } else {
            let (cloud, kept) = (cloudOverride, kept)
            opened = try SyncEngine(database: database, logger: logger, now: now) {
                try kept.cloud(at: cloud ?? $0.cloud, expecting: $0.cloudUUID, container: $0.container)
            }
        }
        (engine, identity, seen) = (opened, found, nil)
        return opened
    }
}

/// Which file has a path now.
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

/// The cloud of the last run, which has found out already what its file system can do.
private final class KeptCloud: Sendable {
    private let cloud = Mutex<(path: String, uuid: String, cloud: any CloudDatabase)?>(nil)

    func cloud(at path: String, expecting uuid: String, container: String?) throws -> any CloudDatabase {
        if let kept = cloud.withLock({ $0 }), kept.path == path, kept.uuid == uuid { return kept.cloud }
        let opened = try CloudLocation.open(path, expecting: uuid, container: container)
        cloud.withLock { $0 = (path, uuid, opened) }
        return opened
    }

    func forget() { cloud.withLock { $0 = nil } }
}
