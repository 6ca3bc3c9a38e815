import CloudKitFacade
import CloudStore
import StoreConformance
import ProjectSharing
import SnapshotModel
import SnapshotSync
import SnapshotWatch

// The examples of the articles in Sources/*/*.docc, as they stand there: ``ArticleTests`` compares them and runs them.

// GettingStarted

func publishFirstVersion(of database: String, to share: String) async throws -> Int? {
    var request = SetupRequest(database: database, cloud: share, role: .writer, enables: true)
    request.tables = TableChoice(skipped: ["drafts"])
    _ = try await SyncEngine.setUp(request)
    return try await SyncEngine(database: database).sync().exported?.version
}

func importNewestVersion(into database: String, from share: String) async throws -> [String] {
    var request = SetupRequest(database: database, cloud: share, role: .reader, createsTables: true, enables: true)
    request.assumesBuiltIn = false
    _ = try await SyncEngine.setUp(request)
    let report = try await SyncEngine(database: database).importNewest { progress in
        print(progress.step.rawValue, progress.dataset, progress.entityCount)
    }
    return report.datasets.map { "\($0.name): \($0.recordCount)" }
}

// KeepingDevicesCurrent

func watch(_ engine: SyncEngine, showing show: @escaping @Sendable (String) -> Void) -> Task<Void, any Error> {
    let watcher = SyncWatcher(engine: engine, options: WatchOptions(poll: .seconds(30)))
    return Task {
        try await watcher.run { event in
            switch event {
            case .synced(let report, _, _): if let version = report.imported?.version { show("version \(version)") }
            case .failing(let error): show(error.reason)
            case .recovered: show("all is well again")
            case .started, .polling: break
            }
        }
    }
}

func reloads(of dataset: String, from engine: SyncEngine, _ reload: @escaping @Sendable (Set<String>?) -> Void) -> Task<Void, Never> {
    let notices = engine.changeNotices()
    return Task {
        for await changes in notices {
            for one in changes where one.dataset == dataset {
                reload(one.isEverything ? nil : Set(one.inserted.union(one.updated).union(one.deleted).compactMap(\.text)))
            }
        }
    }
}

// LookingBack

func lastChange(in share: String) async throws -> [String] {
    let inspector = try SnapshotInspector(cloud: share)
    let versions = try await inspector.history(limit: 2).versions.map(\.version)
    guard versions.count == 2 else { return [] }
    let report = try await inspector.diff(.version(versions[1]), .version(versions[0])) { _ in }
    return report.datasets.map { "\($0.dataset): \($0.added) added, \($0.changed) changed, \($0.removed) removed" }
}

func goBack(to version: Int, in engine: SyncEngine) async throws -> Int? {
    _ = try await engine.restore(.version(version))
    return try await engine.sync().exported?.version
}

func canBeRestored(_ share: String) async throws -> Bool {
    try await SnapshotInspector(cloud: share).checkRestore().problems.isEmpty
}

// TestingWithoutAFolder

func rowsAfterOneSync(from desk: String, to phone: String) async throws -> Int {
    let cloud = MemoryCloudDatabase()
    for (database, role) in [(desk, SyncRole.writer), (phone, .reader)] {
        let request = SetupRequest(database: database, cloud: "memory", role: role, device: "\(role)", createsTables: true, enables: true)
        _ = try await SyncEngine.setUp(request, in: cloud)
    }
    _ = try await SyncEngine(database: desk, cloud: cloud).sync()
    let report = try await SyncEngine(database: phone, cloud: cloud).sync()
    return report.imported?.datasets.reduce(0) { $0 + $1.recordCount } ?? 0
}

// ErrorsInWords

func words(for error: any Error, in language: ErrorLanguage) -> (title: String, nextStep: String?, tryAgain: Bool) {
    let shown = PresentableError(error, in: language)
    return (shown.title, shown.nextStep, shown.isRetryable)
}

// SnapshotWatch

func syncOnce(whenever database: String, changes count: Int) async throws -> Int {
    let watcher = SyncWatcher(engine: try SyncEngine(database: database), options: WatchOptions(poll: .milliseconds(100)))
    let (events, tell) = AsyncStream.makeStream(of: Int.self)
    let watch = Task { try await watcher.run { event in if case .synced(let report, _, _) = event { tell.yield(report.exported?.version ?? 0) } } }
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
