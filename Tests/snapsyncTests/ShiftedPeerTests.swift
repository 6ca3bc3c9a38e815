import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// What the independent model found: peers with two tables, whose edits must neither go nor win where the documents say otherwise.
    @Suite(.runsPrograms) struct ShiftedPeerTests: ShiftedClockSuite {
        let scene: Scene
        let clock: ShiftedClock

        init() throws { (scene, clock) = try ShiftedClock.scene() }

        /// Makes databases of peers that have the first one's version, described from their tables.
        private func peers(_ names: [String], _ tables: String, first rows: String = "", clocks: [String: Int64] = [:]) throws {
            for name in names {
                try edit(name, tables + (name == names[0] ? rows : ""), clocks[name] ?? 0)
                try run("init \(name).db cloud --peers --name \(name) --shared-keys", clocks[name] ?? 0)
                try run("sync \(name).db --quiet", clocks[name] ?? 0)
            }
        }

        private static let notes = "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL);"

        @Test func refusedReplaceOfTheCloudChangesNothing() throws {
            try peers(["a", "c"], Self.notes)
            try edit("a", "INSERT INTO notes VALUES('k', 'row of a')", 10)
            try run("sync a.db --quiet", 11)
            let refused = try scene.run("export c.db --replace --yes", environment: clock.environment(-107_000))
            #expect(refused.status == 78 && refused.errorText.contains("this device's clock says"), "\(refused.errorText)")
            // With the right clock the next sync imports; it must not publish what was refused.
            try run("sync c.db", 100)
            try run("sync a.db", 101)
            for name in ["a", "c"] { #expect(try rows(name, "SELECT * FROM notes") == "k|row of a\n") }
        }

        @Test(arguments: [1, 2]) func revertedEditOutlivesDetach(times: Int) throws {
            try peers(["a", "b"], Self.notes, first: "INSERT INTO notes VALUES('k', 'one');")
            try edit("b", "UPDATE notes SET title = 'edit of b'", 10)
            try edit("a", "UPDATE notes SET title = 'two'", 19)
            try edit("a", "UPDATE notes SET title = 'one'", 20)
            for _ in 1...times {
                try run("detach a.db", 21)
                try run("join a.db cloud --peer --name a --take-over --shared-keys", 22)
            }
            for (name, seconds) in [("a", 23), ("b", 24), ("a", 25)] as [(String, Int64)] { try run("sync \(name).db", seconds) }
            for name in ["a", "b"] { #expect(try rows(name, "SELECT * FROM notes") == "k|one\n") }
        }

        /// Where a table has no timestamp, the log does not tell whether an inserted key replaced a row of the version.
        @Test func insertOfAClockAheadLosesToALaterOneOnceTheClockIsRight() throws {
            try peers(["a", "b"], Self.notes, clocks: ["a": 17_000])
            try edit("a", "INSERT INTO notes VALUES('k', 'a, clock ahead')", 17_100)
            try edit("b", "INSERT INTO notes VALUES('k', 'b')", 200)
            for (name, seconds) in [("b", 201), ("a", 150), ("b", 202)] as [(String, Int64)] { try run("sync \(name).db", seconds) }
            for name in ["a", "b"] { #expect(try rows(name, "SELECT * FROM notes") == "k|b\n") }
        }

        /// A row from before the first version has no instant where it has no timestamp, whenever a later version was made.
        @Test(arguments: ["", ", updatedAt TEXT"]) func editOfAFirstRowByAClockAheadLosesToALaterOneOnceTheClockIsRight(timestamp: String) throws {
            try peers(
                ["a", "b"], "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL\(timestamp));",
                first: "INSERT INTO notes(id, title) VALUES('k', 'first');")
            try edit("b", "INSERT INTO notes(id, title) VALUES('other', 'makes a version')", 17_000)
            try run("sync b.db", 17_010)
            try edit("b", "UPDATE notes SET title = 'b, clock ahead' WHERE id = 'k'", 17_100)
            try edit("a", "UPDATE notes SET title = 'a' WHERE id = 'k'", 200)
            for (name, seconds) in [("a", 201), ("b", 150), ("a", 202)] as [(String, Int64)] { try run("sync \(name).db", seconds) }
            for name in ["a", "b"] { #expect(try rows(name, "SELECT title FROM notes WHERE id = 'k'") == "a\n") }
        }

        /// A version that was made by a clock that is hours ahead comes in while b's clock is wrong, too. It lacks rows of b, so their instants are not
        /// later than b's clock once that is right, and c's later rows win.
        @Test func rowsThatAVersionLacksAreNotLaterThanTheClockOnceItIsRight() throws {
            let table = "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, updatedAt TEXT);"
            for (name, seconds) in [("a", 15_000), ("b", 108_000), ("c", 5_000)] as [(String, Int64)] {
                try edit(name, table, seconds)
                if name == "b" { try edit("b", "INSERT INTO notes VALUES('before init', 'b', '\(text(108_000))'), ('changed', 'b', NULL)", seconds) }
                try run("init \(name).db cloud --peers --name \(name)", seconds)
                if name != "b" { try run("sync \(name).db --quiet", seconds) }
            }
            try edit("b", "UPDATE notes SET title = 'b, again' WHERE id = 'changed'; INSERT INTO notes VALUES('before import', 'b', NULL)", 108_010)
            #expect(try run("import b.db", 108_020).contains("imported version 1"))
            try edit("b", "INSERT INTO notes VALUES('after import', 'b', NULL)", 108_030)
            try edit("a", "INSERT INTO notes VALUES('of a', 'a', NULL)", 15_010)
            try run("sync a.db --quiet", 15_020)
            #expect(try run("import b.db", 108_040).contains("imported version 2"))
            try run("sync b.db --quiet", 100)
            for key in ["before init", "changed", "before import", "after import"] { try edit("c", "INSERT INTO notes VALUES('\(key)', 'c', NULL)", 5_000) }
            for (name, seconds) in [("c", 5_010), ("b", 110), ("a", 15_030), ("c", 5_020)] as [(String, Int64)] { try run("sync \(name).db", seconds) }
            for name in ["a", "b", "c"] { #expect(try rows(name, "SELECT count(*) FROM notes WHERE title = 'c'; SELECT count(*) FROM notes") == "4\n5\n") }
        }

        private static let lists = """
            CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, code TEXT UNIQUE);
            CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists(id));
            """

        /// Its instant follows from the version's, not from the clock, which may be hours behind.
        @Test func restoredParentIsLaterThanItsDeletionAlsoByASlowClock() throws {
            try peers(["a", "b"], Self.lists, first: "INSERT INTO lists VALUES('l', 'list', NULL);")
            try edit("b", "INSERT INTO items VALUES('i', 'l')", 10)
            try edit("a", "DELETE FROM lists", 20_002)
            try run("sync a.db", 20_003)
            try run("sync b.db", 902)
            let list = try run("show b.db lists", 903)
            #expect(list.contains(#/"id":"l","at":"[-0-9T:]+\.[0-9]{3}001Z"/#), "\(list)")
        }

        /// Whichever device publishes first, the other one has the deletion in its journal.
        @Test(arguments: [false, true]) func aParentThatARowOfAnotherDeviceNeedsIsNotDeleted(isDeletedFirst: Bool) throws {
            try peers(["a", "b"], Self.lists, first: "INSERT INTO lists VALUES('l', 'list', NULL);")
            try edit("b", "DELETE FROM lists", 10)
            try edit("a", "INSERT INTO items VALUES('i', 'l')", 20)
            if isDeletedFirst { try sync(["b": 25]) }
            try sync(["a": 30, "b": 40])
            for name in ["a", "b"] { #expect(try rows(name, "SELECT title FROM lists; SELECT list FROM items") == "list\nl\n") }
            let journal = "SELECT key, reason, ifnull(loser, 'deleted') FROM snapsync_conflicts; SELECT count(*) FROM snapsync_changes"
            #expect(try rows(isDeletedFirst ? "a" : "b", journal) == "l|parentNeeded|deleted\n0\n")
        }

        /// The deletion of a parent that an import brought back does not touch another row that has its key by now.
        @Test func aDeletionOfAParentThatCameBackDoesNotTouchALaterRow() throws {
            try peers(["a", "b"], Self.lists, first: "INSERT INTO lists VALUES('p', 'first', NULL);", clocks: ["a": 20_000])
            try edit("b", "INSERT INTO items VALUES('i', 'p')", 10)
            try edit("a", "DELETE FROM lists", 20_010)
            try run("sync a.db --quiet", 20_020)
            #expect(try run("import b.db", 20).contains("lists: 1 entity restored"))
            try edit("b", "UPDATE items SET list = NULL; DELETE FROM lists", 30)
            try edit("a", "INSERT INTO lists VALUES('p', 'again', NULL)", 20_030)
            try sync(["a": 20_040, "b": 40])
            for name in ["a", "b"] { #expect(try rows(name, "SELECT id, title FROM lists") == "p|again\n") }
        }

        /// A slow clock edits a parent that an import brought back. A row of an earlier version that is then restored overtakes it.
        @Test func aRestoredRowOvertakesAnEditOfAParentThatCameBack() throws {
            try peers(["a", "c"], Self.lists, first: "INSERT INTO lists VALUES('p', 'first', 'v'); INSERT INTO items VALUES('i', 'p')", clocks: ["a": 20_000])
            try edit("a", "DELETE FROM items; DELETE FROM lists; INSERT INTO lists VALUES('q', 'other', 'w')", 20_100)
            try run("sync a.db --quiet", 20_110)
            try edit("c", "UPDATE items SET id = 'j'", 20)
            #expect(try run("import c.db", 30).contains("lists: 1 entity restored"))
            try edit("c", "INSERT OR REPLACE INTO lists VALUES('p', 'edited', 'w')", 40)
            try edit("a", "UPDATE lists SET title = 'later'", 20_200)
            try run("sync a.db --quiet", 20_210)
            try run("restore c.db 1", 50)
            try sync(["c": 60, "a": 20_220])
            for name in ["a", "c"] { #expect(try rows(name, "SELECT * FROM lists") == "p|first|v\n") }
            #expect(try scene.succeed("conflicts c.db").contains("lists p"))
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
            try run("sync a.db --quiet", 21)
            try run("sync b.db --quiet", 22)
            #expect(try rows("b", "SELECT id FROM items") == "k\n")
        }

        /// A new child needs the parent, which does not fit, and is held with it. The other child the version has without its parent.
        @Test func rowThatDanglesInTheVersionIsNoDamageWhileItsParentIsHeld() throws {
            try peers(
                ["a", "b"], Self.lists, first: "INSERT INTO lists VALUES('p', 'first', '07'); INSERT INTO items VALUES('i', 'p'), ('j', 'p');")
            try edit("a", "PRAGMA foreign_keys = OFF; INSERT OR REPLACE INTO lists VALUES('q', 'other', '07')", 20)
            try edit("b", "PRAGMA foreign_keys = ON; UPDATE items SET id = 'k' WHERE id = 'j'", 30)
            try run("sync a.db --quiet", 31)
            try run("sync b.db", 32)
            #expect(try rows("b", "SELECT id FROM items; SELECT id FROM lists") == "i\nq\n")
            #expect(try run("check b.db --local", 33).contains("an application left it so"))
        }

        @Test(arguments: ["Ann", "ann"]) func parentThatWasMissingBeforeIsMissedByItsKeyNotByItsSpelling(child: String) throws {
            try peers(
                ["a", "b"],
                """
                CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, title TEXT NOT NULL);
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES lists(id));
                """, first: "INSERT INTO lists VALUES('Ann', 'x'); INSERT INTO items VALUES('i', '\(child)');")
            try edit("a", "UPDATE items SET list = 'ann'", 10)
            try run("sync a.db --quiet", 11)
            try edit("b", "PRAGMA foreign_keys = OFF; DELETE FROM lists", 20)
            try run("sync b.db --quiet", 21)
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
            for (name, seconds) in [("a", 11), ("b", 12), ("a", 13)] as [(String, Int64)] { try run("sync \(name).db", seconds) }
            for name in ["a", "b"] {
                #expect(try rows(name, "SELECT title FROM lists; SELECT title FROM items; PRAGMA foreign_key_check") == "needed\nedit of b\n")
            }
        }

        /// Slow clocks give both marks the instant that follows the version's.
        @Test func twoMarksWithOneInstantEndEqual() throws {
            try run("generate w.db --notifications 1 --buckets 1", 0)
            try edit("w", "UPDATE notifications SET readAt = NULL, updatedAt = '\(text(0))'", 0)
            try run("init w.db cloud --built-in --name w", 1)
            try run("sync w.db", 2)
            for name in ["r", "s"] {
                try run("join \(name).db cloud --name \(name)", -9000)
                try run("sync \(name).db", -9000)
            }
            for (name, time) in [("r", "2026-01-01T00:00:00Z"), ("s", "2026-01-02T00:00:00Z")] {
                try edit(name, "UPDATE notifications SET readAt = '\(time)', updatedAt = '\(time)'", -8990)
                try run("sync \(name).db", -8980)
            }
            for name in ["w", "r", "s", "w", "r", "s"] { try run("sync \(name).db", name == "w" ? 10 : -8970) }
            let marks = try ["w", "r", "s"].map { try rows($0, "SELECT readAt, updatedAt FROM notifications") }
            #expect(Set(marks).count == 1, "\(marks)")
            #expect(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"].contains { marks[0].hasPrefix($0) })
            for name in ["r", "s"] { #expect(try rows(name, "SELECT count(*) FROM snapsync_changes") == "0\n") }
        }

        @Test func jsonTextNullComesBackAsItWas() throws {
            try scene.scratch.write(
                """
                {"formatVersion":1,"datasets":[{"name":"notes","key":"id","columns":[{"name":"id","type":"text"},
                  {"name":"code","type":"text","optional":true},{"name":"extra","type":"json","optional":true}]}]}
                """, to: "datasets.json")
            for name in ["a", "b"] {
                try edit(name, "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, extra TEXT)", 0)
                try run("init \(name).db cloud --peers --name \(name) --datasets datasets.json", 0)
                try run("sync \(name).db --quiet", 1)
            }
            try edit("a", "INSERT INTO notes VALUES('k', 'v', NULL)", 10)
            try run("sync a.db --quiet", 11)
            // The row of b is held until the one that has the value goes.
            try edit("b", "INSERT INTO notes VALUES('m', 'v', 'null')", 20)
            try run("sync b.db", 21)
            #expect(try rows("b", "SELECT id FROM notes") == "k\n")
            try edit("b", "DELETE FROM notes WHERE id = 'k'", 30)
            try run("sync b.db", 31)
            try run("sync a.db --quiet", 32)
            for name in ["a", "b"] { #expect(try rows(name, "SELECT id, code, typeof(extra), extra FROM notes") == "m|v|text|null\n") }
        }

        /// A UNIQUE value takes the row away without a trigger. The insert that brings its key back replaces what the version has, also by a slow clock.
        @Test(arguments: ["", "WITHOUT ROWID"]) func keyThatReplaceRemovedComesBackLaterThanTheVersions(option: String) throws {
            let table = "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, updatedAt TEXT) \(option);"
            try peers(["a", "e"], table, first: "INSERT INTO notes VALUES('k', 'u', '\(text(0))');")
            try edit("e", "INSERT OR REPLACE INTO notes VALUES('x', 'u', NULL)", -7_000)
            try edit("e", "UPDATE notes SET code = 'w' WHERE id = 'x'; INSERT INTO notes VALUES('k', 'v', '\(text(-20_000))')", -6_999)
            try run("sync e.db --quiet", -6_990)
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
                try run("init \(name).db cloud --peers --name \(name) --datasets datasets.json", seconds)
                if name == "a" { try run("sync a.db --quiet", 1) }
            }
            try run("export c.db --replace --yes", -19_990)
            let asset = try Python.run("import gzip, sys; print(gzip.open(sys.argv[1]).read().decode())", [scene.asset("notes")], in: scene.scratch.path)
            let deleted = try #require(asset.firstMatch(of: /"deletedAt":"([^"]+)"/)).1
            #expect(String(deleted) > text(-1), "the deletion is earlier than the row: \(deleted)")
            try run("sync a.db", 20)
            #expect(try rows("a", "SELECT count(*) FROM notes") == "0\n")
        }
    }
#endif
