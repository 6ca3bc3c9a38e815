public import CloudStore
import Foundation
import LocalTables
public import SnapshotEngine
public import SnapshotModel
import SnapshotVersions
public import StrictText
public import SyncRuns
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
        public var options: EngineOptions

        public init(database: String, setup: SetupRequest? = nil, cloud: CloudDatabase? = nil, options: EngineOptions = EngineOptions()) {
            (self.database, self.setup, self.cloud, self.options) = (database, setup, cloud, options)
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
            _ = try await SyncEngine.setUp(setup, in: configuration.cloud)
        }
        let made = try SyncEngine(database: configuration.database, cloud: configuration.cloud, options: configuration.options)
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
        return try LocalDatabase(path: path).read { try $0.settings.exists() }
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
            let error = SyncError(error)
            state.withLock { $0.lastError = error }
            throw error
        }
    }

    /// Stores the error of a call that does not use the engine.
    func keep(_ error: SyncError) { state.withLock { $0.lastError = error } }
}

extension CloudKitSyncManager {
    /// Publishes the changes. One version contains all datasets, so this publishes the notifications too.
    ///
    /// - Returns: the number of buckets.
    /// - Throws: ``SyncError``; `.refused` with "read-only" on a reader.
    @discardableResult
    public func syncBuckets() async throws -> Int { try await call(Self.publishing(countOf: "buckets")) }

    /// Publishes the changes. One version contains all datasets, so this publishes the buckets too.
    ///
    /// - Returns: the number of notifications.
    @discardableResult
    public func syncNotifications() async throws -> Int { try await call(Self.publishing(countOf: "notifications")) }

    /// Publishes the changes.
    ///
    /// - Returns: the numbers of buckets and of notifications.
    @discardableResult
    public func syncAll() async throws -> (buckets: Int, notifications: Int) { try await call(Self.publishAll) }

    /// Imports the newest version, sends and answers messages, and returns the buckets that are then in the database.
    @discardableResult
    public func fetchBuckets() async throws -> [Bucket] {
        try await call {
            _ = try await Self.fetching($0); return try await Self.buckets($0)
        }
    }

    /// Imports the newest version, sends and answers messages, and returns the notifications that are then in the database.
    @discardableResult
    public func fetchNotifications() async throws -> [SnapshotModel.Notification] {
        try await call {
            _ = try await Self.fetching($0); return try await Self.notifications($0)
        }
    }

    /// Imports the newest version, sends and answers messages, and returns everything that is then in the database.
    @discardableResult
    public func fetchAll() async throws -> (buckets: [Bucket], notifications: [SnapshotModel.Notification]) {
        try await call {
            _ = try await Self.fetching($0); return (try await Self.buckets($0), try await Self.notifications($0))
        }
    }

    /// Imports the newest version again, even if it is already applied (``SyncEngine/importAnew(progress:)``).
    public func forceRefresh() async throws { try await call { _ = try await $0.importAnew() } }

    static func publishing(countOf dataset: String) -> @Sendable (SyncEngine) async throws -> Int {
        { engine in
            try await publish(engine)
            return try await engine.entityCount(of: dataset)
        }
    }

    static let publishAll: @Sendable (SyncEngine) async throws -> (buckets: Int, notifications: Int) = { engine in
        try await publish(engine)
        return (try await engine.entityCount(of: "buckets"), try await engine.entityCount(of: "notifications"))
    }

    private static func publish(_ engine: SyncEngine) async throws {
        // Check the role before importing: a reader must get an error, and not believe that its changes were sent.
        let settings = try engine.database.read { try $0.settings.read() }
        guard settings.role.publishes else {
            throw SyncError(
                .refused, step: .announce, at: engine.database.path, "this device is a reader: read-only",
                hint: "publish from the writer; what is changed here stays here until the writer has it")
        }
        _ = try await engine.sync()
    }

    /// Imports the newest version. A reader also sends its messages; a publishing device answers those of others.
    ///
    /// - Returns: the import's report; nil if there was no new version.
    @Sendable static func fetching(_ engine: SyncEngine) async throws -> ImportReport? {
        guard try engine.database.read({ try $0.settings.read().role }) == .reader else { return try await engine.sync().imported }
        let report = try await engine.importNewest()
        _ = try await engine.sendMessages()
        return report
    }

    static func buckets(_ engine: SyncEngine) async throws -> [Bucket] { try await engine.entities(of: "buckets", as: Bucket.self) }

    static func notifications(_ engine: SyncEngine) async throws -> [SnapshotModel.Notification] {
        try await engine.entities(of: "notifications", as: SnapshotModel.Notification.self)
    }
}

extension CloudKitSyncManager {
    /// Publishes the changes. The completion gets whether that succeeded, and the number of buckets.
    public func syncBucketsToCloudKit(completion: (@Sendable (Bool, Int) -> Void)? = nil) {
        begin(Self.publishing(countOf: "buckets")) { completion?((try? $0.get()) != nil, (try? $0.get()) ?? 0) }
    }

    /// Publishes the changes. The completion gets whether that succeeded, and the number of notifications.
    public func syncNotificationsToCloudKit(completion: (@Sendable (Bool, Int) -> Void)? = nil) {
        begin(Self.publishing(countOf: "notifications")) { completion?((try? $0.get()) != nil, (try? $0.get()) ?? 0) }
    }

