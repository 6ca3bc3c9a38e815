import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import TestSupport
import Testing

/// SQL text from a zone, tried in memory: what is refused, what is left out, and what runs.
@Suite struct SchemaRehearsalTests {
    private static let books = SchemaText.Statement(type: .table, name: "books", sql: "CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT, n INT)")

    /// The lack of each statement after the table `books`; nil if it runs.
    private func lacks(_ statements: [(SchemaText.Kind, String, String)], tables: [String] = ["books"]) throws -> [String?] {
        let text = SchemaText([Self.books] + statements.map { SchemaText.Statement(type: $0.0, name: $0.1, sql: $0.2) })
        let outcomes = try SchemaRehearsal.run(text, tables: tables, builtIn: [])
        return statements.map { one in outcomes.first { $0.statement.name == one.1 && $0.statement.type == one.0 }.flatMap(\.lack) }
    }

    @Test(arguments: [
        (SchemaText.Kind.table, "t", "CREATE TABLE t AS SELECT 1 AS x"), (.table, "t", "CREATE TABLE t(x); DROP TABLE books"),
        (.table, "t", "CREATE TABLE t(x) -- a comment behind it"), (.table, "t", "-- before it\nCREATE TABLE t(x)"), (.table, "t", "CREATE TABLE u(x)"),
        (.table, "t", "CREATE TABLE T(x)"), (.table, "t", "CREATE TABLE main.t(x)"), (.table, "t", "CREATE TABLE IF NOT EXISTS t(x)"),
        (.table, "t", "CREATE TEMP TABLE t(x)"), (.table, "t", "CREATE TABLE temp.t(x)"), (.table, "t", "CREATE VIRTUAL TABLE t USING fts5(x)"),
        (.table, "t", "DROP TABLE books"), (.table, "t", "ATTACH 'other.db' AS other"), (.table, "t", "PRAGMA writable_schema = ON"),
        (.table, "t", "INSERT INTO books VALUES(1, 'x', 1)"), (.table, "t", "SELECT load_extension('x')"), (.table, "t", ""), (.table, "t", ";"),
        (.table, "t", "VACUUM INTO 'stolen.db'"), (.table, "t", "CREATE TABLE t(x CHECK(load_extension('evil')))"), (.table, "t", "CREATE TABLE t("),
        (.table, "t", "CREATE TABLE t(x AS (load_extension('x')))"), (.table, "t", "EXPLAIN CREATE TABLE t(x)"),
        (.table, "snapsync_state", "CREATE TABLE snapsync_state(key, value)"), (.table, "SnapSync_x", "CREATE TABLE SnapSync_x(key)"),
        (.table, "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"), (.table, "sqlite_schema", "CREATE TABLE sqlite_schema(x)"),
        (.index, "i", "CREATE INDEX j ON books(title)"), (.index, "i", "CREATE INDEX i ON sqlite_schema(name)"), (.index, "i", "REINDEX"),
        (.index, "snapsync_i", "CREATE INDEX snapsync_i ON books(title)"), (.index, "i", "CREATE TABLE i(x)"),
        (.view, "v", "CREATE TEMP VIEW v AS SELECT 1"), (.view, "v", "CREATE VIEW v AS SELECT 1; DELETE FROM books"), (.view, "v", "ANALYZE"),
        (.view, "snapsync_settings", "CREATE VIEW snapsync_settings AS SELECT 1"),
        (.trigger, "r", "CREATE TEMP TRIGGER r AFTER INSERT ON books BEGIN SELECT 1; END"),
        (.trigger, "r", "CREATE TRIGGER r AFTER INSERT ON books BEGIN SELECT 1; END; DROP TABLE books"),
        (.trigger, "snapsync_r", "CREATE TRIGGER snapsync_r AFTER INSERT ON books BEGIN SELECT 1; END"),
        (.trigger, "r", "CREATE TRIGGER other AFTER INSERT ON books BEGIN SELECT 1; END"), (.trigger, "r", "BEGIN"), (.trigger, "r", "COMMIT"),
    ])
    func aStatementThatIsMoreRefusesTheText(type: SchemaText.Kind, name: String, sql: String) throws {
        let error = try #require(throws: SchemaRehearsal.Refusal.self) { try lacks([(type, name, sql)], tables: ["books", "t", name]) }
        #expect(error.description.contains(name), "\(error)")
    }

