import Foundation
import GRDB
import SnapshotModel
import StrictText
import Testing

@testable import LocalStore

/// Expressions of CHECK constraints as typed trees: what they mean is what SQLite reads in the text.
@Suite struct CheckParserTests {
    private static let columns = ["a", "b", "the name", "order"]

    private func parse(_ text: String) throws -> CheckExpression {
        let source = Array(text.unicodeScalars)
        return try CheckParser.expression(SQLToken.all(of: source)[...], of: source, columns: Self.columns, of: Self.columns + ["hidden"])
    }

    /// Expressions that a description carries.
    private static let carried = [
        "a >= 0", "[a]>=(0) AND [b]<=(1)", "a = 1 OR b = 2 AND NOT a < b", "NOT a = b", "not not a", "a IS NULL", "a isnull or b notnull", "a NOT NULL",
        "a IS NOT b", "a IS b", "a BETWEEN 1 AND 5 AND b", "a NOT BETWEEN -1 AND +1", "a IN (1, 2.5, 'x', NULL)", "a NOT IN ('x')", "a LIKE 'x%'",
        "a NOT LIKE 'x\\_%' ESCAPE '\\'", "a GLOB '[0-9]*'", "a NOT GLOB 'x'", "length(a) < 3",
        "typeof(a) = 'integer'", "typeof(\"the name\") <> 'null'",
        "`order` = 'it''s'", "a + b * 2 - 1 = 7", "(a + b) * 2 > 7", "a - b - 1 < 0", "a / 2 % 3 != 1", "-a < 3", "- -5 = 5", "a < -9223372036854775808",
        "a < 9223372036854775808", "a < 1e3", "a < 1.5E-2", "a || b = 'xy'", "a COLLATE NOCASE = 'X'", "a = 'x ' COLLATE rtrim", "coalesce(a, b, 0) >= 0",
        "max(a, b) = a", "x'00ff' = a", "a == b", "a <> b", "a /* why */ > 1 -- so\n",
        "CASE WHEN a = 1 THEN b > 0 WHEN a = 2 THEN 0 ELSE 1 END",
        "a = 1 = b", "a < b < 2", "true", "a AND FALSE", "json_valid(a) OR a IS NULL", "substr(a, 1, 1) = 'x'", "round(a, 1) = a", "a <= b", "a>b",
        "a IS (b > 1)",
        "trim(a) <> ''", "lower(a) = a", "upper(a) = a", "instr(a, 'x') = 0", "abs(b % 10) < 10", "nullif(a, b) IS NULL", "ifnull(a, 1)",
        "replace(a, 'x', '') = a",
        "hex(a) = '78'", "unicode(a) > 64",
    ]

