import CloudStore
import GRDB
import Logging
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

/// SQLite waits for another program's lock. It must not do that on the threads that all tasks of a process share.
@Suite(.timeLimit(.minutes(60))) struct BlockingDatabaseTests {
    /// What an application calls.
    enum Call: String, CaseIterable {
        case sync, export, status, plan, decision, messages, doctor, inspector
    }

    /// The engine logs that it waits, on the thread that waits.
    private final class Waits: LogHandler, @unchecked Sendable {
        // SAFETY: what is changed is in the mutex; the rest is of no use to the engine.
        private let found = Mutex<(all: Int, onSharedThreads: Int)>((0, 0))
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice
        var count: (all: Int, onSharedThreads: Int) { found.withLock { $0 } }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            guard event.message.description.contains("waiting for it") else { return }
            let isShared = withUnsafeCurrentTask { $0 != nil && $0?.unownedTaskExecutor == nil }
            found.withLock { $0 = ($0.all + 1, $0.onSharedThreads + (isShared ? 1 : 0)) }
        }
    }

    @Test(arguments: Call.allCases)
    func noCallWaitsOnTheSharedThreads(_ call: Call) async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase(), waits = Waits()
        let path = scratch.path("desk.db")
        let request = SetupRequest(database: path, cloud: "memory", role: .writer, device: "desk", createsTables: true, enables: true)
        _ = try await SyncEngine.setUp(request, in: cloud)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let holder = try DatabaseQueue(path: path, configuration: configuration)
        // In the modes without WAL a lock keeps readers out, too.
        try await holder.writeWithoutTransaction { _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE") }
        let engine = try SyncEngine(database: path, cloud: cloud, options: EngineOptions(logger: Logger(label: "test") { _ in waits }))
        try await holder.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let task = Task { try await Self.run(call, engine) }
        try await Eventually.holds("the call waits") { waits.count.all > 0 }
        try await holder.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        // On a busy machine the lock may have been held for longer than the engine waits.
        do { try await task.value } catch let error as SyncError { #expect(error.code == .tryAgainLater, "\(error)") }
        #expect(waits.count.onSharedThreads == 0)
    }

    private static func run(_ call: Call, _ engine: SyncEngine) async throws {
        switch call {
        case .sync: _ = try await engine.sync()
        case .export: _ = try await engine.export()
        case .status: _ = try await engine.status()
        case .plan: _ = try await engine.plan()
        case .decision: _ = try await engine.gate.decision()
        case .messages: _ = try await engine.inspector().messages()
        case .doctor: _ = try await engine.doctor()
        case .inspector: _ = try await engine.inspector()
        }
    }
}