    @Test(arguments: [
        (SchemaText.Kind.table, "other", "CREATE TABLE other(x)", "describes no such table"),
        (.table, "books2", "CREATE TABLE books2(x REFERENCES mine(v))", "refers to mine"),
        (.table, "books2", "CREATE TABLE books2(x DEFAULT (uuid()))", "uuid"),
        (.index, "i", "CREATE INDEX i ON others(x)", "no such table"), (.index, "i", "CREATE INDEX i ON books(nope)", "no such column"),
        (.index, "i", "CREATE INDEX i ON books(of_the_application(title))", "of_the_application"),
        (.view, "v", "CREATE VIEW v AS SELECT * FROM mine", "no such table"), (.view, "v", "CREATE VIEW v AS SELECT * FROM sqlite_schema", "reads"),
        (.view, "v", "CREATE VIEW v AS SELECT * FROM snapsync_settings", "snapsync_settings"),
        (.view, "v", "CREATE VIEW v AS SELECT load_extension('x')", "load_extension"),
        (.view, "v", "CREATE VIEW v AS SELECT name FROM pragma_database_list", "pragma_database_list"),
        (.view, "v", "CREATE VIEW v AS SELECT * FROM dbstat", "dbstat"), (.view, "json_each", "CREATE VIEW json_each AS SELECT 1", "would hide"),
        (.view, "JSON_Tree", "CREATE VIEW JSON_Tree AS SELECT 1", "would hide"), (.view, "fts5", "CREATE VIEW fts5 AS SELECT 1", "would hide"),
        (.view, "v", "CREATE VIEW v AS SELECT own(title) FROM books", "own"), (.view, "v", "CREATE VIEW v AS SELECT * FROM v", "circular"),
        (.trigger, "r", "CREATE TRIGGER r AFTER INSERT ON mine BEGIN SELECT 1; END", "no such table"),
        (.trigger, "r", "CREATE TRIGGER r AFTER INSERT ON books BEGIN DELETE FROM mine; END", "no such table"),
        (.trigger, "r", "CREATE TRIGGER r AFTER INSERT ON books BEGIN SELECT 1; DELETE FROM mine WHERE x IN (SELECT id FROM books); END", "no such table"),
        (.trigger, "r", "CREATE TRIGGER r AFTER UPDATE OF title ON books WHEN new.id IN (SELECT x FROM mine) BEGIN SELECT 1; END", "no such table"),
        (.trigger, "r", "CREATE TRIGGER r BEFORE DELETE ON books BEGIN SELECT load_extension('evil'); END", "load_extension"),
        (.trigger, "r", "CREATE TRIGGER r BEFORE DELETE ON books BEGIN SELECT wipe(old.id); END", "wipe"),
        (.trigger, "r", "CREATE TRIGGER r BEFORE DELETE ON books BEGIN DELETE FROM snapsync_state; END", "snapsync_state"),
        (.trigger, "r", "CREATE TRIGGER r BEFORE DELETE ON books BEGIN UPDATE sqlite_schema SET sql = ''; END", "may not be modified"),
    ])
    func aStatementThatNeedsMoreThanTheZoneHasIsLeftOut(type: SchemaText.Kind, name: String, sql: String, says: String) throws {
        let lack = try #require(try lacks([(type, name, sql)], tables: ["books", "books2"])[0])
        #expect(lack.contains(says), "\(lack)")
    }

