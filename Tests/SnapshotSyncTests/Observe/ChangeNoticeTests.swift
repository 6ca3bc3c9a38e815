import CloudStore
import GRDB
@testable import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import LocalStore
@testable import SnapshotEngine
@testable import SnapshotTools

/// After an import the engine tells which keys of which dataset were inserted, updated and deleted.
@Suite(.timeLimit(.minutes(60))) struct ChangeNoticeTests {
    private func scene(_ count: Int = 10) async throws -> SyncScene {
        let scene = try await SyncScene(DatasetSchema.everyKindTable() + ";", datasets: [try .everyKind()])
        try scene.writer.run(
            """
            INSERT INTO things(id, count, changed) WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))
            SELECT 'k' || n, n, '2026-01-01T00:00:00Z' FROM numbers
            """)
        try await scene.export()
        return scene
    }

    private func keys(_ texts: String...) -> Set<EntityKey> { Set(texts.map { EntityKey($0) }) }

    private static let edit = """
        INSERT INTO things(id, count) VALUES('new', 0); UPDATE things SET count = 7 WHERE id = 'k2'; DELETE FROM things WHERE id = 'k3';
        """

    @Test func importTellsKeysOfRowsThatDiffer() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        var notices = engine.changeNotices().makeAsyncIterator()
        _ = try await engine.sync()
        let first = try #require(await notices.next())
        #expect(first.map(\.dataset) == ["things"] && first[0].inserted.count == 10 && first[0].count == 10)
        try scene.writer.run(Self.edit)
        try await scene.export()
        _ = try await engine.sync()
        let second = try #require(await notices.next())
        #expect(second == [DatasetChanges(dataset: "things", inserted: keys("new"), updated: keys("k2"), deleted: keys("k3"))])
    }

    @Test func rowsThatOnlyPassThroughTheTableAreNotTold() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        _ = try await engine.sync()
        try scene.writer.run(Self.edit)
        try await scene.export()
        // Rows in doubt: the import deletes and inserts every row of the block.
        try scene.reader.run("UPDATE snapsync_tracking SET isComplete = 0")
        let notices = engine.changeNotices()
        let report = try await engine.sync()
        #expect((report.imported?.datasets.first?.blocksFetched ?? 0) > 0)
        var iterator = notices.makeAsyncIterator()
        #expect(await iterator.next() == [DatasetChanges(dataset: "things", inserted: keys("new"), updated: keys("k2"), deleted: keys("k3"))])
    }

    @Test func applicationsTriggersChangeNothingOfIt() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        try scene.reader.run(
            """
            CREATE TABLE seen(id TEXT);
            CREATE TRIGGER mine AFTER UPDATE ON things BEGIN INSERT INTO seen VALUES(NEW.id); UPDATE things SET size = 1 WHERE id = 'k9'; END;
            """)
        _ = try await engine.sync()
        try scene.writer.run(Self.edit)
        try await scene.export()
        var notices = engine.changeNotices().makeAsyncIterator()
        _ = try await engine.sync()
        #expect(await notices.next() == [DatasetChanges(dataset: "things", inserted: keys("new"), updated: keys("k2"), deleted: keys("k3"))])
        #expect(try scene.reader.run("SELECT id FROM seen") == "k2\n")
        #expect(try scene.differences() == "")
    }

    @Test func slowConsumerGetsTheUnion() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        _ = try await engine.sync()
        var notices = engine.changeNotices().makeAsyncIterator()
        for sql in [Self.edit, "DELETE FROM things WHERE id IN ('new', 'k4'); INSERT INTO things(id, count) VALUES('k3', 1)"] {
            try scene.writer.run(sql)
            try await scene.export()
            _ = try await engine.sync()
        }
        #expect(await notices.next() == [DatasetChanges(dataset: "things", updated: keys("k2", "k3"), deleted: keys("k4"))])
    }

    @Test func moreKeysThanTheLimitAreToldAsEverything() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        var narrow = engine.changeNotices(keyLimit: 9).makeAsyncIterator(), wide = engine.changeNotices(keyLimit: 10).makeAsyncIterator()
        _ = try await engine.sync()
        #expect(await narrow.next() == [.everything(of: "things")])
        #expect(await wide.next()?.first?.inserted.count == 10)
    }

    @Test func compositeKeysAreTold() async throws {
        let schema = try DatasetSchema(
            name: "lines", table: "lines", keys: ["order_id", "line"], timestamp: nil,
            columns: [DatasetColumn("order_id", .integer), DatasetColumn("line", .text, collation: .nocase), DatasetColumn("amount", .integer)])
        let scene = try await SyncScene(
            "CREATE TABLE lines(order_id INTEGER, line TEXT COLLATE NOCASE, amount INTEGER, PRIMARY KEY(order_id, line)) WITHOUT ROWID;", datasets: [schema])
        try scene.writer.run("INSERT INTO lines VALUES(1, 'a', 1), (1, 'b', 1), (2, 'a', 1)")
        try await scene.export()
        let engine = try scene.engine("reader.db")
        _ = try await engine.sync()
        var notices = engine.changeNotices().makeAsyncIterator()
        try scene.writer.run("UPDATE lines SET amount = 2 WHERE order_id = 1 AND line = 'b'; DELETE FROM lines WHERE order_id = 2")
        try await scene.export()
        _ = try await engine.sync()
        let changes = try #require(await notices.next()?.first)
        #expect(changes.updated.map(\.values) == [[.integer(1), .text(Array("b".utf8))]])
        #expect(changes.deleted.map(\.values) == [[.integer(2), .text(Array("a".utf8))]] && changes.inserted.isEmpty)
    }

    @Test func restoresAreTold() async throws {
        let scene = try await scene()
        let engine = try scene.engine("writer.db")
        try scene.writer.run("UPDATE things SET count = 70 WHERE id = 'k7'")
        try await scene.export()
        var notices = engine.changeNotices().makeAsyncIterator()
        _ = try await engine.versions.restore(.version(1))
        #expect(await notices.next() == [DatasetChanges(dataset: "things", updated: keys("k7"))])
    }

    @Test func failedImportTellsNothing() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        try scene.reader.run("CREATE TABLE own(thing TEXT REFERENCES things(id) ON DELETE RESTRICT)")
        _ = try await engine.sync()
        try scene.reader.run("INSERT INTO own VALUES('k3')")
        try scene.writer.run(Self.edit)
        try await scene.export()
        var notices = engine.changeNotices().makeAsyncIterator()
        await #expect(throws: SyncError.self) { try await engine.sync() }
        try scene.reader.run("DELETE FROM own")
        _ = try await engine.sync()
        // Had the first import been told, the second would have changed nothing of this.
        #expect(await notices.next() == [DatasetChanges(dataset: "things", inserted: keys("new"), updated: keys("k2"), deleted: keys("k3"))])
    }

    @Test func nothingIsNotedWhenNobodyListens() async throws {
        let scene = try await scene()
        let engine = try scene.engine("reader.db")
        func temporaryTables() throws -> Int {
            try engine.database.write { transaction in
                try transaction.tracking.importing(scene.datasets) { try Int.fetchOne(transaction.db, sql: "SELECT count(*) FROM temp.sqlite_schema") ?? -1 }
            }
        }
        #expect(try temporaryTables() == 0)
        var notices: ChangeNotices? = engine.changeNotices()
        #expect(notices != nil)
        #expect(try temporaryTables() > 0)
        notices = nil
        #expect(try temporaryTables() == 0)
    }
}
