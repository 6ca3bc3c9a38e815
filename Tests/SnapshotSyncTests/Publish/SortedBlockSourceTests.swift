import Foundation
import LocalStore
import LocalTables
import Platform
import SnapshotFormat
import SnapshotModel
import StrictText
@testable import SyncRuns
import Synchronization
import TestSupport
import Testing

@testable import SnapshotEngine

/// A table that is read as it lies and sorted in scratch files gives the blocks that it gives in key order.
@Suite struct SortedBlockSourceTests {
    private static let rowCount = 3000

    private let scratch: ScratchDirectory
    private let schema: DatasetSchema

    init() throws {
        scratch = try ScratchDirectory()
        schema = try .everyKind()
    }

    private func run(_ sql: String) throws { try SQLiteShell("app.db", in: scratch.path).run(sql) }

    private func makeTable(_ journal: String = "wal", _ more: String = "") throws {
        try run("PRAGMA journal_mode = \(journal); \(DatasetSchema.everyKindTable()); \(DatasetSchema.manyRows(Self.rowCount)); \(more)")
    }

    /// Small enough for a table of some hundred kilobytes.
    private var limits: SortedBlockSource.Limits {
        var limits = SortedBlockSource.Limits()
        limits.databaseBytes = 0
        limits.rangeBytes = 16 << 10...16 << 10
        return limits
    }

    private struct Sources {
        let sorted: SortedBlockSource?
        let ordered: any BlockSource
    }

    /// Passes the source, and one that reads in key order, to `body`.
    private func withSources(
        readers: Int, _ limits: SortedBlockSource.Limits, schema: DatasetSchema? = nil, blockEntities: Int = 20, _ body: (Sources) throws -> Void
    ) throws {
        let schema = schema ?? self.schema
        let database = try LocalDatabase(path: scratch.path("app.db"))
        let session = try ReadSession(database, readers: readers)
        defer { session.end() }
        try session.withReader(0) { reader in
            let shape = try reader.transaction.tables.check(of: schema)
            let sorted = try SortedBlockSource(
                session, reader, schema: schema, shape: shape, by: BlockCutter(blockEntities: blockEntities), meanBlockBytes: 4096, limits: limits)
            let ordered = RowBlockSource(rows: try reader.rows(of: schema), schema: schema, cutter: BlockCutter(blockEntities: blockEntities), workerCount: 1)
            try body(Sources(sorted: sorted, ordered: ordered))
        }
    }

    private func expectSameBlocks(readers: Int, _ limits: SortedBlockSource.Limits, schema: DatasetSchema? = nil) throws {
        try withSources(readers: readers, limits, schema: schema) { sources in
            let sorted = try #require(sources.sorted)
            #expect(sorted.workerCount == 2)
            #expect(sorted.runCount == nil)
            let blocks = try sorted.allBlocks()
            #expect(blocks == (try sources.ordered.allBlocks()))
            #expect(blocks.count > 100)
        }
    }

    @Test(arguments: ["wal", "delete"]) func itsBlocksAreThoseOfTheKeyOrder(journal: String) throws {
        try makeTable(journal)
        try expectSameBlocks(readers: 3, limits)
        #expect(try FileListing(of: scratch.path).entries.keys.allSatisfy { $0 == "." || $0.hasPrefix("app.db") })
    }