    /// For every pair of values SQLite gives the tree's text the truth value of the original one.
    @Test(arguments: carried)
    func aTreeMeansWhatTheTextMeans(text: String) throws {
        let tree = try parse(text)
        let sql = tree.sql(\.sqlIdentifier)
        #expect(try parse(sql) == tree, "\(sql)")
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t(a, b INTEGER, \"the name\" TEXT COLLATE NOCASE, \"order\" REAL)")
            let values = ["NULL", "0", "1", "2", "-1", "5.5", "1e19", "'x'", "'X'", "'x '", "''", "'12'", "x'78'", "'{}'", "-9223372036854775807 - 1"]
            for one in values {
                for other in values { try db.execute(sql: "INSERT INTO t VALUES(\(one), \(other), \(one), \(other))") }
            }
            let differing = try Row.fetchAll(db, sql: "SELECT quote(a), quote(b) FROM t WHERE (\(text)\n) IS NOT (\(sql))")
            #expect(differing.isEmpty, "\(text) became \(sql): \(differing)")
        }
    }

    @Test(arguments: [
        ("a < date('now')", "it uses date()"), ("a REGEXP 'x'", "it uses REGEXP"), ("a MATCH 'x'", "it uses MATCH"), ("hidden > 1", "it uses hidden"),
        ("\"hidden\" = 'x'", "it uses hidden"), ("a IN (SELECT 1)", "it uses SELECT"), ("random() > 0", "it uses random()"), ("a IS TRUE", "it uses TRUE"),
        ("a & 1", "it uses &"), ("a << 2 = 4", "it uses <"), ("~a", "it uses ~"), ("a -> '$.x'", "it uses -"), ("a = 0x10", "it uses 0x10"),
        ("a = ?1", "it uses ?"),
        ("t.a = 1", "it uses t.a"), ("CAST(a AS TEXT) = 'x'", "it uses CAST()"), ("a COLLATE german = 'x'", "it uses german"),
        ("max(a) = 1", "it uses max() with 1"),
        ("a = 1e999", "it uses 1e999"), ("(a = 1", "it ends too early"), ("a = 1) OR (1", "it uses )"), ("", "it ends too early"), ("a b", "it uses b"),
        ("+a = 1", "it uses a"), ("CASE a WHEN 1 THEN 1 END", "it uses a"), ("length(a)(1)", "it uses ("), ("rowid > 0", "it uses rowid"),
    ])
    func whatATreeCannotSayIsNamed(text: String, says: String) throws {
        let fault = #expect(throws: CheckParser.Fault.self) { try parse(text) }
        #expect(fault?.reason.hasPrefix(says) == true, "\(text): \(fault?.reason ?? "")")
    }

    /// What no column is named is a text to SQLite, in the statements that make tables.
    @Test func namesInDoubleQuotesMayBeTexts() throws {
        #expect(try parse("a IN (\"x\", \"b\")").sql(\.sqlIdentifier) == "(\"a\" IN ('x', \"b\"))")
    }

    @Test func whatIsTooLongIsNotCarried() throws {
        for text in [
            String(repeating: "(", count: 100_000) + "a" + String(repeating: ")", count: 100_000), String(repeating: "-", count: 3) + " a = 1",
            String(repeating: "- ", count: 100_000) + "a", "a IN (" + Array(repeating: "1", count: 1000).joined(separator: ",") + ")",
            "a" + String(repeating: " + 1", count: 100),
        ] {
            #expect(throws: CheckParser.Fault.self) { try parse(text) }
        }
    }

    @Test func constraintsAreFoundInTheStatement() throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE "a (check(1)) b"(a INTEGER DEFAULT (1 + (2)) CHECK (a > 0), "check" TEXT CONSTRAINT "one two" CHECK("check" <> ')') NOT NULL,
                        -- CHECK (a = 7)
                        c AS (a + 1), d TEXT CONSTRAINT n NOT NULL CHECK (d <> 'CHECK (x)'), CONSTRAINT 'last' CHECK (c > 1), CHECK (random() <> 0))
                    """)
            let table = try #require(try TableColumns(db, "a (check(1)) b"))
            let found = try TableCheck.all(db, of: table)
            #expect(found.map(\.text) == ["a > 0", "\"check\" <> ')'", "d <> 'CHECK (x)'", "c > 1", "random() <> 0"])
            #expect(found.map(\.name) == [nil, "one two", nil, "last", nil])
            #expect(found.map { $0.described != nil } == [true, true, true, false, false])
        }
    }

    @Test(
        arguments: [
            ("1", .literal(.integer(1))), ("-5", .literal(.integer(-5))), ("+1.5", .literal(.real(1.5))), ("'x'", .literal(.text("x"))),
            ("\"x\"", .literal(.text("x"))),
            ("x'00'", .literal(.blob(Data([0])))), ("CURRENT_TIMESTAMP", .current(.timestamp)), ("current_date", .current(.date)),
            ("(7)", .literal(.integer(7))),
            ("NULL", .literal(.null)), ("TRUE", .literal(.integer(1))), ("1 + 1", nil), ("datetime('now')", nil), ("''", .literal(.text(""))),
        ] as [(String, TableStructure.Default?)])
    func defaultsAreRead(text: String, value: TableStructure.Default?) { #expect(CheckParser.default(text) == value) }
}
