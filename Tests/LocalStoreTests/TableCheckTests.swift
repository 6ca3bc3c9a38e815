import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct TableCheckTests {
    private func shape(_ sql: String, _ schema: DatasetSchema) throws -> TableShape { try LocalScene(sql).database.read { try $0.tables.check(of: schema) } }

    private static let id = DatasetColumn("id", .text)
    private static let name = DatasetColumn("name", .text, isOptional: true)

    @Test(arguments: [
        ("", "there is no such table"),
        ("CREATE TABLE other(id TEXT PRIMARY KEY, name TEXT)", "there is no such table"),
        ("CREATE TABLE base(id TEXT PRIMARY KEY, name TEXT); CREATE VIEW items AS SELECT * FROM base", "it is a view"),
        ("CREATE TABLE items(id TEXT PRIMARY KEY)", "it has no column name"),
        ("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT GENERATED ALWAYS AS (id || 'x') STORED)", "the column name is computed"),
        ("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT AS (id))", "the column name is computed"),
        ("CREATE TABLE items(id TEXT, name TEXT)", "not unique by itself"),
        ("CREATE TABLE items(id TEXT, name TEXT, PRIMARY KEY(id, name))", "not unique by itself"),
        ("CREATE TABLE items(id TEXT, name TEXT); CREATE INDEX i ON items(id)", "not unique by itself"),
        ("CREATE TABLE items(id TEXT, name TEXT); CREATE UNIQUE INDEX i ON items(id) WHERE name IS NULL", "not unique by itself"),
        ("CREATE TABLE items(id TEXT, name TEXT); CREATE UNIQUE INDEX i ON items(lower(id))", "not unique by itself"),
        ("CREATE TABLE items(id TEXT COLLATE NOCASE PRIMARY KEY, name TEXT)", "by the collation"),
        ("CREATE TABLE items(id TEXT COLLATE RTRIM UNIQUE, name TEXT)", "by the collation"),
        ("CREATE TABLE items(id TEXT, name TEXT); CREATE UNIQUE INDEX i ON items(id COLLATE NOCASE)", "the unique index of the key id compares by NOCASE"),
        ("CREATE TABLE items(id TEXT COLLATE NOCASE, name TEXT); CREATE UNIQUE INDEX i ON items(id COLLATE BINARY)", "by the collation"),
        ("CREATE TABLE items(id TEXT COLLATE NOCASE PRIMARY KEY, name TEXT) WITHOUT ROWID", "by the collation"),
    ])
    func aTableThatDoesNotMatchIsRefused(sql: String, reason: String) throws {
        let schema = try namedItems()
        let error = try #require(throws: SyncError.self) { try shape(sql, schema) }
        #expect(error.database == .schemaMismatch)
        #expect(error.reason.contains(reason))
        #expect(error.reason.contains("dataset items"))
        #expect(error.place.hasSuffix("table items"))
        #expect(error.hint != nil)
    }

    @Test(arguments: [
        ("CREATE TABLE items(id TEXT PRIMARY KEY)", "add the column"),
        ("CREATE TABLE base(id TEXT PRIMARY KEY, name TEXT); CREATE VIEW items AS SELECT * FROM base", "name the table behind it"),
        ("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT AS (id))", "take it out of the dataset file"),
        ("CREATE TABLE items(id TEXT, name TEXT)", "a UNIQUE index"),
        ("CREATE TABLE items(id TEXT COLLATE NOCASE PRIMARY KEY, name TEXT)", #"say "collation": "nocase""#),
    ])
    func aHintSaysWhatMendsTheTable(sql: String, hint: String) throws {
        let error = try #require(throws: SyncError.self) { try shape(sql, namedItems()) }
        #expect(error.hint?.contains(hint) == true, "\(error.hint ?? "")")
    }

    @Test(arguments: [
        ("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT)", true),
        ("CREATE TABLE items(id VARCHAR(36) UNIQUE, name TEXT)", true),
        ("CREATE TABLE items(row INTEGER PRIMARY KEY, id CLOB UNIQUE NOT NULL, name TEXT)", true),
        ("CREATE TABLE items(id, name); CREATE UNIQUE INDEX i ON items(id)", true),
        ("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID", false),
        ("CREATE TABLE items(id DATETIME PRIMARY KEY, name TEXT)", false),
        ("CREATE TABLE items(id STRING PRIMARY KEY, name TEXT)", false),
    ])
    func aTextKeyOfARowidTableIsReadInRanges(sql: String, isRangeable: Bool) throws {
        #expect(try shape(sql, namedItems()).hasRangeableKey == isRangeable)
    }

    @Test(arguments: [
        "CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE items(id INTEGER PRIMARY KEY DESC, name TEXT)",
        "CREATE TABLE items(id BIGINT UNIQUE, name TEXT)",
        "CREATE TABLE items(id INT PRIMARY KEY, name TEXT) WITHOUT ROWID",
        "CREATE TABLE items(id NUMERIC PRIMARY KEY, name TEXT)",
    ])
    func anIntegerKeyIsNotReadInRanges(sql: String) throws {
        let shape = try shape(sql, items(DatasetColumn("id", .integer), Self.name))
        #expect(!shape.hasRangeableKey)
    }

    @Test(arguments: [
        (ColumnShape.integer, "TEXT"), (.integer, "VARCHAR(9)"), (.boolean, "TEXT"), (.real, "TEXT"),
        (.integer, "REAL"), (.integer, "DOUBLE PRECISION"), (.boolean, "FLOAT"),
    ])
    func aColumnThatCannotHoldItsTypeIsRefused(kind: ColumnShape, declared: String) throws {
        let schema = try items(Self.id, DatasetColumn("value", kind))
        let error = try #require(throws: SyncError.self) { try shape("CREATE TABLE items(id TEXT PRIMARY KEY, value \(declared))", schema) }
        #expect(error.database == .schemaMismatch)
        #expect(error.reason.contains("value"))
    }

    @Test(arguments: [
        (ColumnShape.integer, "INTEGER"), (.integer, "NUMERIC"), (.integer, ""), (.boolean, "BOOLEAN"), (.real, "REAL"), (.real, "DECIMAL(10,5)"),
        (.real, "INTEGER"), (.text, "DATETIME"), (.json, "JSON"), (.text, "TEXT"), (.blob, "TEXT"), (.blob, "INTEGER"), (.text, ""),
    ])
    func aColumnThatMayHoldItsTypeIsTaken(kind: ColumnShape, declared: String) throws {
        _ = try shape("CREATE TABLE items(id TEXT PRIMARY KEY, value \(declared))", items(Self.id, DatasetColumn("value", kind)))
    }

    @Test func columnsThatNobodyDescribesAreNamedAndComputedOnesAreNot() throws {
        let shape = try shape(
            "CREATE TABLE items(ID TEXT PRIMARY KEY, extra, Name TEXT, \"odd one\" INT, twice TEXT AS (name || name), É TEXT)",
            try items(Self.id, Self.name, DatasetColumn("é", .text, column: "É")))
        #expect(shape.undescribedColumns == ["extra", "odd one"])
    }

    @Test func lettersBeyondASCIIHaveACaseForSQLite() throws {
        let shape = try shape("CREATE TABLE items(id TEXT PRIMARY KEY, \"é\" TEXT, \"É\" TEXT)", items(Self.id, DatasetColumn("e", .text, column: "é")))
        #expect(shape.undescribedColumns == ["É"])
    }

    @Test(arguments: ["snapsync_settings", "snapsync_state", "SNAPSYNC_datasets", "sqlite_schema"])
    func theTablesOfTheToolkitAndOfSQLiteDoNotTravel(table: String) throws {
        let scene = try LocalScene("")
        try scene.database.write { try $0.initialize(.example) }
        let schema = try items(DatasetColumn("key", .text), DatasetColumn("value", .text), table: table)
        let error = try #require(throws: SyncError.self) { try scene.database.read { try $0.tables.check(of: schema) } }
        #expect(error.database == .schemaMismatch)
    }

    @Test(arguments: [
        "two words", "quo\"ted", "sin'gle", "select", "from", "a]b", "[a]", "`tick`", "semi;colon", "x\"; DROP TABLE victim; --", "ümlaut 表", "%s?1:a$b", "t.u",
    ])
    func anyNameOfATableOrColumnIsOnlyAName(name: String) throws {
        let quoted = "\"\(name.replacing("\"", with: "\"\""))\""
        let scene = try LocalScene(
            """
            CREATE TABLE victim(a); INSERT INTO victim VALUES(1);
            CREATE TABLE \(quoted)(\(quoted) TEXT PRIMARY KEY, plain TEXT);
            INSERT INTO \(quoted) VALUES('a', 'x'), ('b', NULL);
            """)
        let schema = try items(DatasetColumn("id", .text, column: name), DatasetColumn("plain", .text, isOptional: true), table: name)
        let rows: [[Value]] = [[.text("a"), .text("x")], [.text("b"), .null]]
        #expect(try scene.database.read { try $0.tables.check(of: schema) }.hasRangeableKey)
        #expect(try scene.rows(of: schema) == rows)

        let session = try ReadSession(scene.database, readers: 1)
        let collector = CollectingSink()
        try session.withReader(0) { reader in
            let keys = try reader.keys(of: schema), ranges = reader.ranges(of: schema)
            while let range = try keys.next(cuts: { _ in true }) { try ranges.read(range, into: collector) }
        }
        session.end()
        #expect(collector.rows == rows)

        let new: [[Value]] = [[.text("c"), .null], [.text("d"), .text("it's")]]
        try scene.replace(schema, by: new)
        #expect(try scene.rows(of: schema) == new)
        try scene.database.write { try $0.rows.deleteEntities(of: schema, in: KeyRange(number: 0, first: nil, next: EntityKey("d"))) }
        #expect(try scene.rows(of: schema) == [new[1]])
        #expect(try scene.app.run("SELECT count(*) FROM victim") == "1\n")
    }

    @Test func moreRowsThanACountAreFoundExactly() throws {
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT)")
        let schema = try namedItems()
        for count in 0...3 {
            for limit in 0...4 {
                #expect(try scene.database.read { try $0.rows.hasRows(schema, moreThan: limit) } == (count > limit), "\(count) rows, limit \(limit)")
            }
            try scene.app.run("INSERT INTO items VALUES('row \(count)', NULL)")
        }
        #expect(try !scene.database.read { try $0.rows.hasNullKeys(schema) })
        try scene.app.run("INSERT INTO items VALUES(NULL, NULL)")
        #expect(try scene.database.read { try $0.rows.hasNullKeys(schema) })
    }
}
