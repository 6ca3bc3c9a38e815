import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// A store opens whatever happens, says how far it got and why, and works at every level.
@Suite struct SnapshotStoreTests {
    /// A writer that syncs with a cloud.
    private func world() async throws -> ScratchDirectory {
        let scratch = try ScratchDirectory()
        var request = SetupRequest(
            database: scratch.path("app.db"), cloud: scratch.path("cloud"), role: .writer, device: "desk", createsTables: true, enables: true)
        request.container = "iCloud.org.example.board"
        _ = try await SyncEngine.setUp(request)
        return scratch
    }

    private func open(_ scratch: ScratchDirectory, _ name: String = "app.db", container: String? = nil) async throws -> SnapshotStore {
        try await SnapshotStore.open(database: scratch.path(name), createsTables: true, options: EngineOptions(container: container))
    }

    /// What an application does: it writes a row and reads it back through the store's path, with a SQLite of its own.
    private func use(_ store: SnapshotStore, at location: SourceLocation = #_sourceLocation) throws {
        let shell = SQLiteShell(store.path, in: "/")
        try shell.run("INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('mine', 'Mine', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')")
        #expect(try shell.run("SELECT name FROM buckets WHERE id = 'mine'") == "Mine\n", sourceLocation: location)
    }

    @Test func cloudAndDatabaseOpen() async throws {
        let scratch = try await world()
        let store = try await open(scratch, container: "iCloud.org.example.board")
        #expect(store.report.level == .cloud && store.report.givenUp.isEmpty && !store.isInMemory)
        try use(store)
        #expect(try await store.engine.sync().exported?.version == 1)
    }

    @Test func missingCloudLeavesTheDatabaseAndComesBack() async throws {
        let scratch = try await world()
        try FileManager.default.moveItem(atPath: scratch.path("cloud"), toPath: scratch.path("away"))
        let store = try await open(scratch, container: "iCloud.org.example.board")
        #expect(store.report.level == .local && store.path == scratch.path("app.db"))
        #expect(store.report.givenUp.map(\.error.identifier) == ["cloud.cloudUnavailable"])
        #expect(store.report.givenUp.first?.error.code == .cloudUnavailable)
        try use(store)
        await #expect { try await store.engine.sync() } throws: { ($0 as? SyncError)?.code == .cloudUnavailable }
        try FileManager.default.moveItem(atPath: scratch.path("away"), toPath: scratch.path("cloud"))
        #expect(try await store.engine.sync().exported?.published == true)
    }

