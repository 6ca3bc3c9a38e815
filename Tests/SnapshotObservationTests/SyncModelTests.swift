import CloudStore
import Foundation
import SnapshotModel
import SnapshotObservation
import SnapshotSync
import SnapshotTools
import TestSupport
import Testing

/// The model of syncing shows what the real engine does, on a directory and in memory.
@Suite(.timeLimit(.minutes(60))) @MainActor struct SyncModelTests {
    /// A writer, a reader, and the cloud between them.
    private struct Application {
        let scratch: ScratchDirectory
        /// nil: the cloud is a directory.
        let memory: MemoryCloudDatabase?

        init(inMemory: Bool = true) async throws {
            scratch = try ScratchDirectory()
            memory = inMemory ? MemoryCloudDatabase() : nil
            for (name, role) in [("desk", SyncRole.writer), ("phone", .reader)] {
                let request = SetupRequest(database: path(name), cloud: cloudPath, role: role, device: name, createsTables: true, enables: true)
                if let memory { _ = try await SyncEngine.setUp(request, in: memory) } else { _ = try await SyncEngine.setUp(request) }
            }
        }

        var cloudPath: String { memory == nil ? scratch.path("cloud") : "memory" }
        func path(_ name: String) -> String { scratch.path("\(name).db") }
        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path, isProgram: true) }

        func engine(_ name: String) throws -> SyncEngine {
            try memory.map { try SyncEngine(database: path(name), cloud: $0) } ?? SyncEngine(database: path(name))
        }

        func insert(_ ids: ClosedRange<Int>) throws {
            let rows = ids.map { "('b\($0)', 'Work \($0)', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')" }.joined(separator: ", ")
            try shell("desk").run("INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES \(rows)")
        }
    }

    @Test(arguments: [true, false]) func aSyncIsShownFromItsBeginningToItsEnd(inMemory: Bool) async throws {
        let application = try await Application(inMemory: inMemory)
        try application.insert(1...3)
        let desk = SyncModel(try application.engine("desk"), language: .english), phone = SyncModel(try application.engine("phone"), language: .english)
        #expect(desk.state == .idle && desk.lastSuccess == nil && desk.lastReport == nil)
        await desk.refresh()
        #expect(desk.waitingChanges == 3)
        let states = Seen { desk.state }
        await desk.sync()
        #expect(desk.state == .idle && desk.failure == nil && desk.progress == nil && desk.lastReport?.exported?.version == 1)
        #expect(desk.lastSuccess != nil && desk.waitingChanges == 0)
        try await Eventually.isSeen("the states are drawn") { states.values.last == .idle && states.values.count > 1 }
        #expect(states.values == [.idle, .syncing, .idle])
        await phone.sync()
        #expect(phone.lastReport?.imported?.version == 1)
        // A program that starts later knows when the last sync was.
        let later = SyncModel(try application.engine("phone"), language: .english)
        await later.refresh()
        #expect(later.lastSuccess == phone.lastSuccess && later.lastSuccess != nil)
    }

    @Test func progressIsShownWhileARunLasts() async throws {
        let application = try await Application()
        _ = try await SampleFiller.fill(database: application.path("desk"), notifications: 5000, buckets: 3, seed: 1)
        let model = SyncModel(try application.engine("desk"), language: .english)
        let steps = Seen { model.progress.map { "\($0.dataset)" } }
        await model.sync()
        #expect(model.state == .idle && model.progress == nil)
        try await Eventually.isSeen("the end is drawn") { steps.values.last == .some(nil) }
        // How often depends on the machine; that something was shown does not.
        #expect(steps.values.compactMap(\.self).contains { ["buckets", "notifications"].contains($0) })
    }

    @Test func anErrorIsShownInWordsUntilASyncSucceeds() async throws {
        let application = try await Application(inMemory: false)
        try application.insert(1...1)
        let model = SyncModel(try application.engine("desk"), language: .italian)
        try FileManager.default.moveItem(atPath: application.cloudPath, toPath: application.scratch.path("away"))
        await model.sync()
        #expect(model.state == .failing && model.failure?.identifier == "cloud.cloudUnavailable")
        #expect(model.failure?.title == ErrorEntry(code: .cloudUnavailable).text(in: .italian).title && model.failure?.nextStep != nil)
        #expect(model.failure?.isRetryable == true && model.lastReport == nil && model.waitingChanges == 1)
        try FileManager.default.moveItem(atPath: application.scratch.path("away"), toPath: application.cloudPath)
        await model.sync()
        #expect(model.state == .idle && model.failure == nil && model.lastReport?.exported?.version == 1)
    }

    @Test func aClosedGateIsNoFailure() async throws {
        let application = try await Application()
        let engine = try application.engine("desk"), model = SyncModel(try application.engine("desk"), language: .english)
        try engine.gate.setPreference(.off)
        await model.sync()
        #expect(model.state == .off && model.failure?.identifier == "gate.preferenceOff")
        try engine.gate.setPreference(.on)
        await model.sync()
        #expect(model.state == .idle && model.failure == nil)
    }

    @Test(arguments: [true, false]) func aWatchKeepsTheModelUpToDate(inMemory: Bool) async throws {
        let application = try await Application(inMemory: inMemory)
        let model = SyncModel(try application.engine("phone"), language: .english)
        let states = Seen { model.state }
        let watch = Task { await model.run(WatchOptions(poll: .milliseconds(50))) }
        try application.insert(1...2)
        _ = try await application.engine("desk").sync()
        try await Eventually.isSeen("the version has come") { model.lastReport?.imported?.version == 1 }
        #expect(try application.shell("phone").run("SELECT count(*) FROM buckets") == "2\n")
        if !inMemory {
            try FileManager.default.moveItem(atPath: application.cloudPath, toPath: application.scratch.path("away"))
            try await Eventually.isSeen("the error has come") { model.state == .failing && model.failure?.identifier == "cloud.cloudUnavailable" }
            try FileManager.default.moveItem(atPath: application.scratch.path("away"), toPath: application.cloudPath)
            try await Eventually.isSeen("the error has gone") { model.failure == nil && model.state == .idle }
        }
        watch.cancel()
        await watch.value
        #expect(model.state == .idle)
        #expect(states.values.contains(.syncing))
    }

    @Test func aWatchOfADatabaseThatIsNotSetUpSaysSo() async throws {
        let scratch = try ScratchDirectory()
        try SQLiteShell("app.db", in: scratch.path).run("CREATE TABLE t(id TEXT PRIMARY KEY)")
        let model = SyncModel(try SyncEngine(database: scratch.path("app.db"), cloud: MemoryCloudDatabase()), language: .english)
        await model.run()
        #expect(model.state == .failing && model.failure?.identifier == "database.notInitialized")
    }

    @Test func aConflictAppearsAndIsAnswered() async throws {
        let application = try await Application()
        try application.insert(1...2)
        let desk = SyncModel(try application.engine("desk"), language: .english), phone = SyncModel(try application.engine("phone"), language: .english)
        await desk.sync()
        await phone.sync()
        #expect(phone.conflicts.entries.isEmpty)
        let counts = Seen { phone.conflicts.entries.count }
        // The reader's edit is older than the writer's: it loses, and is not lost.
        try application.shell("phone").run("UPDATE buckets SET name = 'Mine', updatedAt = '2026-02-01T00:00:00Z' WHERE id = 'b1'")
        try application.shell("desk").run("UPDATE buckets SET name = 'Theirs', updatedAt = '2026-02-02T00:00:00Z' WHERE id = 'b1'")
        await desk.sync()
        await phone.sync()
        let entry = try #require(phone.conflicts.entries.first)
        #expect(entry.dataset == "buckets" && entry.columns.first { $0.name == "name" }.map { [$0.lost, $0.kept] } == ["\"Mine\"", "\"Theirs\""])
        #expect(try application.shell("phone").run("SELECT name FROM buckets WHERE id = 'b1'") == "Theirs\n")
        await phone.conflicts.take(entry.id)
        #expect(phone.conflicts.entries.isEmpty && phone.conflicts.failure == nil)
        #expect(try application.shell("phone").run("SELECT name FROM buckets WHERE id = 'b1'") == "Mine\n")
        try await Eventually.isSeen("the conflict came and went") { counts.values == [0, 1, 0] }
        // It cannot be taken twice, and the model says why.
        await phone.conflicts.take(entry.id)
        #expect(phone.conflicts.failure?.isRetryable == false && phone.conflicts.failure?.details?.contains("taken already") == true)
        await phone.conflicts.clear()
        #expect(phone.conflicts.failure == nil)
    }
}
