import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// What the independent model found of single columns that readers edit: an edit changes no row but that which was edited, and no column but those.
    @Suite(.runsPrograms) struct ReaderPatchTests: ShiftedClockSuite {
        let scene: Scene
        let clock: ShiftedClock

        init() throws { (scene, clock) = try ShiftedClock.scene() }

        /// What a reader may not edit stays there, over an earlier edit of the writer, and undoes nothing. A later edit of a column that it may edit
        /// travels; but not of a row that it inserted, for it may insert none.
        @Test(arguments: zip(["UPDATE notes SET note = 'own' WHERE id = 'k'", "INSERT INTO notes VALUES('new', 'of r', 'own', NULL)"], [false, true]))
        func editThatNoMessageCarriesUndoesNothing(sql: String, isComparedBefore: Bool) throws {
            for timestamp in ["", #""timestamp":"at","#] {
                try scene.scratch.write(
                    """
                    {"formatVersion":1,"datasets":[{"name":"notes","key":"id",\(timestamp)"columns":[{"name":"id","type":"text"},{"name":"title","type":"text"},
                      {"name":"note","type":"text","optional":true},{"name":"at","type":"text","optional":true}],"messages":{"patch":["title"]}}]}
                    """, to: "datasets.json")
                let names = timestamp.isEmpty ? ["w", "r"] : ["w2", "r2"]
                let (w, r) = (names[0], names[1])
                for name in names {
                    try edit(name, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, note TEXT, at TEXT)", 0)
                    if name == w { try edit(w, "INSERT INTO notes VALUES('k', 'first', NULL, '\(text(0))')", 0) }
                    try run(Scene.setUp("\(name).db", at: "cloud-\(w)", as: name == w ? "writer" : "reader", "--name \(name) --datasets datasets.json"), 1)
                    try run("sync \(name).db --quiet", 2)
                }
                try edit(w, "UPDATE notes SET title = 'of w' WHERE id = 'k'; INSERT INTO notes VALUES('new', 'of w', NULL, NULL)", 10)
                try edit(r, sql, 20)
                if isComparedBefore { try run("sync \(r).db", 21) }
                try sync([w: 30, r: 31, w: 32, r: 33])
                #expect(try rows(w, "SELECT id, title, note FROM notes ORDER BY id") == "k|of w|\nnew|of w|\n")
                #expect(try rows(r, "SELECT count(*) FROM notes WHERE note = 'own'") == "1\n")
                #expect(try scene.succeed("pending \(r).db").contains("  stays here: "))
                try edit(r, "UPDATE notes SET title = 'of r, later' WHERE note = 'own'", 40)
                try sync([r: 41, w: 42, r: 43])
                #expect(try rows(w, "SELECT title, note FROM notes WHERE title <> 'of w'") == (sql.hasPrefix("UPDATE") ? "of r, later|\n" : ""))
                #expect(try rows(r, "SELECT title, note FROM notes WHERE note = 'own'") == "of r, later|own\n")
            }
        }

        /// A reader patches a row, deletes it, and inserts another one under its key. Edits of that one are no patch of the row that the writer has.
        @Test func anEditOfARowThatWasDeletedAndInsertedAgainIsNoPatch() throws {
            try begin(
                """
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"},{"name":"b","type":"text"}],
                  "messages":{"patch":["a","b"],"delete":true}}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL);", first: "INSERT INTO notes VALUES('k', 'a1', 'b1')")
            try edit("w", "UPDATE notes SET b = 'b2'", 9)
            try edit("r", "UPDATE notes SET a = 'a2'", 10)
            try sync(["w": 11, "r": 12])
            try edit("r", "DELETE FROM notes", 13)
            try run("sync r.db", 14)
            try edit("r", "INSERT INTO notes VALUES('k', 'another', 'one')", 15)
            try edit("r", "UPDATE notes SET a = 'edited'", 16)
            #expect(try !run("sync r.db", 17).contains("sent"))
            // By the time that the messages are applied, the writer has a row of its own under the key.
            try run("sync w.db", 18)
            try edit("w", "INSERT INTO notes VALUES('k', 'of the writer', 'b3')", 19)
            try sync(["w": 20, "r": 21, "w": 22, "r": 23])
            #expect(try rows("w", "SELECT a, b FROM notes") == "of the writer|b3\n")
        }

        /// A patch waits for its answer, and the version brings another row with its UNIQUE value: the import must not stop.
        @Test func versionsRowKeepsTheValueThatAWaitingPatchSets() throws {
            try begin(
                """
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"code","type":"text","optional":true}],
                  "messages":{"patch":["code"]}}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);", first: "INSERT INTO notes VALUES('k', 'u')")
            try edit("r", "UPDATE notes SET code = 'v'", 10)
            try edit("w", "INSERT INTO notes VALUES('other', 'v')", 11)
            try run("sync w.db --quiet", 12)
            try sync(["r": 13, "w": 14, "r": 15, "w": 16])
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM notes ORDER BY id") == "k|u\nother|v\n") }
            #expect(try scene.succeed("conflicts r.db").contains("notes k (valueTaken)"))
        }

        /// A reader edited a column that it may not edit, later than the writer did. Its next edits of other columns travel without that one.
        @Test func laterEditsTravelWithoutAColumnThatStays() throws {
            try begin(
                """
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"},
                  {"name":"b","type":"text"},{"name":"c","type":"text"}],"messages":{"patch":["a","b"]}}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, c TEXT NOT NULL);",
                first: "INSERT INTO notes VALUES('k', 'a1', 'b1', 'c1')")
            try edit("w", "UPDATE notes SET c = 'of the writer'", 10)
            try edit("r", "UPDATE notes SET a = 'a2', c = 'of the reader'", 20)
            try sync(["w": 21, "r": 22])
            try edit("r", "UPDATE notes SET a = 'a3', b = 'b3'", 30)
            try sync(["r": 31, "w": 32, "r": 33])
            #expect(try rows("w", "SELECT * FROM notes") == "k|a3|b3|of the writer\n")
            #expect(try rows("r", "SELECT * FROM notes") == "k|a3|b3|of the reader\n")
        }

        /// Writer and reader inserted rows with one key, and the version that the reader had is pruned. No message mixes the two rows.
        @Test func anInsertedRowPatchesNoOtherRowOfItsKey() throws {
            try begin(
                """
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"}],
                  "messages":{"patch":["a"]}}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL);", first: "INSERT INTO notes VALUES('first', 'first')", at: -74_000)
            try edit("w", "INSERT INTO notes VALUES('k', 'of the writer')", -73_980)
            try edit("r", "INSERT INTO notes VALUES('k', 'of the reader')", -73_970)
            try run("sync w.db --quiet", -73_960)
            _ = try ProgramRun("find", ["cloud", "-type", "f", "-exec", "touch", "-d", "4 days ago", "{}", "+"], in: scene.scratch.path)
            #expect(try run("prune w.db --keep-last 1", 16_000).contains("removed version 1"))
            try sync(["r": 16_010, "r": 16_020, "w": 16_030, "r": 16_040])
            #expect(try rows("w", "SELECT a FROM notes WHERE id = 'k'") == "of the writer\n")
            #expect(try rows("r", "SELECT a FROM notes WHERE id = 'k'") == "of the reader\n")
        }

        /// A table without timestamps: that REPLACE found a row of the version is known all the same, and the row's column is patched.
        @Test(arguments: [
            "INSERT OR REPLACE INTO notes VALUES('k', 'of the reader', 'b')", "UPDATE OR REPLACE notes SET id = 'k', a = 'of the reader' WHERE id = 'o'",
        ])
        func aRowThatReplaceChangesIsPatched(sql: String) throws {
            try begin(
                """
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"},
                  {"name":"b","type":"text","optional":true}],"messages":{"patch":["a"]}}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b TEXT);",
                first: "INSERT INTO notes VALUES('k', 'first', 'b'), ('o', 'other', 'b')")
            try edit("w", "UPDATE notes SET b = NULL", 10)
            try edit("r", sql, 20)
            try sync(["w": 30, "r": 31, "w": 32, "r": 33])
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM notes WHERE id = 'k'") == "k|of the reader|\n") }
        }

        /// The publisher refuses a reader's deletion of a row, for another row refers to it. What the reader inserted under the key in between is an
        /// insertion, and stays there with all later edits of it.
        @Test func aRowInPlaceOfARefusedDeletionStays() throws {
            try begin(
                #"""
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"},{"name":"n","type":"integer"}],
                  "messages":{"patch":["title","n"],"delete":true}},
                {"name":"items","key":"id","columns":[{"name":"id","type":"text"},{"name":"list","type":"text"}]}
                """#,
                "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, n INTEGER NOT NULL);"
                    + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));",
                first: "INSERT INTO lists VALUES('k', 'first', 1)")
            try edit("r", "DELETE FROM lists", -10_000)
            try run("sync r.db", -9_990)
            try edit("r", "INSERT INTO lists VALUES('k', 'of r', 2)", -9_980)
            try edit("w", "INSERT INTO items VALUES('i', 'k')", 10)
            try run("sync w.db", 20)
            try edit("r", "UPDATE lists SET n = 3", -9_970)
            try sync(["r": -9_960, "w": 30, "r": -9_950, "w": 40])
            #expect(try rows("w", "SELECT * FROM lists") == "k|first|1\n")
            #expect(try rows("r", "SELECT * FROM lists") == "k|of r|3\n")
            try edit("r", "UPDATE lists SET n = 4", 50)
            try sync(["r": 60, "w": 70, "r": 80])
            #expect(try rows("w", "SELECT * FROM lists") == "k|first|1\n")
            #expect(try rows("r", "SELECT * FROM lists") == "k|of r|4\n")
            #expect(try scene.succeed("pending r.db").contains("stays here: "))
        }
    }
#endif
