import GRDB
@testable import LocalTables
import SnapshotModel
import TestSupport
import Testing

@testable import LocalStore

/// Encoded keys against SQLite itself: the same order, the same keys equal, the same values back.
@Suite struct EncodedKeyTests {
    private static func number(_ random: inout SeededGenerator) -> DatabaseValue {
        let integers: [Int64] = [0, 1, -1, .min, .max, .max - 1, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, 1 << 62, .min + 1, 9_007_199_254_740_993]
        let reals = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e308, -1e308, 0x1p-1074, 0x1p53, 0x1p63, -0x1p63, 0x1p62, 9.223372036854775e18, 1e19, -1e19]
        switch random.below(4) {
        case 0: return integers[random.below(integers.count)].databaseValue
        case 1: return reals[random.below(reals.count)].databaseValue
        case 2: return Int64(bitPattern: random.next() >> UInt64(random.below(64))).databaseValue
        default:
            // The doubles and integers around one another.
            let integer = Int64(bitPattern: random.next() >> UInt64(random.below(12)))
            let double = Double(integer)
            return [integer.databaseValue, double.databaseValue, double.nextDown.databaseValue, double.nextUp.databaseValue][random.below(4)]
        }
    }

    private static func bytes(_ random: inout SeededGenerator) -> [UInt8] {
        let letters: [UInt8] = [0, 0, 0x20, 0x41, 0x61, 0x5A, 0x7A, 0x5B, 0x40, 0x01, 0x7F]
        return (0..<random.below(6)).map { _ in letters[random.below(letters.count)] }
    }

    /// A literal: what SQL text cannot say goes in as hexadecimal digits.
    private static func literal(_ random: inout SeededGenerator) -> String {
        let hex = bytes(&random).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        switch random.below(4) {
        case 0, 1:
            switch number(&random).storage {
            case .int64(let value): return value == .min ? "(-9223372036854775807 - 1)" : "\(value)"
            case .double(let value): return "CAST('\(value)' AS REAL)"
            default: return "0"
            }
        case 2: return "CAST(X'\(hex)' AS TEXT)"
        default: return "X'\(hex)'"
        }
    }

    @Test(arguments: ["BINARY", "NOCASE", "RTRIM"], Sample.of(UInt64(1)...8, oneIn: 4))
    func orderAndEqualityAreSQLites(collation: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let rows = (0..<400).map { _ in "(\(Self.literal(&random)), \(Self.literal(&random)))" }
        let scene = try LocalScene("CREATE TABLE t(a COLLATE \(collation), b); INSERT INTO t VALUES \(rows.joined(separator: ", "));")
        let letter = String(collation.lowercased().prefix(1))
        try scene.database.read { (transaction: LocalTransaction) throws in
            let db = transaction.db
            let keys = "SELECT a, b, snapsync_key('\(letter)b', a, b) AS k FROM t"
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM (\(keys)) WHERE k IS NULL") == 0, "seed \(seed)")
            // Every pair of rows: the keys compare as the columns do.
            let pairs = "(\(keys)) x, (\(keys)) y"
            for comparison in ["<", "="] {
                let wrong = "SELECT count(*) FROM \(pairs) WHERE ((x.a, x.b) \(comparison) (y.a, y.b)) IS NOT (x.k \(comparison) y.k)"
                #expect(try Int.fetchOne(db, sql: wrong) == 0, "seed \(seed), \(comparison)")
            }
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM (\(keys)) WHERE NOT (a = snapsync_key_value(k, 0) AND b = snapsync_key_value(k, 1))") == 0)
            // The values make the same key again.
            #expect(
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM (\(keys)) WHERE snapsync_key('\(letter)b', snapsync_key_value(k, 0), snapsync_key_value(k, 1)) IS NOT k")
                    == 0)
        }
    }

    @Test(arguments: UInt64(1)...6) func whatATriggerLogsIsTheKey(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let rows = (0..<400).map { _ in "(\(Self.literal(&random)), \(Self.literal(&random)))" }
        let scene = try LocalScene("CREATE TABLE t(a, b); INSERT INTO t VALUES \(rows.joined(separator: ", "));")
        let schema = try DatasetSchema(
            name: "t", table: "t", keys: ["a", "b"], timestamp: nil, columns: [DatasetColumn("a", .text, collation: .nocase), DatasetColumn("b", .real)])
        let key = schema.keySQL
        try scene.database.read { (transaction: LocalTransaction) throws in
            let differing = "SELECT count(*) FROM t WHERE \(key.unlogged(key.logged(of: "t"))) IS NOT \(key.value(of: "t"))"
            #expect(try Int.fetchOne(transaction.db, sql: differing) == 0, "seed \(seed)")
            #expect(try String.fetchOne(transaction.db, sql: "SELECT \(key.logged(of: "t")) FROM (SELECT 7 AS a, NULL AS b) t") == nil)
        }
    }

    @Test func keysOfOtherShapesAreTold() throws {
        func shape(_ columns: DatasetColumn...) throws -> KeyShape {
            try DatasetSchema(name: "t", table: "t", keys: columns.map(\.name), timestamp: nil, columns: columns).keyShape
        }
        let pair = try shape(DatasetColumn("a", .integer), DatasetColumn("b", .text, collation: .nocase))
        #expect(pair.accepts(EntityKey(encoding: [.integer(1), .text(Array("ab".utf8))])))
        #expect(!pair.accepts(EntityKey(encoding: [.integer(1), .text(Array("aB".utf8))])), "not folded")
        #expect(!pair.accepts(EntityKey(encoding: [.integer(1)])))
        #expect(!pair.accepts(EntityKey(encoding: [.text([]), .integer(1)])))
        #expect(!pair.accepts(.integer(1)))
        #expect(!pair.accepts(.encoded([0x10, 1])))
        #expect(try shape(DatasetColumn("a", .blob)).accepts(EntityKey(encoding: [.blob([0, 255])])))
        #expect(try !shape(DatasetColumn("a", .text)).accepts(EntityKey(encoding: [.text([])])))
        #expect(EntityKey(encoding: [.integer(-7), .text(Array("a\"".utf8)), .blob([1, 0xAB]), .real(0.5)]).description == #"(-7, "a\"", X'01AB', 0.5)"#)
    }

    @Test func rangesOfCompositeKeysUseTheIndex() throws {
        let scene = try LocalScene(
            """
            CREATE TABLE lines(a INTEGER NOT NULL, b TEXT COLLATE NOCASE NOT NULL, note TEXT, PRIMARY KEY(a, b));
            CREATE TABLE bare(a INTEGER NOT NULL, b TEXT COLLATE NOCASE NOT NULL, note TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
            """)
        for table in ["lines", "bare"] {
            let schema = try DatasetSchema(
                name: table, table: table, keys: ["a", "b"], timestamp: nil,
                columns: [DatasetColumn("a", .integer), DatasetColumn("b", .text, collation: .nocase), DatasetColumn("note", .text, isOptional: true)])
            let key = schema.keySQL
            let range = KeyRange(number: 0, first: EntityKey(encoding: [.integer(1), .text([])]), next: EntityKey(encoding: [.integer(9), .text([])]))
            try scene.database.read { (transaction: LocalTransaction) throws in
                func plan(_ sql: String) throws -> String {
                    try Row.fetchAll(transaction.db, sql: "EXPLAIN QUERY PLAN \(sql.replacing("?1", with: "X'10'").replacing("?2", with: "X'20'"))").map {
                        $0["detail"]
                    }.joined(separator: "; ")
                }
                let ranged = try plan("SELECT * FROM \(table) \(key.condition(range)) ORDER BY \(key.list())")
                #expect(ranged.contains("SEARCH \(table) USING") && !ranged.contains("TEMP B-TREE"), "\(ranged)")
                let single = try plan("SELECT * FROM \(table) t WHERE \(key.matches("t", "?1"))")
                #expect(single.contains("(a=? AND b=?)"), "\(single)")
                let joined = try plan("SELECT 1 FROM (SELECT X'00' AS key) c CROSS JOIN \(table) t WHERE \(key.matches("t", "c.key"))")
                #expect(joined.contains("(a=? AND b=?)"), "\(joined)")
                let keys = try plan("SELECT \(key.list()) FROM \(table) ORDER BY \(key.list())")
                #expect(!keys.contains("TEMP B-TREE"), "\(keys)")
            }
        }
    }
}
