import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// Devices whose clocks differ by hours: the command and the application run with a clock of their own.
    @Suite struct WrongClockTests {
        private let scene: Scene
        private let shim: String
        /// The present time in microseconds since 1970.
        private let now = Int64(Date().timeIntervalSince1970 * 1_000_000)

        init() throws {
            scene = try Scene()
            shim = scene.scratch.path("clock.so")
            let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Oracle/clock.c").path
            let compiled = try ProgramRun("cc", ["-shared", "-fPIC", "-o", shim, source])
            try #require(compiled.status == 0, "\(compiled.errorText)")
        }

        private func clock(_ seconds: Int64) -> [String: String] { ["LD_PRELOAD": shim, "ORACLE_CLOCK": String(now + seconds * 1_000_000)] }

        /// Runs a command with a clock that is so many seconds off.
        @discardableResult
        private func run(_ line: String, _ seconds: Int64, at location: SourceLocation = #_sourceLocation) throws -> String {
            try scene.succeed(line, environment: clock(seconds), at: location)
        }

        private func edit(_ name: String, _ sql: String, _ seconds: Int64) throws {
            let run = try ProgramRun("sqlite3", ["-bail", "\(name).db", sql], in: scene.scratch.path, environment: clock(seconds))
            try #require(run.status == 0, "\(run.errorText)")
        }

        private func text(_ seconds: Int64) -> String {
            ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: TimeInterval(now / 1_000_000 + seconds)))
        }

        private func bucket(_ name: String) throws -> String { try scene.database("\(name).db").run("SELECT name FROM buckets WHERE id = 'b'") }

        @Test func aSlowPublisherAppliesTwoMessagesOfOneReaderInTheirOrder() throws {
            try run("init --db w.db --create --cloud cloud --role writer --device w", -18_000)
            try run("sync --db w.db", -18_000)
            try run("init --db s.db --create --cloud cloud --role reader --device s", 0)
            try edit("s", "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'first', '\(text(0))', '\(text(0))')", 0)
            try run("sync --db s.db", 1)
            #expect(try run("sync --db w.db", -17_990).contains("messages of readers: 1 applied"))
            try run("sync --db s.db", 10)
            // A timestamp that the application set back: earlier than the first message, later than what the publisher made of it.
            try edit("s", "UPDATE buckets SET name = 'second', updatedAt = '\(text(-600))' WHERE id = 'b'", 20)
            try run("sync --db s.db", 21)
            #expect(try run("sync --db w.db", -17_970).contains("messages of readers: 1 applied"))
            try run("sync --db s.db", 40)
            #expect(try bucket("w") == "second\n")
            #expect(try bucket("s") == "second\n")
            #expect(try scene.database("s.db").run("SELECT count(*) FROM snapsync_changes") == "0\n")
        }

        @Test func aMessageThatAWrongClockHeldBackIsNotSentOnceItIsOvertaken() throws {
            try run("init --db w.db --create --cloud cloud --role writer --device w", 0)
            try edit("w", "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'first', '\(text(-60))', '\(text(-60))')", 0)
            try run("sync --db w.db", 0)
            try run("init --db r.db --create --cloud cloud --role reader --device r", 0)
            try run("sync --db r.db", 0)
            try edit("r", "UPDATE buckets SET name = 'of the reader', updatedAt = '\(text(-30))' WHERE id = 'b'", 108_000)
            let refused = try scene.run("sync --db r.db", environment: clock(108_000))
            #expect(refused.status == 78 && refused.errorText.contains("clock"))
            try edit("w", "UPDATE buckets SET name = 'second', updatedAt = '\(text(1))' WHERE id = 'b'", 1)
            try run("sync --db w.db", 2)
            let report = try run("sync --db r.db", 3)
            #expect(report.contains("1 edit lost to a later one") && !report.contains("sent"))
            #expect(try scene.database("r.db").run("SELECT count(*) FROM snapsync_outbox") == "0\n")
            #expect(try run("sync --db w.db", 4).contains("nothing new since version 2"))
            #expect(try bucket("r") == "second\n")
        }

        /// A reader edits while its clock is three days ahead, and syncs then or does not. With the right clock it sends what it has, and edits again.
        @Test(arguments: [false, true]) func aReaderSendsOnceItsClockIsRight(syncsAhead: Bool) throws {
            let ahead: Int64 = 3 * 86_400
            try run("init --db w.db --create --cloud cloud --role writer --device w", 0)
            try edit("w", "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'first', '\(text(-60))', '\(text(-60))')", 0)
            try run("sync --db w.db", 0)
            try run("init --db r.db --create --cloud cloud --role reader --device r", 0)
            try run("sync --db r.db", 0)
            try edit("r", "UPDATE buckets SET name = 'ahead', updatedAt = '\(text(ahead))' WHERE id = 'b'", ahead)
            if syncsAhead {
                let refused = try scene.run("sync --db r.db", environment: clock(ahead))
                #expect(refused.status == 78 && refused.errorText.contains("clock"))
                let sent = try? FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("\(Scene.zone)/messages/r"))
                #expect((sent ?? []) == [])
            }
            #expect(try run("sync --db r.db", 1).contains("sent 1 message to the publisher"))
            let told = try #require(try scene.json("messages --db r.db")["told"] as? [[String: Any]])
            #expect(told.count == 1 && told.allSatisfy { ($0["timestamp"] as? String).map { $0 < text(3600) } == true }, "\(told)")
            // The row has the wrong timestamp still; the next edit has the right one.
            try edit("r", "UPDATE buckets SET name = 'again', updatedAt = '\(text(2))' WHERE id = 'b'", 2)
            #expect(try run("sync --db r.db", 3).contains("sent 1 message to the publisher"))
            #expect(try run("sync --db w.db", 4).contains("messages of readers: 2 applied"))
            try run("sync --db r.db", 5)
            for name in ["w", "r"] { #expect(try bucket(name) == "again\n") }
            #expect(try scene.database("r.db").run("SELECT (SELECT count(*) FROM snapsync_changes) + (SELECT count(*) FROM snapsync_outbox)") == "0\n")
        }

        /// Two edits with one instant: the hash decides which one stays at d. The one of d loses at once or to the next edit of c, and is kept.
        @Test(arguments: ["east", "west", "north", "south"]) func anEditThatWonATieIsKeptWhenItLosesLater(name: String) throws {
            for device in ["a", "c", "d"] {
                try run("init --db \(device).db --create --cloud cloud --role peer --device \(device)", device == "a" ? 0 : -20_000)
                if device == "a" { try edit("a", "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'first', '\(text(0))', '\(text(0))')", 0) }
                try run("sync --db \(device).db", device == "a" ? 0 : -20_000)
            }
            try edit("d", "UPDATE buckets SET name = '\(name)'", -19_990)
            try edit("c", "UPDATE buckets SET name = 'second'", -19_980)
            try run("sync --db c.db", -19_970)
            try run("import --db d.db", -19_960)
            try edit("c", "UPDATE buckets SET name = 'third'", -19_950)
            try run("sync --db c.db", -19_940)
            try run("sync --db d.db", -19_930)
            #expect(try bucket("d") == "third\n")
            let kept = try scene.database("d.db").run("SELECT count(*) FROM snapsync_conflicts WHERE json_extract(loser, '$.name') = '\(name)'")
            #expect(kept == "1\n")
        }

        @Test func aDeletionWithTheInstantOfTheEditBeforeItIsKeptWhenItLoses() throws {
            for name in ["a", "c", "d"] {
                try run("init --db \(name).db --create --cloud cloud --role peer --device \(name)", name == "a" ? 0 : -20_000)
                if name == "a" { try edit("a", "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'first', '\(text(0))', '\(text(0))')", 0) }
                try run("sync --db \(name).db", name == "a" ? 0 : -20_000)
            }
            // Two slow clocks: both changes get the instant 1 us after what they replace.
            try edit("d", "DELETE FROM buckets", -19_990)
            try edit("c", "UPDATE buckets SET name = 'second'", -19_980)
            try run("sync --db c.db", -19_970)
            try edit("c", "UPDATE buckets SET name = 'third'", -19_960)
            #expect(try run("sync --db d.db", -19_950).contains("1 edit lost"))
            #expect(try run("sync --db c.db", -19_940).contains("1 edit lost"))
            let kept = try scene.database("c.db").run("SELECT reason, ifnull(loser, 'deleted'), json_extract(winner, '$.name') FROM snapsync_conflicts")
            #expect(kept == "laterEdit|deleted|third\n")
            try run("sync --db d.db", -19_930)
            #expect(try bucket("d") == "third\n")
        }
    }
#endif
