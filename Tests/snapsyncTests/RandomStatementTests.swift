import Foundation
import TestSupport
import Testing

/// Random statements of an application on the databases of `Tests/Databases`: every table becomes the same everywhere, and nothing is lost silently.
@Suite(.runsPrograms) struct RandomStatementTests {
    @Test(arguments: Sample.of(1...30, oneIn: 30)) func everyTableIsTheSameAndNothingIsLost(seed: Int) throws {
        let scratch = try ScratchDirectory(), folder = Repository.root.appendingPathComponent("Tests/Databases")
        func script(_ name: String) throws -> String { try String(contentsOf: folder.appendingPathComponent("\(name).py"), encoding: .utf8) }
        try Python.run(try script("make_databases"), in: scratch.path)
        for (number, database) in ZoneDescriptionTests.databases.enumerated() {
            let role = (seed + number).isMultiple(of: 2) ? "writer" : "peer"
            let place = scratch.path("of-\(database)")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let outcome = try ProgramRun(
                "python3", ["-c", script("random_statements"), BuiltCommand.path(), "../\(database).db", role, "\(seed)", "4"], in: place)
            #expect(outcome.status == 0, "seed \(seed), \(role): \(outcome.errorText)")
        }
    }
}
