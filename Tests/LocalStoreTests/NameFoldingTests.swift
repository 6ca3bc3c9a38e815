@testable import LocalStore
@testable import LocalTables
import SnapshotModel
import TestSupport
import Testing

/// SQLite folds the letters A to Z of a name and no others: `Ä` and `ä` are two tables, `É` and `é` two columns.
@Suite struct NameFoldingTests {
    private func dataset(_ name: String, _ table: String, key: String = "id", _ columns: String...) throws -> DatasetSchema {
        let described = ([key] + columns).map { DatasetColumn($0, .text, isOptional: $0 != key) }
        return try DatasetSchema(name: name, table: table, keys: [key], timestamp: nil, columns: described)
    }

    @Test func twoColumnsOfASchemaMayDifferInTheCaseOfALetterBeyondASCII() throws {
        #expect(try dataset("words", "words", "É", "é").columns.count == 3)
        #expect(throws: SchemaError.self) { try dataset("words", "words", "e", "E") }
    }

    @Test func twoDatasetsOfAFileMayHaveSuchTables() throws {
        let both = try [dataset("upper", "Ä"), dataset("lower", "ä")]
        #expect(try DatasetFile.decode(DatasetFile.encode(both)) == both)
        let same = try [dataset("upper", "A"), dataset("lower", "a")]
        #expect(throws: SchemaError.self) { try DatasetFile.decode(DatasetFile.encode(same)) }
    }

    @Test func aForeignKeyOfATableThatIsNoDatasetsIsEnforced() throws {
        let scene = try LocalScene(
            """
            CREATE TABLE parents(id TEXT PRIMARY KEY); INSERT INTO parents VALUES('p'), ('q');
            CREATE TABLE "Ä"(id TEXT PRIMARY KEY);
            CREATE TABLE "ä"(id TEXT PRIMARY KEY, parent TEXT REFERENCES parents(id) ON DELETE CASCADE); INSERT INTO "ä" VALUES('1', 'p'), ('2', 'q');
            """)
        let parents = try dataset("parents", "parents"), upper = try dataset("upper", "Ä")
        try scene.replace(parents, by: [[.text("q")]], datasets: [parents, upper])
        #expect(try scene.app.run("SELECT id FROM \"ä\"") == "2\n")
        let referring = try scene.database.read { try $0.references.tableReferring(at: .text(Array("q".utf8)), of: parents, among: [parents, upper]) }
        #expect(referring == nil)
    }

    @Test func aUniqueColumnBesideTheKeyIsFound() throws {
        let scene = try LocalScene("CREATE TABLE words(\"É\" TEXT PRIMARY KEY, \"é\" TEXT UNIQUE);")
        let others = try scene.database.read { try UniqueKey.others($0.db, dataset("words", "words", key: "É", "é")) }
        #expect(others?.map(\.columns) == [["é"]])
    }
}
