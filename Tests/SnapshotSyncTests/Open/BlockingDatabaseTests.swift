import CommitLog
import Foundation
import GRDB
import SnapshotEngine
import SnapshotModel
import SnapshotSync
import TestSupport
import Testing

/// SQLite waits for another program's lock. That must not hold up the threads that all tasks of a process share.
@Suite struct BlockingDatabaseTests {
    /// What an application calls.
    enum Call: String, CaseIterable {
        case sync, export, status, plan, decision, messages, doctor, inspector
    }

    /// More calls than the machine has threads for tasks wait for locks, and other tasks go on.
    @Test(.timeLimit(.minutes(5)), arguments: Call.allCases)
    func otherTasksGoOnWhileDatabasesAreLocked(_ call: Call) async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase()
        let count = ProcessInfo.processInfo.activeProcessorCount + 2
        var engines: [SyncEngine] = [], holders: [DatabaseQueue] = []
        for number in 0..<count {
            let path = scratch.path("\(number).db")
            _ = try await SyncEngine.setUp(
                SetupRequest(
                    database: path, cloud: "memory", role: .writer, device: "desk\(number)", zone: "Zone\(number)", createsTables: true, enables: true),
                in: cloud)
            engines.append(try SyncEngine(database: path, cloud: cloud))
            let holder = try DatabaseQueue(path: path)
            try await holder.writeWithoutTransaction { db in
                _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
                try db.execute(sql: "BEGIN EXCLUSIVE")
            }
            holders.append(holder)
        }
        let calls = engines.map { engine in Task { try await Self.run(call, engine) } }
        // On the shared threads these would wait until the calls have given up their locks' waiting.
        for _ in 0..<100 { await Task.detached { await Task.yield() }.value }
        for holder in holders { try await holder.writeWithoutTransaction { try $0.execute(sql: "COMMIT") } }
        for call in calls { try await call.value }
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
        case .inspector: _ = try await engine.inspector().verify(local: true)
        }
    }
}
