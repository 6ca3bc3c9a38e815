import CloudKitFacade
import CloudStore
import GRDB
import StoreConformance
import ProjectSharing
import SnapshotModel
import SnapshotSync
import SnapshotWatch

// The examples of the articles in Sources/*/*.docc, as they stand there: ``ArticleTests`` compares them and runs them.

// GettingStarted

func publishFirstVersion(of pool: DatabasePool, to share: String) async throws -> Int? {
    let sync = try await SyncEngine(pool, location: .folder(share), role: .writer, tables: .all(except: ["drafts"]))
    try sync.setEnabled(true)
    return try await sync.sync().exported?.version
}

func importNewestVersion(into pool: DatabasePool, from share: String) async throws -> [String] {
    let sync = try await SyncEngine(pool, location: .folder(share), role: .reader)
    try sync.setEnabled(true)
    let report = try await sync.sync { progress in print(progress.step.rawValue, progress.dataset, progress.entityCount) }
    return report.imported?.datasets.map { "\($0.name): \($0.recordCount)" } ?? []
}

// KeepingDevicesCurrent

func watch(_ engine: SyncEngine, showing show: @escaping @Sendable (String) -> Void) -> Task<Void, any Error> {
    Task {
        try await engine.run { event in
            switch event {
            case .synced(let report, _, _): if let version = report.imported?.version { show("version \(version)") }
            case .failing(let error): show(error.reason)
            case .recovered: show("all is well again")
            case .started, .polling: break
            }
        }
    }
}

func reloads(of table: String, from engine: SyncEngine, _ reload: @escaping @Sendable (Set<EntityKey>?) -> Void) -> Task<Void, Never> {
    let changes = engine.changes
    return Task { for await change in changes where change.table == table { reload(change.keys) } }
}

// LookingBack

func lastChange(of engine: SyncEngine) async throws -> [String] {
    let versions = try await engine.versions.list(limit: 2).versions.map(\.version)
    guard versions.count == 2 else { return [] }
    let report = try await engine.inspector().diff(.version(versions[1]), .version(versions[0])) { _ in }
    return report.datasets.map { "\($0.dataset): \($0.added) added, \($0.changed) changed, \($0.removed) removed" }
}

func goBack(to version: Int, in engine: SyncEngine) async throws -> Int? {
    _ = try await engine.versions.restore(.version(version))
    return try await engine.sync().exported?.version
}

func canBeRestored(_ engine: SyncEngine) async throws -> Bool {
    try await engine.inspector().checkRestore().problems.isEmpty
}

// TestingWithoutAFolder

func rowsAfterOneSync(from desk: DatabasePool, to phone: DatabasePool) async throws -> Int {
    let memory = SyncLocation.memory(), writer = try await SyncEngine(desk, location: memory, role: .writer)
    try writer.setEnabled(true)
    _ = try await writer.sync()
    let reader = try await SyncEngine(phone, location: memory, role: .reader)
    try reader.setEnabled(true)
    return try await reader.sync().imported?.datasets.reduce(0) { $0 + $1.recordCount } ?? 0
}

// ErrorsInWords

func words(for error: any Error, in language: ErrorLanguage) -> (title: String, nextStep: String?, tryAgain: Bool) {
    let shown = PresentableError(error, in: language)
    return (shown.title, shown.nextStep, shown.isRetryable)
}

// SnapshotWatch

func syncOnce(whenever database: String, changes count: Int) async throws -> Int {
    let engine = try SyncEngine(database: database), (events, tell) = AsyncStream.makeStream(of: Int.self)
    let watch = Task { try await engine.run { event in if case .synced(let report, _, _) = event { tell.yield(report.exported?.version ?? 0) } } }
    defer { watch.cancel() }
    return await events.first { $0 >= count } ?? 0
}

// ProjectSharing

func titles(in cloud: CloudDatabase, device: String) async throws -> [String] {
    let sharing = ProjectSharing(cloud, device: device)
    return try await sharing.projects(limit: 50).projects.map { "\($0.title) by \($0.owner)" }
}

// CloudKitFacade

func namesOfBuckets(_ manager: CloudKitSyncManager) async throws -> [String] {
    _ = try await manager.syncAll()
    return try await manager.fetchBuckets().map(\.name)
}

// CloudStoreConformance

func brokenPromises(of makeStore: @escaping @Sendable () async throws -> any ObjectStore) async -> [String] {
    let report = await StoreConformance(makeStore: makeStore).run()
    return report.failures.map(\.check)
}
