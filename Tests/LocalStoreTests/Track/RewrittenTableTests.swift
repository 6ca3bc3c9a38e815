import GRDB
@testable import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// Tables of which every row was written: what is read from the log is what consolidating it gives.
@Suite struct RewrittenTableTests {
    /// With a limit of few exceptions, the instant that most rows have is found as one for all of them.
    @Test(arguments: [(false, 20_000), (true, 20_000), (false, 2), (true, 2)])
    func theLogSaysWhatItsConsolidationSays(isComposite: Bool, limit: Int) throws {
        var foundCount = 0, exceptionCount = 0, commonCount = 0, columnCount = 0
        let seeds = Sample.of(0...UInt64(149), oneIn: 7)
        for seed in seeds {
            let history = try RewrittenHistory(seed: seed, isComposite: isComposite, isStamped: seed % 10 > 0)
            try history.play()
            // Another thread helps to read a log of many parts, and finds the same.
            let tables = try history.database.read { transaction in
                try [nil, history.database].map {
                    try transaction.changeLog.rewrittenTable(
                        of: history.schema, atLeast: 1, exceptions: limit, helpedBy: $0, inPartsOf: 1 + Int64(seed % 3))
                }
            }
            // Of several instants that equally many rows have, any may be the common one.
            if limit > 10 { #expect(String(describing: tables[0]) == String(describing: tables[1]), "seed \(seed)") }
            guard let found = tables[Int(seed % 2)] else { continue }
            foundCount += 1
            commonCount += found.common == nil ? 0 : 1
            exceptionCount += found.instants.count + found.deletions.count
            let instants = try history.instants { try $0.forEachEntity(of: history.schema, in: found, do: $1) }
            let expected = try history.outcome { transaction in
                try transaction.changeLog.consolidate(of: [history.schema])
                let changes = try transaction.changeLog.changes(of: history.schema, in: KeyRange(number: 0, first: nil, next: nil))
                #expect(try history.instants(transaction) { try $0.forEachEntity(of: history.schema, do: $1) } == instants, "seed \(seed)")
                #expect(changes.filter(\.isDeletion).map { "\($0.key) \($0.instant)" } == found.deletions.map { "\($0.key) \($0.at)" }, "seed \(seed)")
                #expect(changes.map(\.instant).max() == found.latest, "seed \(seed)")
                if let columns = found.columns {
                    columnCount += 1
                    #expect(changes.allSatisfy { if case .some(let changed) = $0.columns { changed.keys.sorted() == columns } else { false } }, "seed \(seed)")
                }
                try transaction.changeLog.acknowledge(of: history.schema, upTo: found.sequence)
            }
            let outcome = try history.outcome { try $0.changeLog.acknowledge(found, of: history.schema) }
            #expect(outcome == expected, "seed \(seed)")
            // Another run may have consolidated the log in the meantime.
            let late = try history.outcome {
                try $0.changeLog.consolidate(of: [history.schema])
                try $0.changeLog.acknowledge(found, of: history.schema)
            }
            #expect(late == expected, "seed \(seed)")
        }
        #expect(columnCount > 0)
        #expect(min(foundCount, exceptionCount) > seeds.count / 3, "found \(foundCount) tables with \(exceptionCount) exceptions")
        #expect(limit > 10 ? commonCount == 0 : commonCount > seeds.count / 5, "found \(commonCount) tables with one instant")
    }

    /// Between an export's look at the rows and its record the application goes on.
    @Test func whatChangesAfterTheLookIsNotTheVersions() throws {
        let rows = (1...9).map { "('k\($0)', '2026-01-01T00:00:00Z', \($0), 'N')" }.joined(separator: ", ")
        let things = try TrackedThings(rows: rows)
        try things.run(#"UPDATE "my things" SET "the ""name""" = 'new'"#)
        let found = try #require(try things.database.read { try $0.changeLog.rewrittenTable(of: things.schema, atLeast: 2, exceptions: 1) })
        #expect(found.common != nil && found.instants.isEmpty)
        try things.run(
            """
            DELETE FROM "my things" WHERE id = 'k1'; UPDATE "my things" SET slot = 19 WHERE id = 'k2'; UPDATE "my things" SET id = 'k0' WHERE id = 'k3';
            INSERT INTO "my things" VALUES('l', '2020-01-01T00:00:00Z', 20, 'L');
            INSERT OR REPLACE INTO "my things" VALUES('k4', '2020-01-01T00:00:00Z', 21, 'R')
            """)
        try things.database.write { try $0.changeLog.acknowledge(found, of: things.schema) }
        func keys(_ condition: String) throws -> [String] {
            let sql = "SELECT key FROM \(condition) ORDER BY key"
            return try things.application.read { try String.fetchAll($0, sql: sql, arguments: ["common": found.common?.microseconds]) }
        }
        #expect(try keys("snapsync_instants WHERE at = :common") == (1...9).map { "k\($0)" })
        // An edit on top is later than the version; a new row has its own timestamp.
        #expect(try things.changes().count == 6)
        try things.database.write { try $0.changeLog.consolidate(of: [things.schema]) }
        #expect(try keys("snapsync_changes WHERE at > :common") == ["k0", "k1", "k2", "k3", "k4"])
        #expect(try keys("snapsync_changes WHERE at = 1577836800000000 AND :common > at") == ["l"])
    }

    @Test func aRowThatWasNotWrittenLeavesTheLogToItsConsolidation() throws {
        let things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A'), ('b', '2026-01-01T00:00:00Z', 2, 'B')")
        func isFound() throws -> Bool { try things.database.read { try $0.changeLog.rewrittenTable(of: things.schema, atLeast: 2) != nil } }
        try things.run("UPDATE \"my things\" SET changed = '2026-01-02T00:00:00Z' WHERE id = 'a'")
        try things.run("UPDATE \"my things\" SET changed = '2026-01-03T00:00:00Z' WHERE id = 'a'")
        #expect(try !isFound())
        try things.run("UPDATE \"my things\" SET changed = '2026-01-02T00:00:00Z' WHERE id = 'b'")
        #expect(try isFound())
        // What REPLACE removed for the sake of another column only the rows tell.
        try things.run("INSERT OR REPLACE INTO \"my things\" VALUES('c', '2026-01-04T00:00:00Z', 1, 'C')")
        #expect(try !isFound())
    }

    @Test func anApplicationsTriggersOnTheTableLeaveItToItsConsolidation() throws {
        let things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A')")
        try things.run("CREATE TRIGGER touch AFTER UPDATE ON \"my things\" BEGIN UPDATE \"my things\" SET slot = 7 WHERE id = NEW.id; END")
        try things.run("UPDATE \"my things\" SET changed = '2026-01-02T00:00:00Z'")
        #expect(try things.database.read { try $0.changeLog.rewrittenTable(of: things.schema, atLeast: 1) } == nil)
    }

    @Test func aSessionConsolidatesWhatChangedAfterTheLook() throws {
        let things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A'), ('b', '2026-01-01T00:00:00Z', 2, 'B')")
        try things.run("UPDATE \"my things\" SET changed = '2026-01-02T00:00:00Z'")
        let found = try #require(try things.database.read { try $0.changeLog.rewrittenTable(of: things.schema, atLeast: 2) })
        let left = try ReadSession(things.database, readers: 1, consolidating: [things.schema], except: ["things": found])
        #expect(left.rewritten["things"]?.sequence == found.sequence)
        #expect(try left.withReader(0) { try $0.transaction.changeLog.hasEntries([things.schema]) })
        left.end()
        try things.run("UPDATE \"my things\" SET slot = 5 WHERE id = 'b'")
        let later = try ReadSession(things.database, readers: 1, consolidating: [things.schema], except: ["things": found])
        #expect(later.rewritten.isEmpty)
        #expect(try later.withReader(0) { try $0.transaction.changeLog.count(of: things.schema, upTo: 9) } == 2)
    }
}

/// A small table with a version behind it, some edits, and then a statement for every row.
private final class RewrittenHistory {
    let schema: DatasetSchema
    let database: LocalDatabase
    private let scratch: ScratchDirectory
    private let application: DatabaseQueue
    private let clock = Clock()
    private var random: SeededGenerator

    private final class Clock: @unchecked Sendable {
        // SAFETY: a history runs one step after another.
        var milliseconds: Int64 = 1_790_000_000_000
    }

    init(seed: UInt64, isComposite: Bool, isStamped: Bool) throws {
        random = SeededGenerator(seed: seed)
        schema = try DatasetSchema(
            name: "things", table: "things", keys: isComposite ? ["id", "part"] : ["id"], timestamp: isStamped ? "changed" : nil,
            columns: [
                DatasetColumn("id", .text), DatasetColumn("part", .integer), DatasetColumn("changed", .text, isOptional: true), DatasetColumn("note", .text),
            ])
        scratch = try ScratchDirectory(inMemory: true)
        let clock = clock
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(function: DatabaseFunction("julianday", argumentCount: 1) { _ in 2440587.5 + Double(clock.milliseconds) / 86_400_000 })
        }
        application = try DatabaseQueue(path: scratch.path("things.db"), configuration: configuration)
        let key = isComposite ? "id, part" : "id"
        try application.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try application.write {
            try $0.execute(sql: "CREATE TABLE things(id TEXT NOT NULL, part INTEGER NOT NULL, changed TEXT, note TEXT NOT NULL, PRIMARY KEY(\(key)))")
        }
        database = try LocalDatabase(path: scratch.path("things.db"))
        try database.write { transaction in
            _ = try transaction.tracking.install([schema])
            try LocalTable.datasets.create(in: transaction.db)
        }
    }

    /// What a change of the tracking tables leaves there: tombstones, instants, changes and the log. The change itself is undone.
    func outcome(_ body: (LocalTransaction) throws -> Void) throws -> [String] {
        try database.holdingWriteLock { transaction in
            try body(transaction)
            // An instant that the row's own timestamp says as well says nothing.
            let own = "SELECT \(schema.ownInstantSQL) FROM things t WHERE \(schema.keySQL.matches("t", "key"))"
            // What is read from the log says of some rows only when they were last changed.
            let instants = "(SELECT dataset, key, at FROM snapsync_instants WHERE at IS NOT (\(own)))"
            return try ["snapsync_tombstones", instants, "snapsync_changes", "snapsync_log"].flatMap { table in
                try Row.fetchAll(transaction.db, sql: "SELECT * FROM \(table) ORDER BY 1, 2").map { "\(table) \($0.map { "\($0)=\($1)" })" }
            }
        }
    }

    /// The instant of each row of the next version, as one way to find the instants says it.
    func instants(
        _ transaction: LocalTransaction, _ entities: (TombstonesAndInstants, (EntityKey, RowInstants?, Instant?, Bool) throws -> Void) throws -> Void
    ) throws -> [String] {
        var found: [String] = []
        try entities(transaction.tombstonesAndInstants) { key, instants, _, _ in
            let own = try transaction.rows.ownInstant(of: key, in: schema)
            found.append("\(key) \(instants?.latest(own: own).description ?? own?.description ?? "never")")
        }
        return found
    }

    func instants(_ entities: (TombstonesAndInstants, (EntityKey, RowInstants?, Instant?, Bool) throws -> Void) throws -> Void) throws -> [String] {
        try database.read { try instants($0, entities) }
    }

    func play() throws {
        for _ in 0..<random.below(3) {
            for _ in 0..<(2 + random.below(12)) { try edit("k\(random.below(6))") }
            if random.happens(percent: 30) { try rewrite() }
            try publish()
        }
        for _ in 0..<random.below(6) { try edit("k\(random.below(6))") }
        for _ in 0..<(1 + random.below(2)) { try rewrite() }
        if random.happens(percent: 30) { try edit("k\(random.below(6))") }
    }

    private func publish() throws {
        let time = Instant(microseconds: clock.milliseconds * 1000)
        try database.write { transaction in
            try transaction.changeLog.consolidate(of: [schema])
            try transaction.changeLog.acknowledge(of: schema, upTo: transaction.changeLog.lastEntry())
            try transaction.datasetStates.set(DatasetState(name: "things", syncTimestamp: time, recordCount: 0, unknownFields: []))
        }
    }

    private func stamp() -> String? {
        switch random.below(20) {
        case 0: nil
        case 1: "yesterday"
        case 2: "9999-12-31T23:59:59Z"
        case 3: "2001-02-03T04:05:06+02:00"
        default: Instant(microseconds: clock.milliseconds * 1000 - Int64(random.below(3)) * 500).description
        }
    }

    private func run(_ sql: String, _ arguments: [(any DatabaseValueConvertible)?]) throws {
        clock.milliseconds += Int64(random.below(4))
        try application.write { try $0.execute(sql: sql, arguments: StatementArguments(arguments)) }
    }

    private func edit(_ key: String) throws {
        switch random.below(7) {
        case 0: try run("DELETE FROM things WHERE id = ?", [key])
        case 1: try run("UPDATE OR IGNORE things SET id = ? WHERE id = ?", ["k\(random.below(6))", key])
        case 2: try run("UPDATE things SET note = note || '!' WHERE id = ?", [key])
        case 3: try run("INSERT OR IGNORE INTO things VALUES(?, 1, ?, 'ignored')", [key, stamp()])
        case 4: try run("INSERT INTO things VALUES(?, 1, ?, 'upserted') ON CONFLICT DO UPDATE SET changed = excluded.changed", [key, stamp()])
        case 5: try run("INSERT OR REPLACE INTO things VALUES(?, 1, ?, 'replaced')", [key, stamp()])
        default: try run("UPDATE things SET changed = ? WHERE id = ?", [stamp(), key])
        }
    }

    /// Writes every row that is there.
    private func rewrite() throws {
        clock.milliseconds += Int64(random.below(3)) * 1000
        let keys = try application.read { try String.fetchAll($0, sql: "SELECT id FROM things ORDER BY id") }.shuffled(using: &random)
        let changed = stamp()
        switch random.below(7) {
        case 0: try run("UPDATE things SET changed = ?", [changed])
        case 4: try run("UPDATE things SET note = note || '?'", [])
        case 5:
            try run("CREATE TABLE kept AS SELECT * FROM things", [])
            try run("DELETE FROM things", [])
            try run("INSERT INTO things SELECT * FROM kept ORDER BY note DESC", [])
            try run("DROP TABLE kept", [])
        case 6:
            try run("UPDATE things SET note = note || '?'", [])
            if let key = keys.first { try run("DELETE FROM things WHERE id = ?", [key]) }
        case 1:
            try run("DELETE FROM things", [])
            for key in keys where random.happens(percent: 95) { try run("INSERT INTO things VALUES(?, 1, ?, 'inserted')", [key, stamp()]) }
        case 2: for key in keys { try run("INSERT OR REPLACE INTO things VALUES(?, 1, ?, 'replaced')", [key, changed]) }
        default: for key in keys { try run("UPDATE things SET changed = ? WHERE id = ?", [stamp(), key]) }
        }
    }
}