    @Test func whatNeedsTheZonesTablesAloneRuns() throws {
        let statements: [(SchemaText.Kind, String, String)] = [
            (
                .table, "log",
                "CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT NOT NULL DEFAULT (hex(randomblob(4))), l AS (length(what)) STORED, UNIQUE(what) /* kept */)"
            ),
            (
                .table, "odd \"name\" é\u{301}",
                "CREATE TABLE \"odd \"\"name\"\" é\u{301}\"(a PRIMARY KEY, b CHECK(b IS NULL OR json_valid(b))) WITHOUT ROWID, STRICT"
            ),
            (.table, "plain", "CREATE TABLE plain(a ANY PRIMARY KEY) STRICT"),
            (.index, "titles", "CREATE UNIQUE INDEX titles ON books(title COLLATE NOCASE DESC, lower(title)) WHERE n > 0"),
            (.view, "late", "CREATE VIEW late AS SELECT * FROM early"), (.view, "early", "CREATE VIEW early(t) AS SELECT title FROM books -- the end"),
            (
                .view, "tree",
                "CREATE VIEW tree AS WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < 9) SELECT count(*) AS c FROM x, json_each('[1]')"
            ),
            (.trigger, "chained", "CREATE TRIGGER chained AFTER INSERT ON books BEGIN INSERT INTO early VALUES(new.title); END"),
            (
                .trigger, "instead",
                "CREATE TRIGGER instead INSTEAD OF INSERT ON early BEGIN INSERT INTO log(what) VALUES(new.t); UPDATE books SET n = n + 1; END"
            ),
            (
                .trigger, "touch",
                "CREATE TRIGGER touch AFTER UPDATE OF title ON books WHEN old.title IS NOT new.title BEGIN UPDATE books SET n = unixepoch() WHERE id = new.id; END"
            ),
        ]
        var wanted = statements
        wanted[1].2 = wanted[1].2.replacing(" WITHOUT ROWID, STRICT", with: " WITHOUT ROWID")
        #expect(try lacks(wanted, tables: ["books", "LOG", wanted[1].1, "plain"]) == Array(repeating: nil, count: wanted.count))
    }

