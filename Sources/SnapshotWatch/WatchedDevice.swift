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

/// The database that a watch syncs. It is opened once, and again if another file has replaced it.
struct WatchedDevice: Sendable {
    private let database: String
    private let cloudOverride: String?
    private let backend: CloudDatabase?
    private let cloudPath: String
    /// The database's zone. It changes when a run follows the zone to another one.
    private(set) var zone: ZoneID
    private let name: String
    private var publishes: Bool
    private let logger: Logger
    private let now: @Sendable () -> Instant
    private let kept = KeptCloud()
    /// The caller's engine; if nil, the watch opens one.
    private let given: SyncEngine?
    private var engine: SyncEngine?
    private var identity: FileIdentity?
    /// The database's state that the last run has seen; nil before the first run and after a failure.
    private var seen: ChangeMark?
    /// The number of the applied version.
    private(set) var knownVersion = 0

    /// Opens a database that is set up.
    static func open(
        _ database: String, cloud: String?, backend: CloudDatabase?, engine: SyncEngine?, logger: Logger, now: @escaping @Sendable () -> Instant
    ) throws -> WatchedDevice {
        let settings = try SyncError.at(.open) { try (engine?.database ?? LocalDatabase(path: database)).read { try $0.settings.read() } }
        return WatchedDevice(
            database: database, cloudOverride: cloud, backend: backend, cloudPath: cloud ?? settings.cloud,
            zone: settings.zoneID, name: settings.device,
            publishes: settings.role.publishes, given: engine, logger: logger, now: now)
    }

    private init(
        database: String, cloudOverride: String?, backend: CloudDatabase?, cloudPath: String, zone: ZoneID, name: String, publishes: Bool,
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
            let before = try SyncError.at(.read) { try engine.database.changeMark() }
            let report = try await Task { try await engine.sync(progress: progress) }.value
            let (after, version, settings) = try SyncError.at(.read) {
                let (version, settings) = try engine.database.read { (try $0.state.applied()?.number ?? 0, try $0.settings.read()) }
                return (try engine.database.changeMark(), version, settings)
            }
            // Rows that were written during the run count as new. A changed schema does not, because an import changes it temporarily.
            seen = ChangeMark(sequence: before.sequence, frame: after.frame)
            knownVersion = version
            publishes = settings.role.publishes
            zone = ZoneID(settings.zone, scope: zone.scope)
            return .success(report)
        } catch {
            // Start afresh next time: the database or the cloud may have been replaced.
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

/// The cloud of the last run, kept because it has already tested what its file system can do.
private final class KeptCloud: Sendable {
    private let cloud = Mutex<(path: String, uuid: String, cloud: CloudDatabase)?>(nil)

    func cloud(at path: String, expecting uuid: String, container: String?) throws -> CloudDatabase {
        if let kept = cloud.withLock({ $0 }), kept.path.exact == path.exact, kept.uuid == uuid { return kept.cloud }
        let opened = try CloudLocation.open(path, expecting: uuid, container: container)
        cloud.withLock { $0 = (path, uuid, opened) }
        return opened
    }

    func forget() { cloud.withLock { $0 = nil } }
}
