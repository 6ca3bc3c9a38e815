import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// What the independent model found of readers' edits: none goes where it should stay or be told, and none changes more than it says.
    @Suite(.runsPrograms) struct KeptReaderEditTests: ShiftedClockSuite {
        let scene: Scene
        let clock: ShiftedClock

        init() throws { (scene, clock) = try ShiftedClock.scene() }

        /// An edit by a clock that ran ahead was decided. An edit on top of what stayed of that change is of the clock that is right now, so it
        /// loses to a later one of the writer.
        @Test(arguments: [false, true])
        func aDecidedEditOfAWrongClockLeavesLaterEditsTheirTime(isSeen: Bool) throws {
            try begin(
                """
                {"name":"notes","key":"id","timestamp":"at","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"},
                  {"name":"b","type":"text","optional":true},{"name":"at","type":"text","optional":true}],"messages":{"patch":["a"]}}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b TEXT, at TEXT);",
                first: "INSERT INTO notes VALUES('k', 'first', NULL, '\(text(0))')")
            // Readers may not edit the second column: there, the reader's value stays its own.
            try edit("r", "UPDATE notes SET a = 'of r', b = 'own', at = '\(text(14_010))'", 14_010)
            try sync(["r": 14_020, "w": 30, "r": 14_040])
            #expect(try rows("r", "SELECT a, b FROM notes") == "of r|own\n")
            try edit("r", "UPDATE notes SET a = 'second'", 50)
            if isSeen { try run("status r.db", 51) }
            try edit("w", "UPDATE notes SET a = 'of the writer', at = '\(text(60))'", 60)
            try sync(["w": 61, "r": 62, "w": 63, "r": 64])
            #expect(try rows("w", "SELECT a, b FROM notes") == "of the writer|\n")
            #expect(try rows("r", "SELECT a, b FROM notes") == "of the writer|own\n")
            #expect(try scene.succeed("conflicts r.db").contains(#"a: "second" lost"#))
        }

        /// A reader that may not insert rows edits a row that the writer has deleted before, in columns that it may edit and in others. The row is the
        /// reader's own from then on: none of the edit is sent, so that no answer takes the row away.
        @Test func aDeletedRowWithLaterEditsStaysWithAReaderThatMayNotInsert() throws {
            try begin(
                #"{"name":"notes","key":"id","columns":[{"name":"id"},{"name":"a"},{"name":"b"}],"messages":{"patch":["a"],"delete":true}}"#,
                "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT);", first: "INSERT INTO notes VALUES('k', 'first', 'first')")
            try edit("w", "DELETE FROM notes", 10)
            try edit("r", "UPDATE notes SET b = 'own'", 20)
            try edit("r", "UPDATE notes SET a = 'of r'", 30)
            try sync(["w": 40, "r": 50])
            #expect(try rows("r", "SELECT a, b FROM notes") == "of r|own\n")
            #expect(try scene.succeed("pending r.db").contains("readers may not add rows"))
            try edit("w", "INSERT INTO notes VALUES('l', 'other', 'other')", 60)
            try sync(["w": 61, "r": 62, "w": 63, "r": 64])
            #expect(try rows("r", "SELECT a, b FROM notes ORDER BY id") == "of r|own\nother|other\n")
            #expect(try rows("w", "SELECT a FROM notes") == "other\n")
        }

        /// A reader, its clock ahead, deletes a row to which the version has a new reference by then. The row comes back as the version's, so that later
        /// edits of the writer reach it.
        @Test(arguments: [#""patch":["name"],"delete":true"#, #""rows":true"#, #""patch":["name"]"#])
        func aDeletedParentThatTheVersionNeedsIsTheVersionsAgain(messages: String) throws {
            try begin(
                """
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"name","type":"text"}],"messages":{\(messages)}},
                {"name":"items","key":"id","columns":[{"name":"id","type":"text"},{"name":"list","type":"text"}]}
                """,
                "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL); CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));",
                first: "INSERT INTO lists VALUES('p', 'first')")
            try edit("w", "INSERT INTO items VALUES('i', 'p')", 10)
            try edit("r", "DELETE FROM lists", 7_210)
            try sync(["w": 20, "r": 7_220])
            #expect(try rows("r", "SELECT name FROM lists; SELECT list FROM items") == "first\np\n")
            try edit("w", "UPDATE lists SET name = 'of the writer'", 30)
            try sync(["w": 40, "r": 7_240, "w": 50, "r": 7_250])
            for name in ["w", "r"] { #expect(try rows(name, "SELECT name FROM lists; SELECT list FROM items") == "of the writer\np\n") }
            #expect(try rows("r", "SELECT count(*) FROM snapsync_changes") == "0\n")
        }

        /// A reader, its clock ahead, sends a row that is held. A row that it inserts in its place, when the clock is right, is later all the same: the
        /// publisher's version of the held row does not replace it.
        @Test func aRowInPlaceOfAHeldOneThatWasSentIsLater() throws {
            try begin(
                #"{"name":"people","key":"id","columns":[{"name":"id"},{"name":"name"},{"name":"mail"}],"messages":{"rows":true}}"#,
                "CREATE TABLE people(id TEXT PRIMARY KEY NOT NULL, name TEXT, mail TEXT UNIQUE);", first: "INSERT INTO people VALUES('a', 'first', NULL)")
            try edit("w", "UPDATE people SET mail = 'm'", 10)
            try edit("r", "INSERT INTO people VALUES('b', 'held', 'm')", 7_200)
            try sync(["w": 11, "r": 7_210])
            try edit("r", "INSERT INTO people VALUES('b', 'second', 'n')", 50)
            try sync(["w": 60, "r": 70, "w": 80, "r": 90])
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM people") == "a|first|m\nb|second|n\n") }
        }

        /// A row of the reader waited for its UNIQUE value and came back. It is the reader's edit as before: it is kept when a later one of its key comes.
        @Test func aRowThatCameBackIsKeptWhenItLoses() throws {
            try begin(
                #"{"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"code","type":"text"}]}"#,
                "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, code TEXT NOT NULL UNIQUE);", first: "INSERT INTO lists VALUES('k', 'first')")
            try edit("r", "INSERT INTO lists VALUES('own', 'x')", 10)
            try edit("w", "INSERT INTO lists VALUES('l', 'x')", 20)
            try sync(["w": 30, "r": 40])
            #expect(try rows("r", "SELECT id FROM lists") == "k\nl\n")
            try edit("r", "DELETE FROM lists WHERE id = 'l'", 50)
            try edit("w", "UPDATE lists SET code = 'second' WHERE id = 'k'", 60)
            try sync(["w": 70, "r": 80])
            #expect(try rows("r", "SELECT id, code FROM lists ORDER BY id") == "k|second\nown|x\n")
            try edit("w", "INSERT INTO lists VALUES('own', 'v')", 90)
            try sync(["w": 100, "r": 110])
            #expect(try rows("r", "SELECT code FROM lists WHERE id = 'own'") == "v\n")
            let told = try scene.succeed("conflicts r.db")
            #expect(told.contains("own"), Comment(rawValue: told))
        }

        /// At a reader, a row gives way to a parent that comes back for the version's child. The version's row takes its place.
        @Test func theVersionsRowTakesThePlaceOfOneThatGaveWayToAParent() throws {
            try begin(
                """
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"code","type":"text"}]},
                  {"name":"items","key":"id","columns":[{"name":"id","type":"text"},{"name":"list","type":"text"}]}
                """,
                "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, code TEXT NOT NULL UNIQUE);"
                    + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));",
                first: "INSERT INTO lists VALUES('k', 'w')")
            try edit("r", "DELETE FROM lists; INSERT INTO lists VALUES('l', 'w')", 30)
            try edit("w", "INSERT INTO items VALUES('i', 'k'); INSERT INTO lists VALUES('l', 'v')", 20)
            try sync(["w": 40, "r": 41])
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM lists ORDER BY id; SELECT * FROM items") == "k|w\nl|v\ni|k\n") }
            #expect(try scene.succeed("conflicts r.db").contains("lists l (valueTaken)"))
        }

        /// A reader's statement deletes a row and takes its children off it. Both have one instant, and the later edits of others do not come between.
        @Test func aDeletionIsAppliedAfterWhatItsStatementDidToTheChildren() throws {
            let keys = (1...8).map { "('k\($0)', 'k\($0)')" }.joined(separator: ", ")
            try begin(
                """
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}],
                  "messages":{"patch":["title"],"delete":true}},{"name":"items","key":"id","columns":[{"name":"id","type":"text"},
                  {"name":"list","type":"text","optional":true}],"messages":{"rows":true}}
                """,
                "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);"
                    + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists(id) ON DELETE SET NULL);",
                first: "INSERT INTO lists VALUES\(keys); INSERT INTO items VALUES\(keys)", readers: ["r", "s"])
            try edit("r", "PRAGMA foreign_keys = ON; DELETE FROM lists", 10)
            try edit("s", "UPDATE lists SET title = 'b'", 20)
            try sync(["r": 30, "s": 31, "w": 32, "r": 33, "s": 34])
            for name in ["w", "r", "s"] {
                #expect(try rows(name, "SELECT count(*) FROM lists; SELECT count(*) FROM items WHERE list IS NULL") == "0\n8\n", "\(name)")
            }
        }

        /// A reader edits a list that the writer has deleted and puts a row below it, and another reader deletes the list later without having seen the
        /// row. The row needs its list: the reader that has both restores it.
        @Test(arguments: [false, true]) func aRowKeepsTheParentThatAnotherReaderDeletes(otherRefused: Bool) throws {
            try begin(
                #"""
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}],"messages":{"rows":true}},
                {"name":"items","key":"id","columns":[{"name":"id","type":"text"},{"name":"list","type":"text"}],"messages":{"rows":true}}
                """#,
                "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);"
                    + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));",
                first: "INSERT INTO lists VALUES('p', 'first'), ('other', 'first')", readers: ["r", "s"])
            if otherRefused {
                // A table that is not synced forbids one of the edits: the others are put on the tables all the same.
                try edit("w", "CREATE TABLE pins(list TEXT REFERENCES lists(id)); INSERT INTO pins VALUES('other')", 9)
                try edit("s", "DELETE FROM lists WHERE id = 'other'", 9)
            }
            try edit("w", "DELETE FROM lists WHERE id = 'p'", 10)
            try edit("s", "INSERT INTO items VALUES('i', 'p')", 11)
            try edit("s", "UPDATE lists SET title = 'of s' WHERE id = 'p'", 12)
            try edit("r", "DELETE FROM lists WHERE id = 'p'", 13)
            try sync(["w": 20, "s": 21, "r": 22, "w": 23, "s": 24, "r": 25, "w": 26, "s": 27, "r": 28])
            for name in ["w", "r", "s"] {
                #expect(try rows(name, "SELECT title FROM lists ORDER BY title; SELECT * FROM items") == "first\nof s\ni|p\n", "\(name)")
            }
            #expect(try scene.succeed("conflicts w.db").contains("lists p (laterDeletion)"))
            if otherRefused { for name in ["w", "s"] { #expect(try scene.succeed("conflicts \(name).db").contains("lists other (refused")) } }
        }

        /// Both devices delete a row, the reader with a clock that is ahead. No message carries its deletion: it ends with the version that has one, too,
        /// and another row of that key comes in.
        @Test(arguments: ["", #","messages":{"patch":["title"]}"#], [false, true])
        func aDeletionThatNoMessageCarriesEndsWithTheVersions(messages: String, isFirst: Bool) throws {
            try begin(
                #"""
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}]\#(messages)}
                """#, "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);", first: "INSERT INTO lists VALUES('k', 'first')")
            if isFirst {
                try edit("r", "DELETE FROM lists", 20_010)
                try sync(["r": 20_011])
                try edit("w", "DELETE FROM lists", 12)
            } else {
                try edit("w", "DELETE FROM lists", 10)
                try edit("r", "DELETE FROM lists", 20_011)
            }
            try sync(["w": 20, "r": 20_021])
            try edit("w", "INSERT INTO lists VALUES('k', 'second')", 30)
            try sync(["w": 40, "r": 20_041], isQuiet: true)
            #expect(try rows("r", "SELECT title FROM lists") == "second\n")
        }

        /// A row that a reader made and deleted before its first import is nobody's: its deletion is not told, even if the version deleted its key before.
        @Test(arguments: [#""rows":true"#, #""patch":["title"],"delete":true"#])
        func aRowThatPassedBeforeTheFirstImportIsNotTold(messages: String) throws {
            try begin(
                #"""
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}],"messages":{\#(messages)}}
                """#, "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);", first: "INSERT INTO lists VALUES('k', 'first')",
                readers: [])
            try edit("r", "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL)", 4)
            try run("join r.db cloud --name r --datasets datasets.json", 5)
            try edit("w", "DELETE FROM lists", 10)
            try sync(["w": 11])
            try edit("r", "INSERT INTO lists VALUES('k', 'passing')", 20)
            try edit("r", "DELETE FROM lists", 21)
            #expect(try !run("sync r.db", 22).contains("sent"))
            try edit("w", "INSERT INTO lists VALUES('k', 'second')", 15)
            try sync(["w": 23, "r": 24], isQuiet: true)
            for name in ["w", "r"] { #expect(try rows(name, "SELECT title FROM lists") == "second\n", "\(name)") }
        }

        /// A row that a reader made, kept to itself and deleted is nobody's, also if the version that the reader had is pruned by then.
        @Test func aRowThatPassedIsNotToldIfTheVersionIsPruned() throws {
            try begin(
                #"""
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}],"messages":{"patch":["title"],"delete":true}}
                """#, "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);", first: "INSERT INTO lists VALUES('l', 'first')", at: -74_000)
            try edit("r", "INSERT INTO lists VALUES('k', 'passing')", -100)
            try run("sync r.db --quiet", -90)
            try edit("w", "INSERT INTO lists VALUES('k', 'of the writer')", -73_980)
            try run("sync w.db --quiet", -73_960)
            _ = try ProgramRun("find", ["cloud", "-type", "f", "-exec", "touch", "-d", "4 days ago", "{}", "+"], in: scene.scratch.path)
            #expect(try run("prune w.db --keep-last 1", 16_000).contains("removed version 1"))
            try edit("r", "DELETE FROM lists WHERE id = 'k'", -80)
            #expect(try !run("sync r.db", 16_010).contains("sent"))
            try sync(["w": 16_030, "r": 16_040], isQuiet: true)
            for name in ["w", "r"] { #expect(try rows(name, "SELECT title FROM lists WHERE id = 'k'") == "of the writer\n", "\(name)") }
        }

        /// An edit that was reverted is told, also if the version that it was made on is pruned by then.
        @Test func anEditWithEqualValuesIsToldIfTheVersionIsPruned() throws {
            try begin(
                """
                {"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}],"messages":{"rows":true}}
                """, "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);", first: "INSERT INTO lists VALUES('l', 'first')", at: -74_000)
            try edit("w", "INSERT INTO lists VALUES('k', 'of the writer')", -73_980)
            try run("sync w.db --quiet", -73_960)
            _ = try ProgramRun("find", ["cloud", "-type", "f", "-exec", "touch", "-d", "4 days ago", "{}", "+"], in: scene.scratch.path)
            #expect(try run("prune w.db --keep-last 1", 16_000).contains("removed version 1"))
            try edit("r", "UPDATE lists SET title = 'other' WHERE id = 'l'; UPDATE lists SET title = 'first' WHERE id = 'l'", -80)
            #expect(try run("sync r.db", 16_010).contains("sent 1 edit"))
            #expect(try run("sync w.db", 16_030).contains("edits of readers: 1 applied"))
            #expect(try !run("sync r.db", 16_040).contains("sent"))
            for name in ["w", "r"] { #expect(try rows(name, "SELECT title FROM lists ORDER BY title") == "first\nof the writer\n", "\(name)") }
        }

        /// A reader spells a row's key otherwise, which no message carries. It stays at the reader, beside a later edit of another column.
        @Test(arguments: ["NOCASE", "RTRIM"]) func anEditThatSpellsAKeyOtherwiseIsKept(
            collation: String
        ) throws {
            let spelling = collation == "NOCASE" ? "A" : "a "
            try begin(
                #"""
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text","collation":"\#(collation.lowercased())"},{"name":"n","type":"integer"},
                  {"name":"title","type":"text"}],"messages":{"patch":["n"],"delete":true}}
                """#, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL COLLATE \(collation), n INTEGER NOT NULL, title TEXT NOT NULL);",
                first: "INSERT INTO notes VALUES('\(spelling)', 1, 'first')")
            try edit("r", "UPDATE notes SET id = 'a'", 10)
            try edit("w", "UPDATE notes SET title = 'second'", 20)
            try sync(["w": 30, "r": 31])
            #expect(try rows("r", "SELECT * FROM notes") == "a|1|second\n")
            #expect(try rows("w", "SELECT * FROM notes") == "\(spelling)|1|second\n")
            #expect(try scene.succeed("conflicts r.db").contains("no edit has lost"))
        }

        /// Both devices revert an edit of a row. The reader's edit is the later one, whichever way the version comes in.
        @Test func aReadersEditStaysIfAnEarlierOneGaveTheRowTheSameValues() throws {
            try begin(
                """
                {"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"}]}
                """, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL);", first: "INSERT INTO notes VALUES('k', 'first')", at: -28_000)
            let revert = "UPDATE notes SET a = 'other'; UPDATE notes SET a = 'first'"
            try edit("r", revert, 100)
            try edit("w", revert, -27_000)
            try sync(["w": -26_990, "r": 110], isQuiet: true)
            try edit("w", "UPDATE notes SET a = 'of the writer'", -26_980)
            try sync(["w": -26_970, "r": 120], isQuiet: true)
            #expect(try rows("r", "SELECT a FROM notes") == "first\n")
        }

        /// A row refers to its parent by the parent's collation.
        @Test(arguments: ["NOCASE", "RTRIM"]) func aParentInAnotherSpellingIsNotDeletedByAMessage(collation: String) throws {
            let spelling = collation == "NOCASE" ? "A" : "a "
            for name in ["w", "r"] {
                try edit(
                    name,
                    "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL COLLATE \(collation), title TEXT);"
                        + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists(id));", 0)
            }
            try edit("w", "INSERT INTO lists VALUES('\(spelling)', 'one')", 0)
            try run("init w.db cloud --name w --reader-edits all", 0)
            try run("sync w.db --quiet", 1)
            try run("join r.db cloud --name r", 2)
            try run("sync r.db --quiet", 3)
            try edit("r", "DELETE FROM lists", 10)
            try edit("w", "INSERT INTO items VALUES('i', 'a')", 20)
            try run("sync r.db --quiet", 21)
            try sync(["w": 22, "r": 23])
            for name in ["w", "r"] { #expect(try rows(name, "SELECT lists.id, items.id FROM items JOIN lists ON lists.id = list") == "\(spelling)|i\n") }
        }
    }
#endif
