import GRDB
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct RangeReadingTests {
    private static func bytes(_ key: LentKey) -> [UInt8] { if case .text(let bytes) = key { Array(bytes) } else { [] } }

    /// Key texts that are close to one another, so that ranges have hard edges: prefixes, NUL, letters of one to four bytes.
    private static func randomKey(_ random: inout SeededGenerator) -> [UInt8] {
        let letters: [[UInt8]] = [[0], [0x41], [0x42], [0x61], [0x7F], Array("ü".utf8), Array("表".utf8), Array("😀".utf8), [0x20]]
        return (0..<random.below(5)).flatMap { _ in letters[random.below(letters.count)] }
    }

    @Test(arguments: UInt64(1)...60) func rowsRangesAndPlainSQLGiveTheSameRows(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let table = [
            "CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT)", "CREATE TABLE items(name TEXT, id TEXT UNIQUE)",
            "CREATE TABLE items(id PRIMARY KEY, name)",
        ][random.below(3)]
        var rows: [[UInt8]: Value] = [:]
        for _ in 0..<random.below(120) {
            rows[Self.randomKey(&random)] = random.happens(percent: 20) ? .null : .text(Self.randomKey(&random))
        }
        // A dictionary's order is the table's: random, and not that of the keys.
        let inserts = rows.map { "INSERT INTO items(id, name) VALUES(\(Value.text($0).sql), \($1.sql));" }.joined(separator: "\n")
        let scene = try LocalScene("\(table); BEGIN; \(inserts) COMMIT;", wal: random.happens(percent: 50))
        let schema = try namedItems()
        let expected = rows.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { [Value.text($0), rows[$0] ?? .null] }
        #expect(try scene.rows(of: schema) == expected)

        let session = try ReadSession(scene.database, readers: 3)
        defer { session.end() }
        let modulus = 1 + random.below(6), salt = UInt8(random.below(256))
        let ranges = try session.withReader(0) { reader in
            #expect(try reader.transaction.tables.check(of: schema).hasRangeableKey)
            let keys = try reader.keys(of: schema)
            var ranges: [KeyRange] = []
            while let range = try keys.next(cuts: { Self.bytes($0).reduce(salt) { $0 &* 31 &+ $1 } % UInt8(modulus) == 0 }) { ranges.append(range) }
            #expect(try keys.next(cuts: { _ in true }) == nil)
            #expect(keys.count == ranges.count)
            return ranges
        }
        #expect(ranges.map(\.number) == Array(0..<ranges.count))
        #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.next == $1.first })

        // In any order, and from any connection.
        var found: [Int: [[Value]]] = [:]
        for range in ranges.shuffled(using: &random) {
            let collector = CollectingSink()
            try session.withReader(random.below(session.readerCount)) { try $0.ranges(of: schema).read(range, into: collector) }
            found[range.number] = collector.rows
        }
        #expect(ranges.flatMap { found[$0.number] ?? [] } == expected)
        #expect(found.values.allSatisfy { !$0.isEmpty })
    }

    @Test(arguments: UInt64(1)...20) func openRangesCoverTheKeysOutsideOfEveryBound(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let isText = random.happens(percent: 50)
        var keys: Set<EntityKey> = []
        for _ in 0..<40 { keys.insert(isText ? .text(Self.randomKey(&random)) : .integer(Int64(bitPattern: random.next()) >> Int64(random.below(63)))) }
        let sorted = keys.sorted()
        let scene = try LocalScene("CREATE TABLE items(id \(isText ? "TEXT" : "INTEGER") PRIMARY KEY, name TEXT)")
        let schema = try items(DatasetColumn("id", isText ? .text : .integer), DatasetColumn("name", .text, isOptional: true))
        try scene.replace(schema, by: sorted.shuffled(using: &random).map { [$0.cell, .null] })

        let bounds = [nil] + [random.below(40), random.below(40)].filter { $0 < sorted.count }.sorted().map { sorted[$0] } + [nil]
        var all: [[Value]] = []
        let session = try ReadSession(scene.database, readers: 1)
        defer { session.end() }
        try session.withReader(0) { reader in
            let ranges = reader.ranges(of: schema)
            for (number, (first, next)) in zip(bounds, bounds.dropFirst()).enumerated() {
                let collector = CollectingSink()
                try ranges.read(KeyRange(number: number, first: first, next: next), into: collector)
                #expect(collector.rows == sorted.filter { key in first.map { $0 <= key } ?? true && next.map { key < $0 } ?? true }.map { [$0.cell, .null] })
                all += collector.rows
            }
        }
        #expect(all == sorted.map { [$0.cell, .null] })
    }

    @Test func aKeyThatIsNULLIsRefusedWithoutTheRow() throws {
        let scene = try LocalScene(
            "CREATE TABLE items(id TEXT UNIQUE, name TEXT); INSERT INTO items VALUES('a', 'secret'), (NULL, 'secret'), ('b', 'secret')")
        let schema = try namedItems()
        let session = try ReadSession(scene.database, readers: 1)
        defer { session.end() }
        let error = try #require(throws: SyncError.self) {
            try session.withReader(0) { reader in
                let keys = try reader.keys(of: schema)
                while try keys.next(cuts: { _ in false }) != nil {}
            }
        }
        #expect(error.database == .badRow)
        #expect(!error.description.contains("secret"))
    }

    @Test func anErrorOfTheSinkLeavesTheReaderUsable() throws {
        final class Refusing: EntitySink {
            struct Refused: Error {}
            func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws { throw Refused() }
        }
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', NULL), ('b', NULL)", wal: false)
        let schema = try namedItems()
        let session = try ReadSession(scene.database, readers: 1)
        try session.withReader(0) { reader in
            let ranges = reader.ranges(of: schema)
            let range = KeyRange(number: 0, first: nil, next: nil)
            #expect(throws: Refusing.Refused.self) { try ranges.read(range, into: Refusing()) }
            let collector = CollectingSink()
            try ranges.read(range, into: collector)
            #expect(collector.rows.count == 2)
            let rows = try reader.rows(of: schema)
            #expect(throws: Refusing.Refused.self) { try rows.next(into: Refusing()) }
        }
        session.end()
        // In a rollback-journal mode a reader that still held its lock would keep this commit from being made.
        try scene.app.run("PRAGMA busy_timeout = 0; INSERT INTO items VALUES('c', NULL)")
    }
}

extension EntityKey {
    fileprivate var cell: Value {
        switch self {
        case .text(let bytes): .text(bytes)
        case .integer(let value): .integer(value)
        case .encoded(let bytes): .blob(bytes)
        }
    }
}