    /// Publishes the changes. The completion gets whether that succeeded, and the numbers of buckets and of notifications.
    public func syncAllToCloudKit(completion: (@Sendable (Bool, Int, Int) -> Void)? = nil) {
        begin(Self.publishAll) { result in
            let counts = try? result.get()
            completion?(counts != nil, counts?.buckets ?? 0, counts?.notifications ?? 0)
        }
    }

    /// Imports the newest version. The completion gets the buckets; if the import fails, the local ones, and ``lastError`` says why.
    public func fetchBucketsFromCloudKit(completion: (@Sendable ([Bucket]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.buckets)) }
    }

    /// Imports the newest version. The completion gets the notifications; if the import fails, the local ones, and ``lastError`` says why.
    public func fetchNotificationsFromCloudKit(completion: (@Sendable ([SnapshotModel.Notification]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.notifications)) }
    }

    /// Imports the newest version. The completion gets everything; if the import fails, the local data, and ``lastError`` says why.
    public func fetchAllFromCloudKit(completion: (@Sendable ([Bucket], [SnapshotModel.Notification]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.buckets), await self.here(Self.notifications)) }
    }

    /// Imports the newest version again, even if it is already applied. The completion gets whether that succeeded.
    public func forceRefreshFromCloudKit(completion: (@Sendable (Bool) -> Void)? = nil) {
        begin({ _ = try await $0.importAnew() }) { result in completion?((try? result.get()) != nil) }
    }

    /// Imports what other devices publish from now on, until ``stopSubscriptions()``. The completion gets whether that could be set up.
    public func setupSubscriptions(completion: (@Sendable (Bool) -> Void)? = nil) {
        begin({ try await self.subscribe($0) }) { result in completion?((try? result.get()) != nil) }
    }

    /// Always refused: a version contains the whole dataset, and no record of it can be deleted separately.
    @available(*, deprecated, message: "Delete the row in the database, then call syncNotificationsToCloudKit().")
    public func deleteNotificationFromCloudKit(id: String, completion: (@Sendable (Bool) -> Void)? = nil) {
        refuseDeletion(then: "syncNotificationsToCloudKit()", completion)
    }

    /// Always refused: a version contains the whole dataset, and no record of it can be deleted separately.
    @available(*, deprecated, message: "Delete the row in the database, then call syncBucketsToCloudKit().")
    public func deleteBucketFromCloudKit(id: String, completion: (@Sendable (Bool) -> Void)? = nil) {
        refuseDeletion(then: "syncBucketsToCloudKit()", completion)
    }

    private func refuseDeletion(then call: String, _ completion: (@Sendable (Bool) -> Void)?) {
        calls.enqueue {
            self.keep(
                SyncError(
                    .refused, step: .announce, at: "the location", "a version is the whole dataset; no record is deleted alone",
                    hint: "delete the row in the database, then call \(call)"))
            completion?(false)
        }
    }

    /// Returns the local data. If even that cannot be read, returns nothing, and stores the error unless there is one already.
    private func here<Entity: Sendable>(_ read: @Sendable (SyncEngine) async throws -> [Entity]) async -> [Entity] {
        do {
            return try await read(engine())
        } catch {
            if lastError == nil { keep(SyncError(error, step: .read)) }
            return []
        }
    }
}

extension CloudKitSyncManager {
    /// Syncs now and whenever something in the zone changes, until ``stopSubscriptions()``.
    ///
    /// - Parameters:
    ///   - interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``).
    ///   - imported: called after each import that changed something, on any thread. ``SyncEngine/changeNotices(keyLimit:)`` reports what
    ///     messages changed.
    public func startSubscriptions(every interval: Duration = .seconds(2), imported: (@Sendable (ImportReport) -> Void)? = nil) async throws {
        try await call { try await self.subscribe($0, every: interval, imported: imported) }
    }

    /// Ends the subscription of ``startSubscriptions(every:imported:)`` or ``setupSubscriptions(completion:)``.
    public func stopSubscriptions() {
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = nil
        }
    }

    func subscribe(_ engine: SyncEngine, every interval: Duration = .seconds(2), imported: (@Sendable (ImportReport) -> Void)? = nil) async throws {
        try await engine.gate.enter()
        let context = try engine.context()
        // A gate that opens ends the wait, too.
        let wait = ZoneWait(for: context.zone, of: context.cloud, every: interval, or: engine.gate.changes())
        let task = Task { [weak self] in
            repeat { await self?.syncNews(imported) } while await wait.next()
        }
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = task
        }
    }

    /// Syncs once. An idle sync writes nothing. If the sync fails, ``lastError`` says why, and the next one tries again.
    private func syncNews(_ imported: (@Sendable (ImportReport) -> Void)?) async {
        let report: ImportReport?
        do {
            report = try await call(Self.fetching)
        } catch let error as SyncError where error.code == .nothingThere {
            // Nothing has been published yet.
            state.withLock { $0.lastError = nil }
            return
        } catch {
            return
        }
        if let report, report.applied { imported?(report) }
    }
}

/// Runs pieces of work one after another, in the order in which they were enqueued.
final class SerialCalls: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Starts `work` after all work that was enqueued before.
    func enqueue(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let before = last
            last = Task {
                await before?.value
                await work()
            }
        }
    }

    /// Enqueues `work` and returns its result.
    func run<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            enqueue {
                do {
                    continuation.resume(returning: try await work())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}
