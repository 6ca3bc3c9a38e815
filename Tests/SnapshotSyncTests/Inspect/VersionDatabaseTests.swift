import GRDB
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotTools

/// A version as a database of an application, with datasets that no description in the zone names.
@Suite struct VersionDatabaseTests {
    private func scene(_ rows: Int) async throws -> SyncScene {
        let scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()]).filled(rows == 0 ? "" : DatasetSchema.manyRows(rows))
        try await scene.export()
        return scene
    }

    /// All rows of both sides are equal, column by column, with their storage classes.
    @Test(arguments: [0, 1, 6000]) func tableHasTheRowsOfThePublisher(count: Int) async throws {
        let scene = try await scene(count)
        let version = try await scene.engine("reader.db").inspector().database()
        #expect(version.number == 1 && version.tables == ["things"])
        let queue = try await version.database(), own = try DatabaseQueue(path: scene.scratch.path("writer.db"))
        for sql in ["SELECT * FROM things ORDER BY id", "SELECT count(*) FROM things", "SELECT * FROM things WHERE id > '8' ORDER BY id LIMIT 5"] {
            let found = try await queue.read { try Row.fetchAll($0, sql: sql) }
            let expected = try await own.read { try Row.fetchAll($0, sql: sql) }
            #expect(found == expected, "\(sql)")
        }
        let keys = try await own.read { try String.fetchAll($0, sql: "SELECT id FROM things ORDER BY count LIMIT 7") }
        let rows = try await version.rows(of: "things", keys: (keys + ["none"]).map { EntityKey($0) })
        #expect(rows.map { $0["id"] as String } == keys)
        await #expect(throws: SyncError.self) { try await version.rows(of: "other", keys: []) }
    }

    @Test func databaseOnlyReads() async throws {
        let version = try await scene(3).engine("reader.db").inspector().database(at: .version(1)), queue = try await version.database()
        for sql in ["DELETE FROM things", "CREATE TABLE t(x)", "ATTACH ':memory:' AS other", "PRAGMA user_version = 7"] {
            await #expect(throws: DatabaseError.self, "\(sql)") { try await queue.write { try $0.execute(sql: sql) } }
        }
        #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM things WHERE id IN (SELECT id FROM things)") } == 3)
    }
}
