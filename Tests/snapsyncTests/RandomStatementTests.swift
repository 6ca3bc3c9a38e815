import Foundation
import TestSupport
import Testing

/// Random statements of an application on the databases of `Tests/Databases`: every table becomes the same everywhere, and nothing is lost silently.
@Suite(.runsPrograms) struct RandomStatementTests {
    @Test(arguments: Sample.of(1...30, oneIn: 30), ["writer", "peer"]) func everyTableIsTheSameAndNothingIsLost(seed: Int, role: String) throws {
        let scratch = try ScratchDirectory(), folder = Repository.root.appendingPathComponent("Tests/Databases")
        func script(_ name: String) throws -> String { try String(contentsOf: folder.appendingPathComponent("\(name).py"), encoding: .utf8) }
        try Python.run(try script("make_databases"), in: scratch.path)
        for database in ZoneDescriptionTests.databases {
            let place = scratch.path("of-\(database)")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let outcome = try ProgramRun(
                "python3", ["-c", script("random_statements"), BuiltCommand.path(), "../\(database).db", role, "\(seed)", "4"], in: place)
            #expect(outcome.status == 0, "\(outcome.errorText)")
        }
    }
}
