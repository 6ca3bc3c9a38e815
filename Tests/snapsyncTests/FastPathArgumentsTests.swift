import Foundation
import TestSupport
import Testing

/// The lines that schedulers run are read without the parser; the same words in another spelling, which the parser reads, do the same.
@Suite(.runsPrograms) struct FastPathArgumentsTests {
    /// Lines and, word for word, what they are in a spelling that only the parser takes.
    @Test(arguments: [
        ("sync --db phone.db", "sync --db=phone.db"), ("sync --quiet --db phone.db", "sync --quiet --db=phone.db"),
        ("sync --db phone.db --json --quiet", "sync --db=phone.db --json --quiet"), ("export --db phone.db --json", "export --json --db=phone.db"),
        ("import --db watch.db", "import --db=watch.db"), ("import --json --db watch.db", "import --json --db=watch.db"),
        ("sync --db watch.db", "sync --db=watch.db"),
        // What fails, fails alike.
        ("import --db none.db", "import --db=none.db"), ("export --db watch.db --json", "export --db=watch.db --json"),
    ]) func aLineMeansWhatTheParserMakesOfIt(line: String, other: String) throws {
        let scene = try Scene.phoneAndWatch()
        let quick = try scene.run(line), parsed = try scene.run(other)
        #expect(quick.status == parsed.status)
        #expect(quick.text == parsed.text)
        #expect(quick.errorText == parsed.errorText)
        #expect(quick.status == 0 || !quick.errorText.isEmpty)
    }

    @Test func newsTravelOnScheduledLinesAlone() throws {
        let scene = try Scene.phoneAndWatch()
        for (number, line) in ["sync --db phone.db", "export --db phone.db"].enumerated() {
            try scene.database("phone.db").run("UPDATE buckets SET name = 'new \(number)' WHERE id = (SELECT min(id) FROM buckets)")
            #expect(try scene.succeed(line).contains("published version \(number + 2)"))
        }
        #expect(try scene.succeed("import --db watch.db").contains("imported version 3"))
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func theEnvironmentCountsWithoutFlags() throws {
        let scene = try Scene.phoneAndWatch()
        let text = try scene.succeed("sync", environment: ["SNAPSYNC_DB": "phone.db"])
        #expect(text.contains("nothing new since version 1"))
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("moved"))
        #expect(try scene.run("sync --db phone.db").status == 69)
        #expect(try scene.succeed("sync --db phone.db", environment: ["SNAPSYNC_CLOUD": scene.scratch.path("moved")]) == text)
    }

    @Test(arguments: [
        "sync --db", "sync --db phone.db --bogus", "import --db watch.db --quiet", "export --quiet --db phone.db", "sync phone.db", "sync --db --quiet", "sync",
        "synch --db phone.db",
    ]) func whatIsNoSuchLineIsTheParsersToRefuse(line: String) throws {
        let scene = try Scene.phoneAndWatch()
        let run = try scene.run(line, environment: ["SNAPSYNC_DB": ""])
        #expect(run.status == 64)
        #expect(run.text == "")
        #expect(run.errorText.contains("Usage: snapsync"), "\(run.errorText)")
    }

    @Test func helpIsTheParsers() throws {
        let scene = try Scene()
        #expect(try scene.succeed("sync --help").contains("EXAMPLES"))
        #expect(try scene.succeed("sync --db phone.db --help").contains("EXAMPLES"))
    }
}
