import Foundation
import TestSupport
import Testing

/// Errors name what is wrong and what mends it: not the disk or the writer for what a schema, a dataset file or a mode does.
@Suite(.runsPrograms) struct HintTests {
    private static let file =
        #"{"formatVersion":1,"datasets":[{"name":"things","key":"id","timestamp":"u","columns":[{"name":"id","type":"text"},{"name":"v","type":"text"},{"name":"u","type":"text"}]}]}"#
    private static let table = "CREATE TABLE things(id TEXT PRIMARY KEY NOT NULL, v TEXT, u TEXT NOT NULL);"

    /// A writer with one row, published, and a reader's database that is not set up yet.
    private func scene(reader sql: String = "") throws -> Scene {
        try Scene.copy(of: "things \(sql)") { scene in
            try scene.scratch.write(Self.file, to: "things.json")
            try scene.database("writer.db").run(Self.table + "INSERT INTO things VALUES('a', 'one', '2026-01-01T00:00:00Z')")
            try scene.succeed("init writer.db cloud --name desk --datasets things.json")
            try scene.sync("writer")
            try scene.database("reader.db").run(Self.table + sql)
        }
    }

    @Test(arguments: [
        ("create_function('appfn', 1, lambda a: a, deterministic=True)", "appfn(v)", "unknown function: appfn", "a function"),
        ("create_collation('APP', lambda a, b: (a > b) - (a < b))", "v COLLATE APP", "no such collation sequence: APP", "a collation"),
    ])
    func whatOnlyTheApplicationHasIsNamed(makes: String, indexed: String, error: String, what: String) throws {
        let scene = try scene()
        try scene.succeed("join reader.db cloud --name phone --datasets things.json")
        let script = "import sqlite3; c = sqlite3.connect('reader.db'); c.\(makes); c.execute('CREATE INDEX i ON things(\(indexed))'); c.commit()"
        try Python.run(script, in: scene.scratch.path)
        try scene.refuse("sync reader.db", exit: 78, saying: [error, "\(what) that only your application has", ".schema"])
    }

    @Test func tableThatWasRenamed() throws {
        let scene = try scene(reader: "CREATE TABLE notes(a); CREATE TRIGGER x AFTER INSERT ON things BEGIN INSERT INTO notes VALUES(new.id); END;")
        try scene.succeed("join reader.db cloud --name phone --datasets things.json")
        try scene.database("reader.db").run("PRAGMA legacy_alter_table = 1; ALTER TABLE notes RENAME TO memos")
        // A trigger that fails stops no import; the sync names it and what it lacks.
        #expect(try scene.succeed("sync reader.db").contains("warning: things: the trigger x failed (no such table: main.notes)"))
        try scene.database("reader.db").run("PRAGMA legacy_alter_table = 1; ALTER TABLE memos RENAME TO notes")
        try scene.database("reader.db").run("ALTER TABLE things RENAME TO items")
        let run = try scene.run("status reader.db")
        #expect(run.status == 78 && run.errorText.contains("the table is named items now"), "\(run.errorText)")
    }

    /// A database that is not set up cannot take a dataset out.
    @Test(arguments: ["reader", "peer"]) func tableThatIsMissingAtInit(role: String) throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL)")
        try scene.succeed("init a.db cloud --peers --name a")
        try scene.sync("a")
        try scene.database("c.db").run("CREATE TABLE renamed(id TEXT PRIMARY KEY NOT NULL)")
        let run = try scene.run("init c.db cloud --peers --name c")
        #expect(run.status == 78 && run.errorText.contains("there is no such table") && !run.errorText.contains("tables remove"), "\(run.errorText)")
        try scene.succeed(Scene.join("c.db", as: role, "--name c"))
        #expect(try scene.database("c.db").run("SELECT count(*) FROM t") == "0\n")
    }

    /// A database that is not set up has no description to update.
    @Test func tableThatDoesNotMatchAtInit() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT)")
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        try scene.database("c.db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL)")
        for line in ["join c.db cloud --name c", "join c.db cloud --name c --with-schema"] {
            let run = try scene.run(line)
            #expect(run.status == 78 && run.errorText.contains("it has no column v") && !run.errorText.contains("tables adopt"), "\(run.errorText)")
        }
    }

    @Test func datasetFilesThatDoNotMatch() throws {
        for (change, exit, saying) in [
            (#""name":"v","type":"text""#, 78, "column v"), (#""name":"v","type":"text","column":"v""#, 65, "the column is required"),
            (#""key":"id""#, 78, "its key is id, and this device's is v"),
        ] {
            let scene = try scene(reader: "CREATE UNIQUE INDEX i ON things(v);")
            let other: [String: String] = [
                #""name":"v","type":"text""#: #""name":"v","type":"integer""#,
                #""name":"v","type":"text","column":"v""#: #""name":"w","column":"v","type":"text""#,
                #""key":"id""#: #""key":"v""#,
            ]
            let original = change.hasSuffix(#""column":"v""#) ? #""name":"v","type":"text""# : change
            try scene.scratch.write(Self.file.replacing(original, with: try #require(other[change])), to: "other.json")
            if change.contains("integer") || other[change]?.contains("integer") == true {
                try scene.database("reader.db").run("DROP TABLE things; CREATE TABLE things(id TEXT PRIMARY KEY NOT NULL, v, u TEXT NOT NULL)")
            }
            try scene.succeed("join reader.db cloud --name phone --datasets other.json")
            try scene.refuse("sync reader.db", exit: Int32(exit), saying: [saying, "dataset file"])
        }
    }

    /// A file that another user's program left beside the database, which no sync of this user can write.
    @Test func readOnlyFileBesideTheDatabaseIsNamed() throws {
        let scene = try Scene.phoneAndWatch()
        for mode in [("cloud", 0o777), (".", 0o777)] {
            try FileManager.default.setAttributes([.posixPermissions: mode.1], ofItemAtPath: scene.scratch.path(mode.0))
        }
        let run = try ProgramRun("chmod", ["-R", "a+rwX", "."], in: scene.scratch.path)
        try #require(run.status == 0)
        try scene.scratch.write("", to: "watch.db-shm")
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: scene.scratch.path("watch.db-shm"))
        let sync = try BuiltCommand.runAsNobody(["sync", "watch.db"], in: scene.scratch.path)
        Scene.checkRefusal(sync, exit: 77, saying: ["watch.db-shm", "this file beside the database cannot be written", "chmod"])
        let doctor = try BuiltCommand.runAsNobody(["check", "watch.db"], in: scene.scratch.path)
        #expect(
            doctor.status == 77 && doctor.text.contains("error: permission: watch.db-shm: this file beside the database cannot be written"), "\(doctor.text)")
    }
}
