import Foundation
import TestSupport
import Testing

/// The worked examples under `Fixtures/Examples` do what their READMEs show, command by command.
@Suite(.runsPrograms) struct ExampleTests {
    private static let folder = CommandPage.root.appendingPathComponent("Fixtures/Examples").path

    /// Every folder with a README.
    static let examples = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted().filter {
        FileManager.default.fileExists(atPath: "\(folder)/\($0)/README.md")
    }

    @Test(arguments: examples)
    func sessionPrintsWhatItsReadmeShows(example: String) throws {
        let session = try ExampleSession(folder: "\(Self.folder)/\(example)")
        #expect(session.steps.count >= 5)
        let differences = try session.run(in: ScratchDirectory())
        #expect(differences.isEmpty, "\(example)\n\(differences.joined(separator: "\n\n"))")
    }

    @Test func thereAreExamples() {
        #expect(
            Set(Self.examples).isSuperset(of: [
                "family-board", "food", "habits", "notifications", "project-tracker", "stockroom", "weather-station", "web-shop",
            ]))
    }

    /// What the comparison itself takes for equal: a placeholder stands for what it says and for nothing else.
    @Test(arguments: [
        ("a <time> b", "a 2026-11-21T12:18:31.284282Z b", true), ("a <time> b", "a yesterday b", false), ("<n> of JSON", "1.2 kB of JSON", true),
        ("<n> items", "three items", false), ("x-<hex>.json", "x-0a1b.json", true), ("x-<hex>.json", "x-0A1B.json", false),
        ("in …/cloud", "in /tmp/x/cloud", true),
        ("in …/cloud", "in /tmp/x/clouds", false), ("a.b", "axb", false), ("", " ", false),
    ])
    func placeholdersStandForWhatTheySay(expected: String, printed: String, matches: Bool) {
        #expect(ExampleSession.matches(expected, printed) == matches)
    }

    /// A session that prints something else, more, less, or ends otherwise is found.
    @Test(arguments: [
        ("$ echo one\ntwo", 1), ("$ echo one\none\ntwo", 1), ("$ echo one", 1), ("$ false", 1), ("$ true\n[exit 1]", 1),
        ("$ echo one; false\none\n[exit 1]\n\n$ echo two\ntwo", 0),
    ])
    func differencesAreFound(block: String, count: Int) throws {
        let scratch = try ScratchDirectory()
        try scratch.write("text\n\n```console\n\(block)\n```\n", to: "example/README.md")
        #expect(try ExampleSession(folder: scratch.path("example")).run(in: scratch).count == count)
    }
}
