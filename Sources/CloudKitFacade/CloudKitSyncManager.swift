public import CloudStore
import Foundation
import LocalStore
public import Logging
public import SnapshotEngine
public import SnapshotModel
public import SnapshotVersions
import StrictText
import Synchronization

/// Syncs the built-in datasets, with the names that code for CloudKit uses.
///
///     try CloudKitSyncManager.configure(database: "phone.db", cloud: "/mnt/share/cloud", role: .writer, enables: true)
///     CloudKitSyncManager.shared.syncAllToCloudKit { success, buckets, notifications in … }
///
/// A thin layer over ``SyncEngine``, which new code should use directly. Calls run one after another, in the order in which they were made.
/// Completions are called on any thread. ``lastError`` is the error of the last call.
public final class CloudKitSyncManager: Sendable {
    /// The database and the cloud of a manager.
    public struct Configuration: Sendable {
        /// The SQLite file. If it is not set up yet, the first call sets it up as `setup` says.
        public var database: String
        /// How to set the database up; nil if it is already set up.
        public var setup: SetupRequest?
        /// The application's own backend; nil uses the cloud that the database's settings name.
        public var cloud: CloudDatabase?
        /// Decides whether the user may sync and wants to, if that is not in the database's settings.
        public var gate: GateOptions
        public var logger: Logger

        public init(
            database: String, setup: SetupRequest? = nil, cloud: CloudDatabase? = nil, gate: GateOptions = GateOptions(),
            logger: Logger = Logger(label: "snapsync")
        ) {
            self.database = database
            self.setup = setup
            self.cloud = cloud
            self.gate = gate
            self.logger = logger
        }
    }

    /// The manager that ``configure(database:cloud:role:device:zone:createsTables:enables:)`` configures. Without that call it uses the
    /// database that the environment variable `SNAPSYNC_DB` names.
    public static let shared = CloudKitSyncManager()

    struct State: Sendable {
        var configuration: Configuration?
        var engine: SyncEngine?
        var lastError: SyncError?
        var subscription: Task<Void, Never>?
    }

    let state: Mutex<State>
    let calls = SerialCalls()

    /// Makes a manager with its own configuration; nil leaves that to ``configure(_:)``.
    public init(_ configuration: Configuration? = nil) { state = Mutex(State(configuration: configuration)) }

    deinit { state.withLock { $0.subscription?.cancel() } }

    /// The error of the last call; nil if it succeeded.
    public var lastError: SyncError? { state.withLock { $0.lastError } }

    /// Sets the database of the shared manager. Call it once, before the first other call, which sets the database up if necessary.
    ///
    /// - Parameter enables: whether sync is on from the start. If not, the user must turn it on (``SyncGate/setPreference(_:)``).
    /// - Throws: ``SyncError`` with `.refused` if the manager is already configured.
    public static func configure(
        database: String, cloud: String, role: SyncRole, device: String? = nil, zone: String = "ZentikSyncZone", createsTables: Bool = true,
        enables: Bool = false
    ) throws {
        try shared.configure(
            Configuration(
                database: database,
                setup: SetupRequest(database: database, cloud: cloud, role: role, device: device, zone: zone, createsTables: createsTables, enables: enables)))
    }

    /// Sets the database of this manager. Call it once, before the first other call.
    public func configure(_ configuration: Configuration) throws {
        try state.withLock { state in
            guard state.configuration == nil, state.engine == nil else {
                throw SyncError(.refused, at: configuration.database, "this manager is configured already", hint: "configure it once, when the program starts")
            }
            state.configuration = configuration
        }
    }

    /// The engine, created at the first call.
    public func engine() async throws -> SyncEngine {
        let (engine, known) = state.withLock { ($0.engine, $0.configuration) }
        if let engine { return engine }
        guard let configuration = known ?? Self.environment() else {
            throw SyncError(
                .refused, step: .open, at: "CloudKitSyncManager", "it does not know its database",
                hint: "call CloudKitSyncManager.configure, or set SNAPSYNC_DB")
        }
        if let setup = configuration.setup, try !Self.isSetUp(configuration.database) {
            if let cloud = configuration.cloud { _ = try await SyncEngine.setUp(setup, in: cloud) } else { _ = try await SyncEngine.setUp(setup) }
        }
        let made =
            try configuration.cloud.map { try SyncEngine(database: configuration.database, cloud: $0, gate: configuration.gate, logger: configuration.logger) }
            ?? SyncEngine(database: configuration.database, gate: configuration.gate, logger: configuration.logger)
        return state.withLock { state in
            state.engine = state.engine ?? made
            return state.engine ?? made
        }
    }

    private static func environment() -> Configuration? {
        ProcessInfo.processInfo.environment["SNAPSYNC_DB"].flatMap { $0.isEmpty ? nil : Configuration(database: $0) }
    }

    private static func isSetUp(_ path: String) throws -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return false }
        return try SyncError.at(.open) { try LocalDatabase(path: path).read { try $0.settings.exists() } }
    }

    /// Runs a call after all earlier ones, and stores its error.
    func call<T: Sendable>(_ work: @escaping @Sendable (SyncEngine) async throws -> T) async throws -> T {
        try await calls.run { try await self.perform(work) }
    }

    /// The same for a call with a completion handler. The calls start in the order in which they were made, whatever the program's tasks do.
    func begin<T: Sendable>(_ work: @escaping @Sendable (SyncEngine) async throws -> T, _ completion: @escaping @Sendable (Result<T, any Error>) async -> Void)
    {
        calls.enqueue {
            let result: Result<T, any Error>
            do { result = .success(try await self.perform(work)) } catch { result = .failure(error) }
            await completion(result)
        }
    }

    private func perform<T: Sendable>(_ work: @escaping @Sendable (SyncEngine) async throws -> T) async throws -> T {
        do {
            let result = try await work(engine())
            state.withLock { $0.lastError = nil }
            return result
        } catch {
            let error = SyncError(error, step: .open)
            state.withLock { $0.lastError = error }
            throw error
        }
    }

    /// Stores the error of a call that does not use the engine.
    func keep(_ error: SyncError) { state.withLock { $0.lastError = error } }
}
