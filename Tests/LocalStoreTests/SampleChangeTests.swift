import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct SampleChangeTests {
    private func scene(_ count: Int) throws -> LocalScene {
        let scene = try LocalScene("")
        let data = SampleData(notifications: count, buckets: 3, seed: 1)
        try scene.database.write { transaction in
            _ = try transaction.tables.createBuiltIn()
            try data.sendBuckets(to: transaction.rows.inserting(into: .buckets))
            try data.sendNotifications(to: transaction.rows.inserting(into: .notifications))
        }
        return scene
    }

    private let instant = Instant(microseconds: 1_900_000_000_000_000)

    @Test(arguments: [(50, 0, 0), (50, 1, 1), (50, 7, 7), (50, 50, 50), (50, 80, 50), (0, 3, 0), (50, -1, 0)])
    func exactlySoManyNotificationsAreMarked(rows: Int, count: Int, marked: Int) throws {
        let scene = try scene(rows)
        let before = try scene.rows(of: .notifications)
        #expect(try scene.database.write { try $0.rows.markNotificationsRead(count: count, seed: 5, at: instant) } == marked)
        let after = try scene.rows(of: .notifications)
        let changed = zip(before, after).filter { $0 != $1 }
        #expect(changed.count == marked)
        for (old, new) in changed {
            var expected = old
            expected[4] = .text(instant.description)
            expected[7] = .text(instant.description)
            #expect(new == expected)
        }
    }

    @Test func theSeedChoosesWhichOnes() throws {
        func marked(seed: UInt64) throws -> String {
            let scene = try scene(200)
            _ = try scene.database.write { try $0.rows.markNotificationsRead(count: 20, seed: seed, at: instant) }
            return try scene.app.run("SELECT id FROM notifications WHERE readAt = '\(instant)' ORDER BY id")
        }
        #expect(try marked(seed: 1) == marked(seed: 1))
        #expect(try marked(seed: 1) != marked(seed: 2))
    }

    @Test func theBuiltInTablesAreMadeOnceAndTakenByTheBuiltInDatasets() throws {
        let scene = try LocalScene("CREATE TABLE buckets(id TEXT PRIMARY KEY, name TEXT)")
        #expect(try scene.database.write { try $0.tables.createBuiltIn() } == ["notifications"])
        #expect(try scene.database.write { try $0.tables.createBuiltIn() } == [])
        try scene.app.run("DROP TABLE buckets")
        #expect(try scene.database.write { try $0.tables.createBuiltIn() } == ["buckets"])
        for schema in DatasetSchema.builtIn {
            let shape = try scene.database.read { try $0.tables.check(of: schema) }
            #expect(shape.hasRangeableKey)
            #expect(shape.undescribedColumns == [])
        }
    }
}
