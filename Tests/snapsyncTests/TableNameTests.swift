import Foundation
import TestSupport
import Testing

/// Names of tables as they are typed, and tables that an application renames, drops or widens.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct TableNameTests {
    @Test func aTableNamedAllIsNamedInQuotes() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE "all"(id TEXT PRIMARY KEY NOT NULL, n TEXT); CREATE TABLE "none"(id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE "a,b"(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE other(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE ""(id INTEGER PRIMARY KEY);
            """)
        #expect(try scene.succeed("tables describe a.db --tables \"all\"").contains("\"name\": \"all\""))
        #expect(try !scene.succeed("tables describe a.db --tables \"all\"").contains("\"name\": \"other\""))
        // An empty name is told as such, and its hint works.
        let unfit = try scene.run("init a.db cloud --name a")
        #expect(unfit.status == 78 && unfit.errorText.contains("the table's name is empty"), "\(unfit.errorText)")
        #expect(unfit.errorText.contains("--exclude '\"\"'"), "\(unfit.errorText)")
        let said = try scene.succeed("init a.db cloud --name a --exclude \"\" --reader-edits \"a,b\",\"none\"")
        #expect(said.contains("readers may edit a_b, none") || said.contains("readers may edit none, a_b"), "\(said)")
        try scene.sync("a")
        #expect(try scene.succeed("tables edits a.db \"all\"").contains("all"))
        #expect(try scene.succeed("status a.db").contains("other: 0 entities"))
    }

    @Test func aTableThatWasRenamedIsNamedByEveryCommand() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            "CREATE TABLE tools(id TEXT PRIMARY KEY NOT NULL, name TEXT); CREATE TABLE shelves(id TEXT PRIMARY KEY NOT NULL, n TEXT); INSERT INTO tools VALUES('1', 'saw')"
        )
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        try scene.database("a.db").run("ALTER TABLE tools RENAME TO gear")
        for line in ["sync a.db", "sync a.db -n", "status a.db"] {
            let run = try scene.run(line)
            #expect(run.status == 78 && run.errorText.contains("the table is named gear now"), "\(line): \(run.errorText)")
            #expect(run.errorText.contains("snapsync tables adopt a.db"), "\(line): \(run.errorText)")
        }
        let doctor = try scene.run("check a.db")
        #expect(
            doctor.status == 78 && doctor.text.contains("the table is named gear now; the dataset tools is neither imported nor published"), "\(doctor.text)")
        #expect(!doctor.text.contains("without the application"))
        try scene.succeed("tables adopt a.db")
        try scene.database("a.db").run("ALTER TABLE shelves RENAME COLUMN n TO place")
        let plan = try scene.run("sync a.db -n")
        #expect(plan.status == 78 && plan.errorText.contains("the column n is named place now"), "\(plan.errorText)")
        try scene.succeed("tables adopt a.db")
        try scene.succeed("sync a.db -n")
        try scene.database("a.db").run("DROP TABLE shelves")
        #expect(try scene.run("sync a.db -n").errorText.contains("snapsync tables remove a.db shelves"))
    }

    @Test func aColumnBeyondTheLargestNumberStaysAndIsTold() throws {
        let columns = (1..<1000).map { "c\($0) INTEGER" }.joined(separator: ", ")
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO wide(id, c1) VALUES(1, 1)")
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        let told = "wide: the new column extra is not synced, because a dataset has at most 1000 columns"
        try scene.database("a.db").run("ALTER TABLE wide ADD COLUMN extra TEXT; UPDATE wide SET extra = 'x'")
        #expect(try scene.succeed("sync a.db").contains(told))
        // It keeps no other change of the table from being taken over.
        try scene.database("a.db").run("ALTER TABLE wide RENAME COLUMN c3 TO third; UPDATE wide SET c2 = 2")
        #expect(try scene.succeed("tables adopt a.db").contains(told))
        try scene.sync("a")
        #expect(try scene.succeed("show a.db wide").contains("\"c2\":2"))
        #expect(try scene.database("a.db").run("SELECT extra FROM wide") == "x\n")
    }

    /// A reader's edits travel although the publisher has changed its table meanwhile.
    @Test(arguments: [false, true]) func aReadersEditsReachATableThatHasChanged(rebuilt: Bool) throws {
        let scene = try Scene.pair(
            "CREATE TABLE tools(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, price INTEGER, note TEXT); INSERT INTO tools VALUES('1', 'saw', 10, 'n'), ('2', 'axe', 20, 'm')",
            roles: ("writer --reader-edits all", "reader"))
        try scene.database("b.db").run("UPDATE tools SET price = 22 WHERE id = '2'" + (rebuilt ? "" : "; INSERT INTO tools VALUES('3', 'awl', 30, 'k')"))
        if rebuilt {
            // A column that must have a value and has no default: SQLite refuses a row without it before it finds the row that is to be changed.
            try scene.database("a.db").run(
                """
                CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, price INTEGER, note TEXT, tag TEXT NOT NULL);
                INSERT INTO new SELECT *, 'tag-' || id FROM tools; DROP TABLE tools; ALTER TABLE new RENAME TO tools;
                """)
        } else {
            // A column that the publisher takes out. The reader's message was written before it heard of that.
            try scene.database("a.db").run("ALTER TABLE tools DROP COLUMN note")
            try scene.succeed("tables adopt a.db")
        }
        try scene.sync("a", "b", "a", "b")
        #expect(try scene.database("a.db").run("SELECT id, name, price FROM tools ORDER BY id") == "1|saw|10\n2|axe|22\n" + (rebuilt ? "" : "3|awl|30\n"))
        if rebuilt { #expect(try scene.database("a.db").run("SELECT tag FROM tools WHERE id = '2'") == "tag-2\n") }
        #expect(try scene.succeed("pending b.db").contains("no edit waits"))
        #expect(try scene.json("status b.db")["conflicts"] as? Int == 0)
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    @Test func diffOfOneDatasetOpensNoOther() throws {
        let scene = try Scene.phone()
        try scene.database("phone.db").run("UPDATE buckets SET name = 'new'; UPDATE notifications SET title = 'new'")
        try scene.sync("phone")
        try FileManager.default.removeItem(atPath: scene.scratch.path(scene.asset("notifications").replacing(".json.gz", with: ".index.json")))
        #expect(try scene.run("diff phone.db 1 2").status != 0)
        #expect(try scene.succeed("diff phone.db 1 2 --dataset buckets").contains("buckets"))
    }

    /// A record may name an asset without a block index. The file is checked by its hash.
    @Test func anAssetWithoutABlockIndexIsCheckedByRepair() throws {
        let scene = try Scene.phone()
        let commit = "\(Scene.zone)/commits/00000000000000000001.json"
        try CloudForgery.rewriteCommit(
            scene.scratch.path(commit),
            "for record in commit['saved']:\n    if record['name'] == 'buckets_data': del record['fields']['dataFile']['value']['index']")
        #expect(try scene.run("repair cloud").status == 0)
        let asset = try scene.asset("buckets"), whole = try scene.scratch.read(asset)
        try scene.scratch.edit(asset) { data in for place in 0..<3 { data[data.count / 2 + place] ^= 0x5A } }
        let lost = try scene.run("repair cloud")
        #expect(lost.status == 65 && (lost.text + lost.errorText).contains("the file is damaged, and nowhere else"), "\(lost.text)\(lost.errorText)")
        // A conflict copy beside it has the bytes.
        try whole.write(to: URL(fileURLWithPath: scene.scratch.path(asset.replacing(".json.gz", with: ".sync-conflict-20260101-000000-ABCDEFG.json.gz"))))
        let mended = try scene.run("repair cloud")
        #expect(try mended.status == 0 && scene.scratch.read(asset) == whole, "\(mended.text)\(mended.errorText)")
    }
}
