import Foundation
import TestSupport
import Testing

/// `describe` and `init --tables` recognise timestamps that are numbers, and say how to name those that they do not.
@Suite(.runsPrograms) struct TimestampUnitRecognitionTests {
    /// Tables in the shape of applications that people have: note keeping, flash cards, home automation, Core Data, a browser, a file index.
    private static let schema = """
        CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT, created_time INT NOT NULL, updated_time INT NOT NULL);
        CREATE TABLE cards(id INTEGER PRIMARY KEY, nid INTEGER NOT NULL, mod INTEGER NOT NULL, reps INTEGER NOT NULL);
        CREATE TABLE states(state_id INTEGER PRIMARY KEY, state VARCHAR(255), last_updated_ts FLOAT, last_changed_ts FLOAT);
        CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_OPT INTEGER, ZCREATIONDATE TIMESTAMP, ZMODIFICATIONDATE TIMESTAMP, ZTITLE VARCHAR);
        CREATE TABLE bookmarks(id INTEGER PRIMARY KEY, dateAdded INTEGER, lastModified INTEGER);
        CREATE TABLE files(path TEXT PRIMARY KEY NOT NULL, mtime REAL);
        CREATE TABLE fresh(id INTEGER PRIMARY KEY, updated_at INTEGER);
        CREATE TABLE changes(id INTEGER PRIMARY KEY, changed INTEGER);
        CREATE TABLE links(id INTEGER PRIMARY KEY, modified INTEGER REFERENCES cards(id));
        CREATE TABLE never(id INTEGER PRIMARY KEY, modified INTEGER);
        CREATE TABLE chrome(id INTEGER PRIMARY KEY, last_modified INTEGER);
        INSERT INTO notes VALUES('a', 'One', 1600000000000, 1700000000000), ('b', 'Two', 1600000000001, 1710000000123);
        INSERT INTO cards VALUES(1600000000000, 1, 1700000000, 3), (1600000000001, 1, 1710000000, 12);
        INSERT INTO states VALUES(1, 'on', 1700000000.125, NULL), (2, 'off', 1700000001.5, NULL);
        INSERT INTO ZNOTE VALUES(1, 1, 700000000.25, 710000000.75, 'One'), (2, 3, 700000001, 720000000, 'Two');
        INSERT INTO bookmarks VALUES(1, 1600000000000000, 1700000000000000), (2, 1600000000000000, 1710000000000000);
        INSERT INTO files VALUES('/a', 2460000.5), ('/b', 2460100.25);
        INSERT INTO changes VALUES(1, 3), (2, 946684800);
        INSERT INTO links VALUES(1, 1600000000000);
        INSERT INTO never VALUES(1, 0), (2, 1700000000);
        INSERT INTO chrome VALUES(1, 13300000000000000);
        """

    private func scene() throws -> Scene {
        let scene = try Scene()
        try scene.database("app.db").run(Self.schema)
        return scene
    }

    @Test func unitsFollowFromTheValues() throws {
        let scene = try scene()
        let run = try scene.run("tables describe app.db")
        #expect(run.status == 0)
        for line in [
            "timestamp of notes: updated_time (milliseconds)", "timestamp of cards: mod (seconds)",
            "timestamp of states: last_updated_ts (seconds); not last_changed_ts", "timestamp of ZNOTE: ZMODIFICATIONDATE (apple)",
            "timestamp of bookmarks: lastModified (microseconds)", "timestamp of files: mtime (julian)", "timestamp of fresh: none; not updated_at",
            "timestamp of changes: none; not changed", "timestamp of links: none; not modified", "timestamp of never: none; not modified",
            "timestamp of chrome: none; not last_modified",
            "note: fresh.updated_at, changes.changed, links.modified, never.modified, chrome.last_modified may say when a row was last changed, but their numbers do not fit one unit; where one does: --timestamp TABLE=COLUMN:UNIT",
        ] {
            #expect(run.errorText.contains(line + "\n"), "\(line)\n\(run.errorText)")
        }
        #expect(run.text.contains(#""key": "Z_PK", "timestamp": "ZMODIFICATIONDATE", "timestampUnit": "apple""#), "\(run.text)")
        let tables = try #require(try scene.json("tables describe app.db")["tables"] as? [[String: Any]])
        #expect(tables.first { $0["table"] as? String == "notes" }?["timestampUnit"] as? String == "milliseconds")
    }

    /// What was recognised decides: the later edit wins by the application's own dates, and arrives bit by bit.
    @Test func rowsTravelWithTheirTimestamps() throws {
        let scene = try scene()
        let lines = try scene.succeed("init app.db cloud --name w --timestamp never=modified:seconds")
        #expect(lines.contains("timestamp of never: modified (seconds)") && lines.contains("timestamp of files: mtime (julian)"))
        try scene.sync("app")
        try scene.succeed("join copy.db cloud --name r")
        try scene.sync("copy")
        for query in ["SELECT * FROM ZNOTE", "SELECT typeof(mtime), mtime FROM files", "SELECT * FROM states", "SELECT * FROM never"] {
            #expect(try scene.database("copy.db").run(query) == scene.database("app.db").run(query))
        }
        try scene.succeed("check copy.db --local")
        // No row has an instant of its own: each is the row's timestamp.
        #expect(try scene.succeed("show copy.db notes").contains(#""updated_time":1710000000123"#))
        #expect(try !scene.succeed("show copy.db notes").contains("instants"))
    }

    @Test func refusesWhatTheRowsContradict() throws {
        let scene = try scene()
        for (option, words) in [
            ("changes=changed", ["the rows do not say what the numbers in the column changed count", "--timestamp changes=changed:UNIT"]),
            ("fresh=updated_at", ["the rows do not say", "seconds, milliseconds, microseconds, apple"]),
            ("notes=updated_time:hours", ["there is no unit hours"]),
            ("notes=nothing:seconds", ["it has no column nothing:seconds"]), ("links=modified:seconds", ["refers to another table"]),
        ] {
            let run = try scene.run("tables describe app.db --timestamp \(option)")
            Scene.checkRefusal(run, exit: 78, saying: words)
        }
        let chosen = try scene.run("tables describe app.db --timestamp changes=changed:apple --timestamp notes=created_time --timestamp cards=none")
        #expect(chosen.errorText.contains("timestamp of changes: changed (apple)\n"))
        #expect(chosen.errorText.contains("timestamp of notes: created_time (milliseconds); not updated_time\n"))
        #expect(chosen.errorText.contains("timestamp of cards: none; not mod\n"))
    }
}
