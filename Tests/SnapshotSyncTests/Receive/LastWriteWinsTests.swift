import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// A writer and a reader that both edit, over random histories; every change is made on a connection of its own.
@Suite struct LastWriteWinsTests {
    /// Two databases and a cloud in a directory of their own.
    private final class World {
        private let scratch: ScratchDirectory
        init() throws { scratch = try ScratchDirectory() }
        func path(_ name: String) -> String { scratch.path(name) }

        func setUp(_ name: String, _ role: SyncRole) async throws {
            _ = try await SyncEngine.setUp(
                SetupRequest(database: path(name), cloud: path("cloud"), role: role, device: name, createsTables: true, enables: true))
        }

        func export() async throws { _ = try await SyncEngine(database: path("writer")).export() }
        func `import`() async throws { _ = try await SyncEngine(database: path("reader")).importNewest() }

        func verify(_ name: String) async throws -> [String] {
            try await SyncEngine(database: path(name)).inspector().verify(local: true).problems
        }

        /// Runs SQL in a process of its own and returns the rows, a list of columns each.
        @discardableResult
        func run(_ name: String, _ sql: String) throws -> [[String]] {
            try SQLiteShell(name, in: scratch.path).run(sql).split(separator: "\n").map {
                $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            }
        }

        /// The titles, by key.
        func titles(_ name: String) throws -> [String: String] {
            Dictionary(uniqueKeysWithValues: try run(name, "SELECT id, title FROM notifications").map { ($0[0], $0[1]) })
        }

        func insert(_ name: String, _ id: String, _ title: String, updatedAt: String) throws {
            try run(
                name,
                """
                INSERT OR REPLACE INTO notifications(id, title, createdAt, updatedAt, bucketId)
                VALUES('\(id)', '\(title)', '2020-01-01T00:00:00Z', '\(updatedAt)', 'b')
                """)
        }
    }

    private func world() async throws -> World {
        let world = try World()
        try await world.setUp("writer", .writer)
        try world.run("writer", "INSERT INTO buckets VALUES('b', 'B', NULL, NULL, NULL, '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL)")
        for id in ["k1", "k2", "k3", "k4"] { try world.insert("writer", id, "first", updatedAt: "2020-01-01T00:00:00Z") }
        try await world.export()
        try await world.setUp("reader", .reader)
        try await world.import()
        return world
    }

    @Test func laterOfTwoEditsWinsWhicheverSideItIsOn() async throws {
        let world = try await world()
        try world.insert("reader", "k1", "reader, later", updatedAt: "2024-05-01T00:00:02+02:00")
        try world.insert("writer", "k1", "writer, earlier", updatedAt: "2024-04-30T22:00:01.5Z")
        try world.insert("reader", "k2", "reader, earlier", updatedAt: "2024-04-30T22:00:01.5Z")
        try world.insert("writer", "k2", "writer, later", updatedAt: "2024-05-01T00:00:02+02:00")
        try await world.export()
        try await world.import()
        #expect(try world.titles("reader") == ["k1": "reader, later", "k2": "writer, later", "k3": "first", "k4": "first"])
        #expect(try await world.verify("reader").isEmpty)
    }

    /// As text the earlier of the two is the greater one: `Z` comes after every digit.
    @Test func instantsWithinOneMillisecondAreComparedAsNumbers() async throws {
        let world = try await world()
        let earlier = "2024-05-01T00:00:02.037Z", later = "2024-05-01T00:00:02.037001Z"
        try world.insert("reader", "k1", "reader, later", updatedAt: later)
        try world.insert("writer", "k1", "writer, earlier", updatedAt: earlier)
        try world.insert("reader", "k2", "reader, earlier", updatedAt: earlier)
        try world.insert("writer", "k2", "writer, later", updatedAt: later)
        try await world.export()
        try await world.import()
        #expect(try world.titles("reader") == ["k1": "reader, later", "k2": "writer, later", "k3": "first", "k4": "first"])
    }

    @Test func aDateInTheFarFutureDoesNotWinForEver() async throws {
        let world = try await world()
        try world.insert("reader", "k1", "reader, year 9999", updatedAt: "9999-12-31T23:59:59Z")
        try world.insert("writer", "k1", "writer, now", updatedAt: Instant.now.advanced(byMicroseconds: 60_000_000).description)
        // The reader's instant is its clock at the edit; the writer edits after it, so its clock is not earlier.
        try world.run("writer", "UPDATE notifications SET title = 'writer, after it' WHERE id = 'k1'")
        try await world.export()
        try await world.import()
        #expect(try world.titles("reader")["k1"] == "writer, after it")
    }

    @Test func deletionIsNotResurrectedAndBeatsAnEditOfTheSameTime() async throws {
        let world = try await world()
        try world.run("writer", "DELETE FROM notifications WHERE id = 'k1'")
        try world.insert("reader", "k1", "edited before it was deleted", updatedAt: "2021-01-01T00:00:00Z")
        try await world.export()
        try await world.import()
        #expect(try world.titles("reader")["k1"] == nil)
        try await world.import()
        #expect(try world.titles("reader")["k1"] == nil)
    }

    @Test func whatWasMadeOfflineNeverVanishesHoweverOldItsDate() async throws {
        let world = try await world()
        try world.insert("reader", "mine", "offline", updatedAt: "1970-01-01T00:00:00Z")
        for round in 0..<3 {
            try world.insert("writer", "k1", "round \(round)", updatedAt: "2023-01-0\(round + 1)T00:00:00Z")
            try await world.export()
            try await world.import()
            #expect(try world.titles("reader")["mine"] == "offline")
            #expect(try world.titles("reader")["k1"] == "round \(round)")
        }
    }

    @Test(arguments: Sample.of(1...60, oneIn: 9)) func randomHistoriesKeepTheInvariants(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let world = try await world()
        for step in 0..<30 {
            let side = random.happens(percent: 50) ? "writer" : "reader", id = "k\(random.below(7))"
            switch random.below(10) {
            case 0...3:
                try world.insert(
                    side, id, "\(side) \(step)",
                    updatedAt: Instant(microseconds: 1_600_000_000_000_000 + Int64(random.below(1_000_000)) * 1_000_000).description)
            case 4...5: try world.run(side, "UPDATE notifications SET title = '\(side) \(step)' WHERE id = '\(id)'")
            case 6: try world.run(side, "DELETE FROM notifications WHERE id = '\(id)'")
            case 7: try world.run(side, "UPDATE OR REPLACE notifications SET id = 'k\(random.below(7))' WHERE id = '\(id)'")
            case 8: try await world.export()
            default:
                try await world.import()
                let before = try world.titles("reader")
                try await world.import()
                #expect(try world.titles("reader") == before, "importing twice changes nothing, seed \(seed)")
            }
        }
        try await world.export()
        try await world.import()
        #expect(try await world.verify("writer").isEmpty, "seed \(seed)")
        #expect(try await world.verify("reader").isEmpty, "seed \(seed)")
        let writer = try world.titles("writer"), reader = try world.titles("reader")
        let pending = Set(try world.run("reader", "SELECT key FROM snapsync_changes UNION SELECT key FROM snapsync_log WHERE dataset > 0").map { $0[0] })
        for id in Set(writer.keys).union(reader.keys) where !pending.contains(id) {
            #expect(writer[id] == reader[id], "seed \(seed), \(id)")
        }
    }
}
