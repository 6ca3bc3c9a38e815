import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// What the independent model found: peers with two tables, whose edits must neither go nor win where the documents say otherwise.
    @Suite struct KeptEditTests: ShiftedClockSuite {
        let scene: Scene
        let clock: ShiftedClock

        init() throws {
            scene = try Scene()
            clock = try ShiftedClock(in: scene.scratch)
        }

        /// Makes databases of peers that have the first one's version, described from their tables.
        private func peers(_ names: [String], _ tables: String, first rows: String = "", clocks: [String: Int64] = [:]) throws {
            for name in names {
                try edit(name, tables + (name == names[0] ? rows : ""), clocks[name] ?? 0)
                try run("init --db \(name).db --cloud cloud --role peer --device \(name) --shared-keys --tables all", clocks[name] ?? 0)
                try run("sync --quiet --db \(name).db", clocks[name] ?? 0)
            }
        }

        private static let notes = "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);"

        private func rows(_ database: String, _ sql: String) throws -> String { try scene.database("\(database).db").run(sql) }

        @Test func refusedReplaceOfTheCloudChangesNothing() throws {
            try peers(["a", "c"], Self.notes)
            try edit("a", "INSERT INTO notes VALUES('k', 'row of a')", 10)
            try run("sync --quiet --db a.db", 11)
            let refused = try scene.run("replace cloud --yes --db c.db", environment: clock.environment(-107_000))
            #expect(refused.status == 78 && refused.errorText.contains("this device's clock says"), "\(refused.errorText)")
            // With the right clock the next sync imports; it must not publish what was refused.
            try run("sync --db c.db", 100)
            try run("sync --db a.db", 101)
            for name in ["a", "c"] { #expect(try rows(name, "SELECT * FROM notes") == "k|row of a\n") }
        }

        @Test func revertedEditOutlivesDetach() throws {
            try peers(["a", "b"], Self.notes, first: "INSERT INTO notes VALUES('k', 'one');")
            try edit("b", "UPDATE notes SET title = 'edit of b'", 10)
            try edit("a", "UPDATE notes SET title = 'two'", 19)
            try edit("a", "UPDATE notes SET title = 'one'", 20)
            try run("detach --db a.db", 21)
            try run("init --db a.db --cloud cloud --role peer --device a --take-over --shared-keys --tables all", 22)
            for (name, seconds) in [("a", 23), ("b", 24), ("a", 25)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
            for name in ["a", "b"] { #expect(try rows(name, "SELECT * FROM notes") == "k|one\n") }
        }

        /// Where a table has no timestamp, the log does not tell whether an inserted key replaced a row of the version.
        @Test func insertOfAClockAheadLosesToALaterOneOnceTheClockIsRight() throws {
            try peers(["a", "b"], Self.notes, clocks: ["a": 17_000])
            try edit("a", "INSERT INTO notes VALUES('k', 'a, clock ahead')", 17_100)
            try edit("b", "INSERT INTO notes VALUES('k', 'b')", 200)
            for (name, seconds) in [("b", 201), ("a", 150), ("b", 202)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
            for name in ["a", "b"] { #expect(try rows(name, "SELECT * FROM notes") == "k|b\n") }
        }

        /// A row from before the first version has no instant where it has no timestamp, whenever a later version was made.
        @Test(arguments: ["", ", updatedAt TEXT"]) func editOfAFirstRowByAClockAheadLosesToALaterOneOnceTheClockIsRight(timestamp: String) throws {
            try peers(
                ["a", "b"], "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL\(timestamp));",
                first: "INSERT INTO notes(id, title) VALUES('k', 'first');")
            try edit("b", "INSERT INTO notes(id, title) VALUES('other', 'makes a version')", 17_000)
            try run("sync --db b.db", 17_010)
            try edit("b", "UPDATE notes SET title = 'b, clock ahead' WHERE id = 'k'", 17_100)
            try edit("a", "UPDATE notes SET title = 'a' WHERE id = 'k'", 200)
            for (name, seconds) in [("a", 201), ("b", 150), ("a", 202)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
            for name in ["a", "b"] { #expect(try rows(name, "SELECT title FROM notes WHERE id = 'k'") == "a\n") }
        }

        /// A version that was made by a clock that is hours ahead comes in while b's clock is wrong, too. It lacks rows of b, so their instants are not
        /// later than b's clock once that is right, and c's later rows win.
        @Test func rowsThatAVersionLacksAreNotLaterThanTheClockOnceItIsRight() throws {
            let table = "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, updatedAt TEXT);"
            for (name, seconds) in [("a", 15_000), ("b", 108_000), ("c", 5_000)] as [(String, Int64)] {
                try edit(name, table, seconds)
                if name == "b" { try edit("b", "INSERT INTO notes VALUES('before init', 'b', '\(text(108_000))'), ('changed', 'b', NULL)", seconds) }
                try run("init --db \(name).db --cloud cloud --role peer --device \(name) --tables all", seconds)
                if name != "b" { try run("sync --quiet --db \(name).db", seconds) }
            }
            try edit("b", "UPDATE notes SET title = 'b, again' WHERE id = 'changed'; INSERT INTO notes VALUES('before import', 'b', NULL)", 108_010)
            #expect(try run("import --db b.db", 108_020).contains("imported version 1"))
            try edit("b", "INSERT INTO notes VALUES('after import', 'b', NULL)", 108_030)
            try edit("a", "INSERT INTO notes VALUES('of a', 'a', NULL)", 15_010)
            try run("sync --quiet --db a.db", 15_020)
            #expect(try run("import --db b.db", 108_040).contains("imported version 2"))
            try run("sync --quiet --db b.db", 100)
            for key in ["before init", "changed", "before import", "after import"] { try edit("c", "INSERT INTO notes VALUES('\(key)', 'c', NULL)", 5_000) }
            for (name, seconds) in [("c", 5_010), ("b", 110), ("a", 15_030), ("c", 5_020)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
            for name in ["a", "b", "c"] { #expect(try rows(name, "SELECT count(*) FROM notes WHERE title = 'c'; SELECT count(*) FROM notes") == "4\n5\n") }
        }

        /// Its instant follows from the version's, not from the clock, which may be hours behind.
        @Test func revivedParentIsLaterThanItsDeletionAlsoByASlowClock() throws {
            try peers(
                ["a", "b"],
                """
                CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));
                """)
            try edit("a", "INSERT INTO lists VALUES('l', 'list')", 20_000)
            try run("sync --db a.db", 20_001)
            try run("sync --db b.db", 900)
            try edit("b", "DELETE FROM lists", 901)
            try edit("a", "INSERT INTO items VALUES('i', 'l')", 20_002)
            try run("sync --db a.db", 20_003)
            try run("sync --db b.db", 902)
            let list = try run("cat lists --db b.db", 903)
            #expect(list.contains(#/"id":"l","at":"[-0-9T:]+\.[0-9]{3}002Z"/#), "\(list)")
        }

        @Test(arguments: ["TEXT", "INTEGER", "REAL", "BLOB", "TEXT COLLATE NOCASE", "TEXT, second INTEGER"])
        func rowThatDanglesInTheVersionIsLeftAsItIs(type: String) throws {
            let pair = type.contains("second"), key = pair ? "id, second" : "id"
            let value = { (number: Int) in
                switch type {
                case "INTEGER": "\(number)"
                case "REAL": "\(number).5"
                case "BLOB": "x'0\(number)'"
                default: "'key \(number)'" + (pair ? ", \(number)" : "")
                }
            }
            let column = pair ? "list TEXT, second INTEGER" : "list \(type)"
            try peers(
                ["a", "b"],
                """
                CREATE TABLE lists(id \(type), PRIMARY KEY(\(key))) WITHOUT ROWID;
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, \(column), FOREIGN KEY(\(pair ? "list, second" : "list")) REFERENCES lists(\(key)));
                """, first: "INSERT INTO lists VALUES(\(value(1)));")
            // A change of another parent at b has nothing to do with the row that a publishes without its parent.
            try edit("b", "DELETE FROM lists", 10)
            try edit("a", "PRAGMA foreign_keys = OFF; INSERT INTO items VALUES('k', \(value(2)))", 20)
            try run("sync --quiet --db a.db", 21)
            try run("sync --quiet --db b.db", 22)
            #expect(try rows("b", "SELECT id FROM items") == "k\n")
        }

        /// One child needs the parent, which cannot come back, and waits with it. The other one the version has without its parent, and nobody has changed it.
        @Test func rowThatDanglesInTheVersionIsNoDamageWhileItsParentIsSetAsideForAnother() throws {
            try peers(
                ["a", "b"],
                """
                CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists(id));
                """, first: "INSERT INTO lists VALUES('p', '07'); INSERT INTO items VALUES('i', 'p'), ('j', 'p');")
            try edit("a", "PRAGMA foreign_keys = OFF; INSERT OR REPLACE INTO lists VALUES('q', '07')", 20)
            try edit("b", "PRAGMA foreign_keys = ON; UPDATE items SET id = 'k' WHERE id = 'j'", 30)
            try run("sync --quiet --db a.db", 31)
            try run("sync --db b.db", 32)
            #expect(try rows("b", "SELECT id FROM items; SELECT key FROM snapsync_set_aside ORDER BY key") == "i\nk\np\n")
            #expect(try run("verify --local --db b.db", 33).contains("an application left it so"))
        }

        @Test(arguments: ["Ann", "ann"]) func parentThatWasMissingBeforeIsMissedByItsKeyNotByItsSpelling(child: String) throws {
            try peers(
                ["a", "b"],
                """
                CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, title TEXT NOT NULL);
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));
                """, first: "INSERT INTO lists VALUES('Ann', 'x'); INSERT INTO items VALUES('i', '\(child)');")
            try edit("a", "UPDATE items SET list = 'ann'", 10)
            try run("sync --quiet --db a.db", 11)
            try edit("b", "PRAGMA foreign_keys = OFF; DELETE FROM lists", 20)
            try run("sync --quiet --db b.db", 21)
            #expect(try rows("b", "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM lists)") == "1|0\n")
        }

        @Test(arguments: ["NOCASE", "RTRIM"]) func neededParentComesBackWhateverTheSpelling(collation: String) throws {
            let spelt = collation == "NOCASE" ? "ANN" : "ann  "
            try peers(
                ["a", "b"],
                """
                CREATE TABLE lists(id TEXT COLLATE \(collation), part TEXT COLLATE \(collation), title TEXT NOT NULL, PRIMARY KEY(id, part)) WITHOUT ROWID;
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT, part TEXT, title TEXT, FOREIGN KEY(list, part) REFERENCES lists(id, part));
                """, first: "INSERT INTO lists VALUES('ann', 'x', 'needed'); INSERT INTO items VALUES('i', '\(spelt)', 'x', 'one');")
            try edit("b", "UPDATE items SET title = 'edit of b'", 10)
            try edit("a", "PRAGMA foreign_keys = ON; DELETE FROM items; DELETE FROM lists", 5)
            for (name, seconds) in [("a", 11), ("b", 12), ("a", 13)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
            for name in ["a", "b"] {
                #expect(try rows(name, "SELECT title FROM lists; SELECT title FROM items; PRAGMA foreign_key_check") == "needed\nedit of b\n")
            }
        }

        /// Slow clocks give both marks the instant that follows the version's.
        @Test func twoMarksWithOneInstantEndEqual() throws {
            try run("generate --db w.db --notifications 1 --buckets 1", 0)
            try edit("w", "UPDATE notifications SET readAt = NULL, updatedAt = '\(text(0))'", 0)
            try run("init --db w.db --cloud cloud --role writer --device w", 1)
            try run("sync --db w.db", 2)
            for name in ["r", "s"] {
                try run("init --db \(name).db --cloud cloud --role reader --device \(name) --create", -9000)
                try run("sync --db \(name).db", -9000)
            }
            for (name, time) in [("r", "2026-01-01T00:00:00Z"), ("s", "2026-01-02T00:00:00Z")] {
                try edit(name, "UPDATE notifications SET readAt = '\(time)', updatedAt = '\(time)'", -8990)
                try run("sync --db \(name).db", -8980)
            }
            for name in ["w", "r", "s", "w", "r", "s"] { try run("sync --db \(name).db", name == "w" ? 10 : -8970) }
            let marks = try ["w", "r", "s"].map { try rows($0, "SELECT readAt, updatedAt FROM notifications") }
            #expect(Set(marks).count == 1, "\(marks)")
            #expect(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"].contains { marks[0].hasPrefix($0) })
            for name in ["r", "s"] { #expect(try rows(name, "SELECT count(*) FROM snapsync_changes") == "0\n") }
        }

        /// A reader's change that no message carries stays there as a whole row, over an earlier edit of the writer. It must not send that edit's column.
        @Test(arguments: ["UPDATE notes SET note = 'own' WHERE id = 'k'", "INSERT INTO notes VALUES('new', 'of r', 'own', NULL)"], [false, true])
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
                    try run("init --db \(name).db --cloud cloud-\(w) --role \(name == w ? "writer" : "reader") --device \(name) --datasets datasets.json", 1)
                    try run("sync --quiet --db \(name).db", 2)
                }
                try edit(w, "UPDATE notes SET title = 'of w' WHERE id = 'k'; INSERT INTO notes VALUES('new', 'of w', NULL, NULL)", 10)
                try edit(r, sql, 20)
                if isComparedBefore { try run("sync --db \(r).db", 21) }
                for (name, seconds) in [(w, 30), (r, 31), (w, 32), (r, 33)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
                #expect(try rows(w, "SELECT id, title, note FROM notes ORDER BY id") == "k|of w|\nnew|of w|\n")
                #expect(try rows(r, "SELECT count(*) FROM notes WHERE note = 'own'") == "1\n")
                #expect(try scene.succeed("messages --db \(r).db").contains("  local: notes "))
                // An edit of the column itself travels.
                try edit(r, "UPDATE notes SET title = 'of r, later' WHERE note = 'own'", 40)
                for (name, seconds) in [(r, 41), (w, 42), (r, 43)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
                #expect(try rows(w, "SELECT title, note FROM notes WHERE title <> 'of w'") == "of r, later|\n")
            }
        }

        /// A writer that has published a table with one row, and a reader that has imported it.
        private func begin(_ table: String, _ row: String, _ seconds: Int64) throws {
            for (name, role) in [("w", "writer"), ("r", "reader")] {
                try edit(name, "CREATE TABLE \(table)", seconds)
                if name == "w" { try edit(name, "INSERT INTO notes VALUES(\(row))", seconds) }
                try run("init --db \(name).db --cloud cloud --role \(role) --device \(name) --datasets datasets.json", seconds + 1)
                try run("sync --quiet --db \(name).db", seconds + 2)
            }
        }

        /// A patch waits for its answer, and the version brings another row with its UNIQUE value: the import must not stop.
        @Test func versionsRowKeepsTheValueThatAWaitingPatchSets() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"code","type":"text","optional":true}],
                  "messages":{"patch":["code"]}}]}
                """, to: "datasets.json")
            try begin("notes(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE)", "'k', 'u'", 0)
            try edit("r", "UPDATE notes SET code = 'v'", 10)
            try edit("w", "INSERT INTO notes VALUES('other', 'v')", 11)
            try run("sync --quiet --db w.db", 12)
            for (name, seconds) in [("r", 13), ("w", 14), ("r", 15), ("w", 16)] as [(String, Int64)] { try run("sync --db \(name).db", seconds) }
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM notes ORDER BY id") == "k|u\nother|v\n") }
            #expect(try scene.succeed("messages --db r.db").contains("refused: rowPatched notes k"))
        }

        /// The reader's row outlived the writer's edit of a column that no message carries. A patch carries all that is edited after that, not only
        /// the columns of the patch before.
        @Test func aLaterPatchCarriesColumnsThatTheOneBeforeDidNotHave() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"},
                  {"name":"b","type":"text"},{"name":"c","type":"text"}],"messages":{"patch":["a","b"]}}]}
                """, to: "datasets.json")
            try begin("notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, c TEXT NOT NULL)", "'k', 'a1', 'b1', 'c1'", 0)
            try edit("w", "UPDATE notes SET c = 'of the writer'", 10)
            try edit("r", "UPDATE notes SET a = 'a2', c = 'of the reader'", 20)
            for (name, seconds) in [("w", 21), ("r", 22)] as [(String, Int64)] { try run("sync --quiet --db \(name).db", seconds) }
            try edit("r", "UPDATE notes SET a = 'a3', b = 'b3'", 30)
            for (name, seconds) in [("r", 31), ("w", 32), ("r", 33)] as [(String, Int64)] { try run("sync --quiet --db \(name).db", seconds) }
            #expect(try rows("w", "SELECT * FROM notes") == "k|a3|b3|of the writer\n")
            #expect(try rows("r", "SELECT * FROM notes").hasPrefix("k|a3|b3|"))
        }

        /// Writer and reader inserted rows with one key, and the version that the reader had is pruned. No message mixes the two rows.
        @Test func anInsertedRowPatchesNoOtherRowOfItsKey() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"}],
                  "messages":{"patch":["a"]}}]}
                """, to: "datasets.json")
            try begin("notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL)", "'first', 'first'", -74_000)
            try edit("w", "INSERT INTO notes VALUES('k', 'of the writer')", -73_980)
            try edit("r", "INSERT INTO notes VALUES('k', 'of the reader')", -73_970)
            try run("sync --quiet --db w.db", -73_960)
            _ = try ProgramRun("find", ["cloud", "-type", "f", "-exec", "touch", "-d", "4 days ago", "{}", "+"], in: scene.scratch.path)
            #expect(try run("prune --keep-last 1 --db w.db", 16_000).contains("removed version 1"))
            for (name, seconds) in [("r", 16_010), ("r", 16_020), ("w", 16_030), ("r", 16_040)] as [(String, Int64)] {
                try run("sync --db \(name).db", seconds)
            }
            #expect(try rows("w", "SELECT a FROM notes WHERE id = 'k'") == "of the writer\n")
            #expect(try rows("r", "SELECT a FROM notes WHERE id = 'k'") == "of the reader\n")
        }

        /// A table without timestamps: that REPLACE found a row of the version is known all the same, and the row's column is patched.
        @Test func aRowThatReplaceChangesIsPatched() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"},
                  {"name":"b","type":"text","optional":true}],"messages":{"patch":["a"]}}]}
                """, to: "datasets.json")
            try begin("notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b TEXT)", "'k', 'first', 'b'", 0)
            try edit("w", "UPDATE notes SET b = NULL", 10)
            try edit("r", "INSERT OR REPLACE INTO notes VALUES('k', 'of the reader', 'b')", 20)
            for (name, seconds) in [("w", 30), ("r", 31), ("w", 32), ("r", 33)] as [(String, Int64)] { try run("sync --quiet --db \(name).db", seconds) }
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM notes") == "k|of the reader|\n") }
        }

        /// At a reader, a row gives way to a parent that comes back for the version's child. The version's row takes its place.
        @Test func theVersionsRowTakesThePlaceOfOneThatGaveWayToAParent() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"code","type":"text"}]},
                  {"name":"items","key":"id","columns":[{"name":"id","type":"text"},{"name":"list","type":"text"}]}]}
                """, to: "datasets.json")
            for (name, role) in [("w", "writer"), ("r", "reader")] {
                try edit(
                    name,
                    "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, code TEXT NOT NULL UNIQUE);"
                        + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));", 0)
                if name == "w" { try edit(name, "INSERT INTO lists VALUES('k', 'w')", 0) }
                try run("init --db \(name).db --cloud cloud --role \(role) --device \(name) --datasets datasets.json", 1)
                try run("sync --quiet --db \(name).db", 2)
            }
            try edit("r", "DELETE FROM lists; INSERT INTO lists VALUES('l', 'w')", 30)
            try edit("w", "INSERT INTO items VALUES('i', 'k'); INSERT INTO lists VALUES('l', 'v')", 20)
            for (name, seconds) in [("w", 40), ("r", 41)] as [(String, Int64)] {
                #expect(try scene.run("sync --db \(name).db", environment: clock.environment(seconds)).status == 0)
            }
            for name in ["w", "r"] { #expect(try rows(name, "SELECT * FROM lists ORDER BY id; SELECT * FROM items") == "k|w\nl|v\ni|k\n") }
            #expect(try rows("r", "SELECT key, reason FROM snapsync_set_aside") == "l|valueTaken\n")
        }

        /// A reader's statement deletes a row and takes its children off it. Both have one instant, and the later edits of others do not come between.
        @Test func aDeletionIsAppliedAfterWhatItsStatementDidToTheChildren() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"lists","key":"id","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"}],
                  "messages":{"patch":["title"],"delete":true}},{"name":"items","key":"id","columns":[{"name":"id","type":"text"},
                  {"name":"list","type":"text","optional":true}],"messages":{"rows":true}}]}
                """, to: "datasets.json")
            let keys = (1...8).map { "k\($0)" }
            for (name, role) in [("w", "writer"), ("r", "reader"), ("s", "reader")] {
                try edit(
                    name,
                    "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);"
                        + "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists(id) ON DELETE SET NULL);", 0)
                for key in keys where name == "w" { try edit(name, "INSERT INTO lists VALUES('\(key)', 'a'); INSERT INTO items VALUES('\(key)', '\(key)')", 0) }
                try run("init --db \(name).db --cloud cloud --role \(role) --device \(name) --datasets datasets.json", 1)
                try run("sync --quiet --db \(name).db", 2)
            }
            try edit("r", "PRAGMA foreign_keys = ON; DELETE FROM lists", 10)
            try edit("s", "UPDATE lists SET title = 'b'", 20)
            for (name, seconds) in [("r", 30), ("s", 31), ("w", 32), ("r", 33), ("s", 34)] as [(String, Int64)] {
                #expect(try scene.run("sync --db \(name).db", environment: clock.environment(seconds)).status == 0)
            }
            for name in ["w", "r", "s"] {
                #expect(try rows(name, "SELECT count(*) FROM lists; SELECT count(*) FROM items WHERE list IS NULL") == "0\n8\n", "\(name)")
            }
        }

        /// Both devices write a row's values again. The reader's edit is the later one, whichever way the version comes in.
        @Test func aReadersEditStaysIfAnEarlierOneGaveTheRowTheSameValues() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},{"name":"a","type":"text"}]}]}
                """, to: "datasets.json")
            try begin("notes(id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL)", "'k', 'first'", -28_000)
            try edit("r", "UPDATE notes SET a = a", 100)
            try edit("w", "UPDATE notes SET a = a", -27_000)
            for (name, seconds) in [("w", -26_990), ("r", 110)] as [(String, Int64)] { try run("sync --quiet --db \(name).db", seconds) }
            try edit("w", "UPDATE notes SET a = 'of the writer'", -26_980)
            for (name, seconds) in [("w", -26_970), ("r", 120)] as [(String, Int64)] { try run("sync --quiet --db \(name).db", seconds) }
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
            try run("init --db w.db --cloud cloud --role writer --device w --tables all --reader-edits all", 0)
            try run("sync --quiet --db w.db", 1)
            try run("init --db r.db --cloud cloud --role reader --device r", 2)
            try run("sync --quiet --db r.db", 3)
            try edit("r", "DELETE FROM lists", 10)
            try edit("w", "INSERT INTO items VALUES('i', 'a')", 20)
            try run("sync --quiet --db r.db", 21)
            for (name, seconds) in [("w", 22), ("r", 23)] as [(String, Int64)] {
                #expect(try scene.run("sync --db \(name).db", environment: clock.environment(seconds)).status == 0)
            }
            for name in ["w", "r"] { #expect(try rows(name, "SELECT lists.id, items.id FROM items JOIN lists ON lists.id = list") == "\(spelling)|i\n") }
        }

        @Test func jsonTextNullComesBackAsItWas() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},
                  {"name":"code","type":"text","optional":true},{"name":"extra","type":"json","optional":true}]}]}
                """, to: "datasets.json")
            for name in ["a", "b"] {
                try edit(name, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, extra TEXT)", 0)
                try run("init --db \(name).db --cloud cloud --role peer --device \(name) --datasets datasets.json", 0)
                try run("sync --quiet --db \(name).db", 1)
            }
            try edit("a", "INSERT INTO notes VALUES('k', 'v', 'null')", 10)
            try run("sync --quiet --db a.db", 11)
            // b takes the value for another row; k is set aside until that one goes.
            try edit("b", "INSERT INTO notes VALUES('m', 'v', NULL)", 20)
            try run("sync --db b.db", 21)
            #expect(try rows("b", "SELECT id FROM notes") == "m\n")
            try edit("b", "DELETE FROM notes WHERE id = 'm'", 30)
            try run("sync --db b.db", 31)
            try run("sync --quiet --db a.db", 32)
            for name in ["a", "b"] { #expect(try rows(name, "SELECT id, code, typeof(extra), extra FROM notes") == "k|v|text|null\n") }
        }

        /// A UNIQUE value takes the row away without a trigger. The insert that brings its key back replaces what the version has, also by a slow clock.
        @Test(arguments: ["", "WITHOUT ROWID"]) func keyThatReplaceRemovedComesBackLaterThanTheVersions(option: String) throws {
            let table = "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, updatedAt TEXT) \(option);"
            try peers(["a", "e"], table, first: "INSERT INTO notes VALUES('k', 'u', '\(text(0))');")
            try edit("e", "INSERT OR REPLACE INTO notes VALUES('x', 'u', NULL)", -7_000)
            try edit("e", "UPDATE notes SET code = 'w' WHERE id = 'x'; INSERT INTO notes VALUES('k', 'v', '\(text(-20_000))')", -6_999)
            try run("sync --quiet --db e.db", -6_990)
            let asset = try Python.run("import gzip, sys; print(gzip.open(sys.argv[1]).read().decode())", [scene.asset("notes")], in: scene.scratch.path)
            let instant = try #require(asset.firstMatch(of: /"instants":\[.*"id":"k","at":"([^"]+)"/)).1
            #expect(String(instant) > text(-1), "the row is earlier than the one that it replaces: \(instant)")
        }

        /// What the toolkit logs says the replaced instant as text, also where the table's own timestamps are numbers.
        @Test func replacementIsLaterThanNumericTimestampsAlsoByASlowClock() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","timestamp":"at","timestampUnit":"microseconds",
                  "columns":[{"name":"id","type":"text"},{"name":"at","type":"integer"}]}]}
                """, to: "datasets.json")
            for (name, seconds) in [("a", 0), ("c", -20_000)] as [(String, Int64)] {
                try edit(name, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, at INTEGER NOT NULL)", seconds)
                if name == "a" { try edit("a", "INSERT INTO notes VALUES('k', \(clock.now))", 0) }
                try run("init --db \(name).db --cloud cloud --role peer --device \(name) --datasets datasets.json", seconds)
                if name == "a" { try run("sync --quiet --db a.db", 1) }
            }
            try run("replace cloud --yes --db c.db", -19_990)
            let asset = try Python.run("import gzip, sys; print(gzip.open(sys.argv[1]).read().decode())", [scene.asset("notes")], in: scene.scratch.path)
            let deleted = try #require(asset.firstMatch(of: /"deletedAt":"([^"]+)"/)).1
            #expect(String(deleted) > text(-1), "the deletion is earlier than the row: \(deleted)")
            try run("sync --db a.db", 20)
            #expect(try rows("a", "SELECT count(*) FROM notes") == "0\n")
        }
    }
#endif
