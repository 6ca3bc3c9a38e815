import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine

/// A worker that meets a bad row tells the others a moment later; until then they must find nothing more.
@Suite struct BlockSourceTests {
    private let scratch: ScratchDirectory
    private let database: LocalDatabase
    private let schema: DatasetSchema

    init() throws {
        scratch = try ScratchDirectory()
        schema = try .everyKind()
        try SQLiteShell("app.db", in: scratch.path).run(
            """
            PRAGMA journal_mode = wal; \(DatasetSchema.everyKindTable()); \(DatasetSchema.manyRows(300))
            """)
        database = try LocalDatabase(path: scratch.path("app.db"))
    }

    private func run(_ sql: String) throws { try SQLiteShell("app.db", in: scratch.path).run(sql) }

    private func expectFailureForGood(_ source: any BlockSource) throws {
        let error = try #require(throws: (any Error).self) { try source.run(worker: 0, take: { _, _ in }, end: { _ in true }) }
        #expect((error as? SyncError)?.isBadRow == true)
        for worker in [1, 0] {
            #expect(throws: (any Error).self) {
                try source.run(
                    worker: worker, take: { number, _ in Issue.record("a block of run \(number) came after the error") },
                    end: { number in
                        Issue.record("run \(number) came after the error")
                        return true
                    })
            }
        }
        #expect(source.runCount == nil)
    }

    @Test(arguments: [0, 150, 299]) func aRowSourceThatMeetsABadRowGivesNothingMore(position: Int) throws {
        try run("UPDATE things SET tags = 'no JSON' WHERE id = (SELECT id FROM things ORDER BY id LIMIT 1 OFFSET \(position))")
        let session = try ReadSession(database, readers: 1)
        defer { session.end() }
        try session.withReader(0) { reader in
            let source = RowBlockSource(rows: try reader.rows(of: schema), schema: schema, cutter: BlockCutter(blockEntities: 1000), workerCount: 2)
            try expectFailureForGood(source)
        }
    }

    @Test func aRangeSourceThatMeetsABadKeyGivesNothingMore() throws {
        try run("INSERT INTO things(id) VALUES(NULL)")
        let session = try ReadSession(database, readers: 3)
        defer { session.end() }
        try session.withReader(0) { reader in
            let source = RangeBlockSource(session: session, cursor: try reader.keys(of: schema), schema: schema, cutter: BlockCutter(blockEntities: 1000))
            try expectFailureForGood(source)
        }
    }

    private func sources(_ reader: DatasetReader, _ session: ReadSession) throws -> [any BlockSource] {
        [
            RowBlockSource(rows: try reader.rows(of: schema), schema: schema, cutter: BlockCutter(blockEntities: 20), workerCount: 2),
            RangeBlockSource(session: session, cursor: try reader.keys(of: schema), schema: schema, cutter: BlockCutter(blockEntities: 20)),
        ]
    }

    @Test func bothSourcesGiveTheSameBlocks() throws {
        let session = try ReadSession(database, readers: 3)
        defer { session.end() }
        try session.withReader(0) { reader in
            let blocks = try sources(reader, session).map { source in
                #expect(source.runCount == nil)
                return try source.allBlocks()
            }
            #expect(blocks[0] == blocks[1])
            #expect(blocks[0].count > 5)
        }
    }

    @Test func anEmptyTableHasNoRuns() throws {
        try run("DELETE FROM things")
        let session = try ReadSession(database, readers: 3)
        defer { session.end() }
        try session.withReader(0) { reader in
            for source in try sources(reader, session) {
                try source.run(
                    worker: 1, take: { _, _ in Issue.record("a block came out of an empty table") },
                    end: { _ in
                        Issue.record("a run came out of an empty table")
                        return true
                    })
                #expect(source.runCount == 0)
            }
        }
    }
}

extension BlockSource {
    /// The blocks that one worker after the other gives, in order.
    func allBlocks() throws -> [[UInt8]] {
        var runs: [Int: [[UInt8]]] = [:], run: [[UInt8]] = []
        for worker in 0..<workerCount {
            try self.run(
                worker: worker, take: { _, block in run.append(Array(block.bytes)) },
                end: { number in
                    #expect(runs.updateValue(run, forKey: number) == nil)
                    run = []
                    return true
                })
        }
        #expect(runCount == runs.count)
        return runs.sorted { $0.key < $1.key }.flatMap(\.value)
    }
}
