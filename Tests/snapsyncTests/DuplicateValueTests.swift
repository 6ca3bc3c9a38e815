import Foundation
import TestSupport
import Testing

/// Two rows of one version that hold a UNIQUE value of this device's table, whose index the other device's table lacks: U12 in docs/sync.md.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct DuplicateValueTests {
    /// How the UNIQUE values are declared: columns of the table, and an index.
    static let declarations = [
        ("low TEXT AS (lower(mail)) STORED UNIQUE", ""), ("low TEXT AS (lower(mail)) VIRTUAL", "CREATE UNIQUE INDEX i ON u(low)"),
        ("team TEXT", "CREATE UNIQUE INDEX i ON u(mail COLLATE NOCASE) WHERE team IS NULL"), ("team TEXT", "CREATE UNIQUE INDEX i ON u(lower(mail))"),
    ]

    /// A peer `a.db` with the UNIQUE index and another device `b.db` without it, which have version 1.
    private func scene(_ declaration: (String, String) = declarations[0], _ other: String = "peer", _ rows: String = "('1', 'Ann@x')") throws -> Scene {
        let scene = try Scene()
        try scene.database("a.db").run(
            "CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, mail TEXT, \(declaration.0)); \(declaration.1); INSERT INTO u(id, mail) VALUES \(rows)")
        try scene.succeed("init --db a.db --cloud cloud --role peer --device a --tables all")
        try scene.succeed("sync --db a.db")
        try scene.succeed("init --db b.db --cloud cloud --role \(other) --device b --create")
        try scene.succeed("sync --db b.db")
        return scene
    }

    private func edit(_ scene: Scene, _ name: String, _ sql: String) throws {
        Thread.sleep(forTimeInterval: 0.003)
        try scene.database("\(name).db").run(sql)
    }

    private func rows(_ scene: Scene, _ name: String) throws -> String { try scene.database("\(name).db").run("SELECT id, mail FROM u ORDER BY id") }

    private func setAside(_ scene: Scene) throws -> String {
        try scene.database("a.db").run("SELECT key, reason FROM snapsync_set_aside ORDER BY 1")
    }

    private func expectSame(_ scene: Scene, _ expected: String, at location: SourceLocation = #_sourceLocation) throws {
        for name in ["b", "a", "b", "a"] { try scene.succeed("sync --db \(name).db", at: location) }
        for name in ["a", "b"] {
            #expect(try rows(scene, name) == expected, "\(name)", sourceLocation: location)
            #expect(try !scene.succeed("sync --db \(name).db", at: location).contains("published"), "\(name)", sourceLocation: location)
            try scene.succeed("verify --local --db \(name).db", at: location)
        }
    }

    @Test(arguments: declarations) func theLaterRowStaysAndTheOtherReturnsWhenTheValueIsFree(declaration: (String, String)) throws {
        let scene = try scene(declaration)
        try edit(scene, "b", "INSERT INTO u(id, mail) VALUES('2', 'ANN@X'), ('3', 'bob')")
        try scene.succeed("sync --db b.db")
        #expect(try scene.succeed("sync --db a.db").contains("u: 1 entity set aside: another has a value, later, that only one may have"))
        #expect(try setAside(scene) == "1|valueTaken\n")
        try expectSame(scene, "2|ANN@X\n3|bob\n")
        // A later edit of the row that lost takes the value back.
        try edit(scene, "b", "INSERT INTO u(id, mail) VALUES('1', 'ann@X')")
        try expectSame(scene, "1|ann@X\n3|bob\n")
        #expect(try setAside(scene) == "2|valueTaken\n")
        try edit(scene, "b", "DELETE FROM u WHERE id = '1'")
        try expectSame(scene, "2|ANN@X\n3|bob\n")
        #expect(try setAside(scene) == "")
    }

    @Test func rowsThatWereChangedHereCompeteToo() throws {
        let scene = try scene()
        try edit(scene, "b", "INSERT INTO u(id, mail) VALUES('2', 'w'), ('3', 'W'), ('4', 'x'), ('5', 'X')")
        try edit(scene, "a", "INSERT INTO u(id, mail) VALUES('6', 'W'), ('7', 'mine')")
        try edit(scene, "b", "UPDATE u SET mail = 'XX' WHERE id = '5'; UPDATE u SET mail = 'xX' WHERE id = '4'; INSERT INTO u(id, mail) VALUES('8', 'xx')")
        try scene.succeed("sync --db b.db")
        try scene.succeed("sync --db a.db")
        try expectSame(scene, "1|Ann@x\n6|W\n7|mine\n8|xx\n")
        #expect(try setAside(scene) == "2|valueTaken\n3|valueTaken\n4|valueTaken\n5|valueTaken\n")
    }

    /// A version that is compared row by row, as after a fork, a lost log or a dataset that was written whole.
    @Test func aVersionThatIsReadWholeIsTreatedAlike() throws {
        let scene = try scene(Self.declarations[0], "peer", "('1', 'Ann@x'), ('9', 'zoe')")
        try edit(scene, "b", "INSERT INTO u(id, mail) VALUES('2', 'ANN@X'), ('3', 'ZOE')")
        try scene.succeed("export --full --db b.db")
        try edit(scene, "a", "DELETE FROM snapsync_changes; UPDATE snapsync_tracking SET isComplete = 0")
        #expect(try scene.succeed("import --db a.db").contains("u: 2 entities set aside"))
        #expect(try rows(scene, "a") == "2|ANN@X\n3|ZOE\n")
        try expectSame(scene, "2|ANN@X\n3|ZOE\n")
    }

    @Test func aReaderAndADeviceThatJoinsRefuseSuchAVersion() throws {
        let scene = try scene(("team TEXT", ""), "reader")
        try scene.database("b.db").run("CREATE UNIQUE INDEX i ON u(lower(mail))")
        try edit(scene, "a", "INSERT INTO u(id, mail) VALUES('2', 'ANN@X')")
        try scene.succeed("sync --db a.db")
        let reader = try scene.run("sync --db b.db")
        #expect(reader.status == 65 && reader.errorText.contains("UNIQUE constraint failed: index 'i'"), "\(reader.errorText)")
        #expect(try rows(scene, "b") == "1|Ann@x\n")

        try scene.database("c.db").run("CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, mail TEXT COLLATE NOCASE UNIQUE, team TEXT)")
        try scene.succeed("init --db c.db --cloud cloud --role peer --device c")
        let joining = try scene.run("sync --db c.db")
        #expect(joining.status == 65, "\(joining.text)")
        #expect(try rows(scene, "c") == "" && rows(scene, "a") == "1|Ann@x\n2|ANN@X\n")
    }
}