    /// Both workers at once, as an export runs them.
    @Test(arguments: ["wal", "delete"]) func twoWorkersAtOnceGiveTheSameBlocks(journal: String) throws {
        try makeTable(journal)
        try withSources(readers: 3, limits) { sources in
            let sorted = try #require(sources.sorted)
            let runs = Mutex<[Int: [[UInt8]]]>([:])
            BlockingThreads.run(
                2,
                { worker in
                    var run: [[UInt8]] = []
                    #expect(throws: Never.self) {
                        try sorted.run(
                            worker: worker, take: { _, block in run.append(Array(block.bytes)) },
                            end: { number in
                                runs.withLock { $0[number] = run }
                                run = []
                                return true
                            })
                    }
                }
            ) {}
            let blocks = runs.withLock { $0 }.sorted { $0.key < $1.key }.flatMap(\.value)
            #expect(blocks == (try sources.ordered.allBlocks()))
            #expect(sorted.runCount == runs.withLock(\.count))
        }
    }

    /// Keys of several columns, of another collation, negative rowids and gaps of rowids.
    @Test func compositeKeysAndOddRowidsAreSorted() throws {
        try run(
            """
            PRAGMA journal_mode = wal; CREATE TABLE pairs(name TEXT COLLATE NOCASE, number INTEGER, rowid TEXT, PRIMARY KEY(name, number));
            WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(Self.rowCount))
            INSERT INTO pairs(_rowid_, name, number, rowid)
            SELECT (n - 1500) * 4611686018427387, CASE n % 3 WHEN 0 THEN 'Key' WHEN 1 THEN 'key b' ELSE 'KEY C' END, (n * 2654435761) % 4294967296, 'x'
            FROM numbers;
            """)
        let pairs = try DatasetSchema(
            name: "pairs", table: "pairs", keys: ["name", "number"], timestamp: nil,
            columns: [
                DatasetColumn("name", .text, collation: .nocase), DatasetColumn("number", .integer),
                DatasetColumn("rowid", .text, isOptional: true),
            ])
        try expectSameBlocks(readers: 3, limits, schema: pairs)
        try expectSameBlocks(readers: 1, limits, schema: pairs)
    }

    @Test(arguments: [1, 3]) func aFullDiskLeadsToTheKeyOrder(readers: Int) throws {
        try makeTable()
        var limits = limits
        limits.makeFile = { _ in try ScratchFile(device: "/dev/full") }
        try expectSameBlocks(readers: readers, limits)
    }

    @Test(arguments: [1, 3]) func aFileThatLosesItsBytesLeadsToTheKeyOrder(readers: Int) throws {
        try makeTable()
        var limits = limits
        limits.makeFile = { _ in try ScratchFile(device: "/dev/null") }
        try expectSameBlocks(readers: readers, limits)
        limits.makeFile = { _ in try ScratchFile(device: "/dev/zero") }
        try expectSameBlocks(readers: readers, limits)
    }

    /// A record's bytes lie in the file from its first byte on.
    @Test(arguments: [40, 4096, 100_000]) func aFileThatGivesAnotherByteBackLeadsToTheKeyOrder(offset: Int) throws {
        try makeTable()
        let path = scratch.path("runs")
        var limits = limits
        limits.makeFile = { _ in
            if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
            return try ScratchFile(device: path)
        }
        try withSources(readers: 2, limits) { sources in
            let sorted = try #require(sources.sorted)
            #expect(sorted.workerCount == 1)
            var run: [[UInt8]] = [], blocks: [[UInt8]] = []
            var isAltered = false
            try sorted.run(
                worker: 0, take: { _, block in run.append(Array(block.bytes)) },
                end: { _ in
                    // The rows are in the file now, and one range after the other is read.
                    if !isAltered {
                        let file = try #require(FileHandle(forUpdatingAtPath: path))
                        try file.seek(toOffset: UInt64(offset))
                        let byte = try #require(try file.read(upToCount: 1)).first ?? 0
                        try file.seek(toOffset: UInt64(offset))
                        try file.write(contentsOf: Data([byte ^ 1]))
                        isAltered = true
                    }
                    blocks += run
                    run = []
                    return true
                })
            #expect(isAltered)
            #expect(blocks == (try sources.ordered.allBlocks()))
        }
    }

    @Test(arguments: [1, 3]) func rangesThatAreTooLargeForMemoryAreReadInKeyOrder(readers: Int) throws {
        try makeTable()
        var limits = limits
        limits.rangeBytes = 16...16
        try expectSameBlocks(readers: readers, limits)
    }

    @Test(arguments: [1, 3]) func aBadRowEndsBothWorkersForGood(readers: Int) throws {
        try makeTable("wal", "UPDATE things SET tags = 'no JSON' WHERE count = 1234")
        try withSources(readers: readers, limits) { sources in
            let sorted = try #require(sources.sorted)
            for worker in [0, 1, 0] {
                let error = #expect(throws: SyncError.self) {
                    try sorted.run(worker: worker, take: { _, _ in Issue.record("a block came") }, end: { _ in true })
                }
                #expect(error?.format == .badRow)
            }
            #expect(sorted.runCount == nil)
        }
    }

    /// Whichever worker meets the row, and whenever: no worker takes the rows that are missing then for a damaged table.
    @Test(arguments: 0..<20) func twoWorkersAtOnceTellTheSameBadRow(number: Int) throws {
        try makeTable("wal", "UPDATE things SET tags = 'no JSON' WHERE count = \(2999 - number)")
        try withSources(readers: 3, limits) { sources in
            let sorted = try #require(sources.sorted)
            BlockingThreads.run(
                2,
                { worker in
                    let error = #expect(throws: SyncError.self) {
                        try sorted.run(worker: worker, take: { _, _ in Issue.record("a block came") }, end: { _ in true })
                    }
                    #expect(error?.format == .badRow)
                }
            ) {}
        }
    }

    @Test func anIndexWithFewerKeysThanRowsIsToldOf() throws {
        try makeTable()
        // The row is in the table and not in its index.
        try run(
            """
            PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'TEXT PRIMARY KEY', 'TEXT') WHERE name = 'things';
            DELETE FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'things';
            """)
        try run("INSERT INTO things(id, count) VALUES('ffff-new', 1)")
        try run(
            """
            PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'id TEXT', 'id TEXT PRIMARY KEY') WHERE name = 'things';
            INSERT INTO sqlite_schema VALUES('index', 'sqlite_autoindex_things_1', 'things', 3, NULL);
            """)
        try withSources(readers: 3, limits) { sources in
            let sorted = try #require(sources.sorted)
            let error = #expect(throws: SyncError.self) {
                try sorted.run(worker: 0, take: { _, _ in Issue.record("a block came") }, end: { _ in true })
            }
            #expect(error?.database == .damaged)
            #expect("\(try #require(error))".contains("3000 keys, and the table 3001 rows"))
        }
    }

    @Test func aTableWhoseRowsLieInKeyOrderIsNotSorted() throws {
        try makeTable("wal", "CREATE TABLE others AS SELECT * FROM things ORDER BY id; DELETE FROM things; INSERT INTO things SELECT * FROM others")
        try withSources(readers: 3, limits) { #expect($0.sorted == nil) }
    }

    @Test func smallDatabasesLargeEntitiesAndFoldersWithoutRoomAreNotSorted() throws {
        try makeTable()
        try withSources(readers: 3, SortedBlockSource.Limits()) { #expect($0.sorted == nil) }
        try withSources(readers: 3, limits, blockEntities: 15) { #expect($0.sorted == nil) }
        var limits = limits
        limits.jsonQuarters = 1 << 40
        try withSources(readers: 3, limits) { #expect($0.sorted == nil) }
        limits = self.limits
        limits.makeFile = { try ScratchFile(inFolder: $0 + "/no-such-folder") }
        try withSources(readers: 3, limits) { #expect($0.sorted == nil) }
    }
}
