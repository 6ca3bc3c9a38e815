import Foundation
import TestSupport
import Testing

/// Two rows of one version with a UNIQUE value of this device's table, whose index the other device's table lacks: docs/merging.md, "Rows that do not fit".
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct DuplicateValueTests {
    /// How the UNIQUE values are declared: columns of the table, and an index.
    static let declarations = [
        ("low TEXT AS (lower(mail)) STORED UNIQUE", ""), ("low TEXT AS (lower(mail)) VIRTUAL", "CREATE UNIQUE INDEX i ON u(low)"),
        ("team TEXT", "CREATE UNIQUE INDEX i ON u(mail COLLATE NOCASE) WHERE team IS NULL"), ("team TEXT", "CREATE UNIQUE INDEX i ON u(lower(mail))"),
    ]

    /// A peer `a.db` with the UNIQUE index and another device `b.db` without it, which have version 1.
    private func scene(_ declaration: (String, String) = declarations[0], _ other: String = "peer", _ rows: String = "('1', 'Ann@x')") throws -> Scene {
        return try Scene.pair(
            "CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, mail TEXT, \(declaration.0)); \(declaration.1); INSERT INTO u(id, mail) VALUES \(rows)",
            roles: ("peer", other))
    }

    private func edit(_ scene: Scene, _ name: String, _ sql: String) throws {
        Thread.sleep(forTimeInterval: 0.003)
        try scene.database("\(name).db").run(sql)
    }

    private func rows(_ scene: Scene, _ name: String) throws -> String { try scene.database("\(name).db").run("SELECT id, mail FROM u ORDER BY id") }

    /// Rows that were edited here are in the way, too, or the version is read whole.
    @Test(arguments: declarations) func suchAVersionIsRefusedUntilTheIndexIsGone(declaration: (String, String)) throws {
        let scene = try scene(declaration)
        try edit(scene, "b", "INSERT INTO u(id, mail) VALUES('2', 'ANN@X'), ('3', 'bob')")
        try edit(scene, "a", "INSERT INTO u(id, mail) VALUES('4', 'mine')")
        for line in ["sync b.db", "export b.db --full"] {
            try scene.succeed(line)
            let refused = try scene.run("sync a.db")
            #expect(refused.status == 65 && refused.errorText.contains("UNIQUE constraint failed"), "\(refused.errorText)")
            #expect(try rows(scene, "a") == "1|Ann@x\n4|mine\n")
        }
        guard !declaration.1.isEmpty else { return }
        try scene.database("a.db").run("DROP INDEX i")
        try scene.sync("a", "b")
        for name in ["a", "b"] { #expect(try rows(scene, name) == "1|Ann@x\n2|ANN@X\n3|bob\n4|mine\n") }
    }

    @Test func aReaderAndADeviceThatJoinsRefuseSuchAVersion() throws {
        let scene = try scene(("team TEXT", ""), "reader")
        try scene.database("b.db").run("CREATE UNIQUE INDEX i ON u(lower(mail))")
        try edit(scene, "a", "INSERT INTO u(id, mail) VALUES('2', 'ANN@X')")
        try scene.sync("a")
        let reader = try scene.run("sync b.db")
        #expect(reader.status == 65 && reader.errorText.contains("UNIQUE constraint failed: index 'i'"), "\(reader.errorText)")
        #expect(try rows(scene, "b") == "1|Ann@x\n")

        try scene.database("c.db").run("CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, mail TEXT COLLATE NOCASE UNIQUE, team TEXT)")
        try scene.succeed("join c.db cloud --peer --name c")
        let joining = try scene.run("sync c.db")
        #expect(joining.status == 65, "\(joining.text)")
        #expect(try rows(scene, "c") == "" && rows(scene, "a") == "1|Ann@x\n2|ANN@X\n")
    }
}
