import TestSupport
import Testing

/// Rows whose timestamp is the last there is, as programs write it that mean "never": 9999-12-31T23:59:59.9999999Z.
@Suite(.runsPrograms) struct LastInstantTests {
    private static let datasets = """
        {"formatVersion": 1, "datasets": [{"name": "terms", "table": "terms", "key": "id", "timestamp": "until", "columns": [
          {"name": "id", "type": "integer"}, {"name": "until", "type": "text"}, {"name": "text", "type": "text"}]}]}
        """

    private func scene() throws -> Scene {
        let scene = try Scene()
        for database in ["one.db", "two.db"] {
            try scene.database(database).run("CREATE TABLE terms(id INTEGER PRIMARY KEY, until TEXT NOT NULL, text TEXT NOT NULL)")
        }
        try scene.database("one.db").run(
            "INSERT INTO terms VALUES(1, '9999-12-31T23:59:59.9999999Z', 'a'), (2, '9999-12-31T23:59:59.999999Z', 'b'), (3, '2026-01-01T00:00:00Z', 'c')")
        try scene.scratch.write(Self.datasets, to: "terms.json")
        return scene
    }

    private func rows(_ scene: Scene, _ database: String) throws -> String { try scene.database(database).run("SELECT id, text FROM terms ORDER BY id") }

    @Test func aRowOfTheLastInstantIsChangedAndDeletedAndReadersFollow() throws {
        let scene = try scene()
        try scene.succeed("init one.db cloud --name one --datasets terms.json")
        try scene.succeed("join two.db cloud --name two --datasets terms.json")
        for change in [
            "SELECT 1", "UPDATE terms SET text = 'x' WHERE id = 1", "UPDATE terms SET text = 'y' WHERE id = 1", "DELETE FROM terms WHERE id = 2",
            "INSERT INTO terms VALUES(2, '9999-12-31T23:59:59.999999Z', 'z')",
        ] {
            try scene.database("one.db").run(change)
            try scene.succeed("export one.db --full")
            try scene.succeed("import two.db")
            #expect(try rows(scene, "two.db") == rows(scene, "one.db"))
        }
        try scene.succeed("check cloud --all-versions")
    }

    @Test func twoPeersThatChangeSuchARowEndWithTheSame() throws {
        let scene = try scene()
        try scene.succeed("init one.db cloud --peers --name one --datasets terms.json --shared-keys")
        try scene.sync("one")
        try scene.succeed("init two.db cloud --peers --name two --datasets terms.json --shared-keys")
        try scene.sync("two")
        #expect(try rows(scene, "two.db") == rows(scene, "one.db"))
        for (one, two) in [
            ("UPDATE terms SET text = 'one'", "UPDATE terms SET text = 'two'"), ("DELETE FROM terms WHERE id = 1", "UPDATE terms SET text = 'three'"),
        ] {
            try scene.database("one.db").run(one)
            try scene.database("two.db").run(two)
            try scene.sync("one", "two", "one", "two")
            #expect(try rows(scene, "one.db") == rows(scene, "two.db"))
        }
    }
}