    /// An index of a table that is not made would stop the script.
    @Test func whatBelongsToATableThatIsNotMadeIsLeftOut() throws {
        let found = try lacks(
            [
                (.table, "t", "CREATE TABLE t(x REFERENCES gone(y))"), (.index, "i", "CREATE INDEX i ON t(x)"),
                (.view, "v", "CREATE VIEW v AS SELECT x FROM t"),
                (.trigger, "r", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END"),
            ], tables: ["books", "t"])
        #expect(found.allSatisfy { $0 != nil }, "\(found)")
    }

    @Test func viewsThatAreNestedWithoutEndAreLeftOut() throws {
        let chain = (1...1000).map { (SchemaText.Kind.view, "v\($0)", "CREATE VIEW v\($0) AS SELECT * FROM \($0 == 1 ? "books" : "v\($0 - 1)")") }
        let found = try lacks(chain)
        #expect(found[0] == nil && found[15] == nil && found[17]?.contains("nested") == true)
        // Each of them takes twice as long as the one before it.
        let doubled = (1...40).map {
            (SchemaText.Kind.view, "w\($0)", "CREATE VIEW w\($0) AS SELECT 1 AS x FROM \($0 == 1 ? "books a, books b" : "w\($0 - 1) a, w\($0 - 1) b")")
        }
        #expect(try lacks(doubled)[39] != nil)
    }

    @Test(arguments: [true, false]) func triggersThatSetOffOneAnotherWithoutEndRefuseTheText(isForward: Bool) throws {
        let names = (0...600).map { "t\($0)" }
        var statements = names.map { (SchemaText.Kind.table, $0, "CREATE TABLE \($0)(x)") }
        let triggers = (0..<600).map {
            (SchemaText.Kind.trigger, "r\($0)", "CREATE TRIGGER r\($0) AFTER INSERT ON t\($0) BEGIN INSERT INTO t\($0 + 1) VALUES(1); END")
        }
        statements += isForward ? triggers : triggers.reversed()
        let error = try #require(throws: SchemaRehearsal.Refusal.self) { try lacks(statements, tables: ["books"] + names) }
        #expect(error.description.contains("sets off more than 50"))
    }

    @Test func deepAndLongTextsEndInTime() throws {
        let start = ContinuousClock.now
        #expect(throws: (any Error).self) {
            try lacks([(.index, "i", "CREATE INDEX i ON books(\(String(repeating: "(", count: 100_000))1\(String(repeating: ")", count: 100_000)))")])
        }
        #expect(throws: (any Error).self) { try lacks([(.index, "i", "CREATE INDEX i ON books(\(String(repeating: "-", count: 5_000))n)")]) }
        #expect(throws: DescriptionError.self) { try SchemaText(String(repeating: " ", count: 10_000_000)) }
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test(arguments: [
        ("{}", "formatVersion"), (#"{"formatVersion":2,"statements":[]}"#, "formatVersion 2"),
        (#"{"formatVersion":1,"statements":[{"type":"table","name":"a"}]}"#, "sql"),
        (#"{"formatVersion":1,"statements":[{"type":"virtual","name":"a","sql":"x"}]}"#, "statements"),
        (#"{"formatVersion":1,"statements":[{"type":"table","name":"a","sql":"x\u0000y"}]}"#, "NUL"),
        (#"{"formatVersion":1,"statements":[{"type":"table","name":"a","sql":"x"},{"type":"view","name":"A","sql":"x"}]}"#, "one name"), ("[", "JSON"),
    ])
    func aDocumentOfAnotherFormIsRefused(text: String, says: String) throws {
        let error = try #require(throws: DescriptionError.self) { try SchemaText(text) }
        #expect(error.reason.contains(says) || says == "JSON", "\(error)")
    }

    /// SQLite's shell takes a line for the end of a statement, and the next one for a command of its own, that SQLite does not.
    @Test func aScriptHasNoCommandsOfTheShell() throws {
        let table = SchemaText.Statement(type: .table, name: "books", sql: "CREATE TABLE books(shell)")
        let view = SchemaText.Statement(type: .view, name: "v", sql: "CREATE VIEW v AS SELECT\ngo\n.shell \"touch made\" FROM books AS go")
        let open = SchemaText.Statement(type: .view, name: "w", sql: "CREATE VIEW w AS SELECT 1 AS x -- the end")
        let index = SchemaText.Statement(type: .index, name: "i", sql: "CREATE INDEX i ON books(shell) /* no end")
        let lines = ["SELECT 1\n/\nshell", "SELECT 1\n \t/ \nshell", "SELECT shell AS\nGO\n", "SELECT shell AS\n\tgo -- x\n"]
        let ended = lines.enumerated().map { SchemaText.Statement(type: .view, name: "x\($0)", sql: "CREATE VIEW x\($0) AS \($1) FROM books") }
        for outcome in try SchemaRehearsal.run(SchemaText([table] + ended), tables: ["books"], builtIn: []).dropFirst() {
            #expect(outcome.lack == nil && outcome.script.split(separator: "\n").allSatisfy { $0.hasPrefix("-- ") }, "\(outcome.script)")
        }
        let outcomes = try SchemaRehearsal.run(SchemaText([table, index, view, open]), tables: ["books"], builtIn: [])
        #expect(outcomes.allSatisfy { $0.lack == nil })
        #expect(outcomes[2].script.split(separator: "\n").allSatisfy { $0.hasPrefix("-- ") })
        #expect(outcomes[1].script == "CREATE INDEX i ON books(shell) /* no end*/;\n")
        #expect(outcomes[3].script == "CREATE VIEW w AS SELECT 1 AS x -- the end\n;\n")
        let directory = try ScratchDirectory()
        _ = try ProgramRun("sqlite3", ["copy.db"], in: directory.path, input: Data(outcomes.map(\.script).joined().utf8))
        #expect(!FileManager.default.fileExists(atPath: directory.path("made")))
        #expect(try SQLiteShell("copy.db", in: directory.path).run("SELECT group_concat(name) FROM sqlite_schema") == "books,i,w\n")
    }
}