    @Test func cloudOfAnotherContainerIsNotSyncedLaterEither() async throws {
        let scratch = try await world()
        let store = try await open(scratch, container: "iCloud.org.example.food")
        #expect(store.report.level == .local)
        try use(store)
        for _ in 0..<2 { await #expect { try await store.engine.sync() } throws: { ($0 as? SyncError)?.code == .refused } }
        let cloud = MemoryCloudDatabase(container: "iCloud.org.example.board")
        _ = try await SyncEngine.setUp(
            SetupRequest(database: scratch.path("own.db"), cloud: "memory", role: .writer, createsTables: true, enables: true), in: cloud)
        let own = try await SnapshotStore.open(database: scratch.path("own.db"), in: cloud, options: EngineOptions(container: "iCloud.org.example.food"))
        #expect(own.report.level == .local)
        await #expect { try await own.engine.sync() } throws: { ($0 as? SyncError)?.code == .refused }
        #expect(try await cloud.records(in: .standard).token == nil)
        #expect(try await open(scratch, container: "iCloud.org.example.board").engine.sync().exported?.version == 1)
    }

    @Test func identifierMismatchIsAnotherThingThanAMissingCloud() async throws {
        let scratch = try await world()
        #expect(try await open(scratch, container: "iCloud.org.example.food").report.givenUp.map(\.error.identifier) == ["cloud.badContainer"])
        try FileManager.default.moveItem(atPath: scratch.path("cloud"), toPath: scratch.path("away"))
        try FileManager.default.createDirectory(atPath: scratch.path("cloud"), withIntermediateDirectories: false)
        #expect(try await open(scratch).report.givenUp.map(\.error.identifier) == ["cloud.cloudUnavailable"])
        _ = try DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example.board")
        let other = try await open(scratch)
        #expect(other.report.givenUp.map(\.error.identifier) == ["cloud.badContainer"] && other.report.givenUp.first?.error.code == .refused)
    }

    @Test func closedGateAndMissingSetUpAreReasonsToo() async throws {
        let scratch = try await world()
        try await open(scratch).engine.gate.setPreference(false)
        #expect(try await open(scratch).report.givenUp.map(\.error.identifier) == ["gate.preferenceOff"])
        // A first start without a cloud: the database is made and stays.
        let fresh = try await open(scratch, "fresh.db")
        #expect(fresh.report.level == .local && fresh.report.givenUp.map(\.error.identifier) == ["database.notInitialized"])
        try use(fresh)
        #expect(scratch.exists("fresh.db"))
    }

    @Test func setUpHappensAsSoonAsTheCloudIsThere() async throws {
        let scratch = try ScratchDirectory()
        let setup = SetupRequest(
            database: scratch.path("app.db"), cloud: scratch.path("mount/cloud"), role: .writer, device: "desk", createsTables: true, enables: true)
        func open() async throws -> SnapshotStore { try await SnapshotStore.open(database: scratch.path("app.db"), setup: setup, createsTables: true) }
        let first = try await open()
        #expect(first.report.level == .local && first.report.givenUp.map(\.error.identifier) == ["cloud.cloudUnavailable"])
        try use(first)
        try FileManager.default.createDirectory(atPath: scratch.path("mount"), withIntermediateDirectories: false)
        let second = try await open()
        #expect(second.report.level == .cloud)
        #expect(try await second.engine.sync().exported?.written.first?.recordCount == 1)
    }

    @Test(arguments: ["no database, but a text that is long enough to have a header", ""])
    func unusableDatabaseIsLeftAndStoodInFor(text: String) async throws {
        let scratch = try ScratchDirectory()
        if text.isEmpty {
            try FileManager.default.createDirectory(atPath: scratch.path("app.db"), withIntermediateDirectories: false)
        } else {
            try scratch.write(text, to: "app.db")
        }
        var store: SnapshotStore? = try await open(scratch)
        let path = try #require(store?.path)
        #expect(store?.isInMemory == true && path != scratch.path("app.db"))
        #expect(store?.report.givenUp.first?.level == .local)
        try use(#require(store))
        #expect(path.hasPrefix("/dev/shm/") || path.hasPrefix(NSTemporaryDirectory()))
        if !text.isEmpty { #expect(String(decoding: try scratch.read("app.db"), as: UTF8.self) == text) }
        store = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func missingDatabaseIsNotMadeUnlessThatIsWanted() async throws {
        let scratch = try await world()
        let store = try await SnapshotStore.open(database: scratch.path("none.db"), createsDatabase: false)
        #expect(store.report.level == .inMemory && store.report.givenUp.map(\.error.identifier) == ["database.notFound"] && !scratch.exists("none.db"))
    }

    @Test func standInIsNeverPublished() async throws {
        let scratch = try await world()
        let cloud = try FileListing(of: scratch.path("cloud"))
        try scratch.write("no database, but a text that is long enough to have a header", to: "bad.db")
        let store = try await open(scratch, "bad.db")
        for act in [{ _ = try await $0.export() }, { _ = try await $0.sync() }, { _ = try await $0.importNewest() }, { _ = try $0.gate.setPreference(true) }]
            as [@Sendable (SyncEngine) async throws -> Void]
        {
            await #expect { try await act(store.engine) } throws: { ($0 as? SyncError)?.code == .refused && "\($0)".contains("in memory") }
        }
        // It cannot be made a device either.
        await #expect(throws: SyncError.self) {
            try await SyncEngine.setUp(SetupRequest(database: store.path, cloud: scratch.path("cloud"), role: .reader, device: "x", enables: true))
        }
        // The command refuses it as well, whoever hands it the path.
        let run = try BuiltCommand.run(["export", store.path], in: scratch.path)
        #expect(run.status == 78 && run.errorText.contains("in memory"), "\(run.errorText)")
        #expect(try FileListing(of: scratch.path("cloud")) == cloud)
    }

    @Test func whatAKilledProgramLeftBehindIsRemovedAndOthersAreNot() throws {
        let scratch = try ScratchDirectory()
        let left = scratch.path("snapsync-memory-left"), foreign = scratch.path("other-folder")
        for folder in [left, foreign] { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false) }
        let one = try MemoryFolder(roots: [scratch.path])
        #expect(!FileManager.default.fileExists(atPath: left))
        let two = try MemoryFolder(roots: [scratch.path("none"), scratch.path])
        #expect(FileManager.default.fileExists(atPath: one.path) && FileManager.default.fileExists(atPath: two.path))
        #expect(FileManager.default.fileExists(atPath: foreign))
        #expect(throws: SyncError.self) { try MemoryFolder(roots: [scratch.path("none")]) }
    }

    @Test func storeInMemoryIsMadeOnPurpose() async throws {
        let store = try SnapshotStore.inMemory(createsTables: true), path = store.path
        #expect(store.isInMemory && store.report.givenUp.isEmpty && store.report.database == ":memory:")
        try use(store)
        #expect(try await store.engine.gate.decision().reason?.code == .inMemory)
        let other = try SnapshotStore.inMemory(createsTables: true)
        #expect(other.path != path)
        #expect(try SQLiteShell(other.path, in: "/").run("SELECT count(*) FROM buckets") == "0\n")
        withExtendedLifetime(store) {}
    }

    @Test func eachStepOfOpeningIsLogged() async throws {
        let scratch = try await world()
        func steps(_ name: String, container: String? = nil) async throws -> CollectedLog {
            let log = CollectedLog()
            _ = try await SnapshotStore.open(
                database: scratch.path(name), createsTables: true, options: EngineOptions(container: container, logger: log.logger))
            return log
        }
        #expect(
            try await steps("app.db", container: "iCloud.org.example.board").messages == [
                "opened the database", "the built-in tables are there", "the gate is open", "opened the location",
                "the location is that of iCloud.org.example.board", "found the zone", "the store is open",
            ])
        try await open(scratch).engine.gate.setPreference(false)
        let off = try await steps("app.db")
        #expect(off.messages == ["opened the database", "the built-in tables are there", "gave up the level cloud", "the store is open"])
        #expect(off.lines.contains { $0.contains("identifier=gate.preferenceOff") && $0.contains("sync is turned off") })
        try scratch.write("This is a text file, long enough to have a header of SQLite's length, and it is not a database at all.", to: "text.db")
        let text = try await steps("text.db")
        #expect(text.messages.suffix(2) == ["gave up the level local", "made a database in memory"])
        #expect(text.lines.contains { $0.contains("identifier=database.damaged") })
    }
}
