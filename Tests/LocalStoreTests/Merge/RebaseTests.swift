import Foundation
import LocalStore
@testable import LocalTables
import TestSupport
import Testing

/// The rules on tables of SQLite against the same rules as a program: cases of random histories of Tests/Model.
@Suite struct RebaseTests {
    @Test func editsOnAVersionGiveWhatTheModelGives() throws {
        let seed = Int.random(in: 0..<1_000_000)
        let model = Repository.root.appendingPathComponent("Tests/Model")
        let lines = try ProgramRun("python3", ["-B", "cases.py", "\(seed)", "\(Self.count)"], in: model.path).text.split(separator: "\n")
        #expect(lines.count >= Self.count * 3 / 4)
        let scene = try LocalScene("")
        var differing = 0
        for (number, line) in lines.enumerated() {
            let one = try JSONDecoder().decode(ModelCase.self, from: Data(line.utf8))
            guard let difference = try scene.database.write({ try one.difference(in: $0) }) else { continue }
            differing += 1
            if differing <= 3 { Issue.record("seed \(seed), case \(number + 1): \(difference)") }
        }
        #expect(differing == 0, "seed \(seed): \(differing) of \(lines.count)")
    }

    private static var count: Int { ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE"].flatMap(Int.init) ?? 400 }
}
