import Foundation
import TestSupport
import Testing

/// The sessions of the pages in `docs` and of the examples under `Fixtures/Examples`, run as they stand there.
@Suite(.runsPrograms) struct SessionPageTests {
    /// Each with its page, its section unless it is all of the page, and how many commands it has.
    private static let sessions: [(page: String, section: String?, count: Int)] = [
        ("tutorial", nil, 25), ("writers", nil, 11), ("readers", nil, 11), ("datasets", "Example: measurements with an integer key", 7),
        ("howto", "Two machines through a NAS", 11), ("howto", "Back to last Tuesday", 11), ("howto", "A phone's folder", 11),
        ("howto", "Moving a location", 8), ("howto", "Devices that send and cannot read", 10),
        ("howto", "Look without importing", 9), ("howto", "Who changed this row?", 11), ("howto", "Tell another program what changed", 11),
        ("howto", "Rows for one branch", 8), ("howto", "Changing the schema", 12), ("howto", "Giving up a device", 9), ("howto", bucket, 6),
    ]
    private static let bucket = "Machines far apart, through a bucket"

    /// The parts of a page that begin with a heading of the second rank.
    private static func sections(of page: String) throws -> [String] {
        try String(contentsOf: Repository.root.appendingPathComponent("docs/\(page).md"), encoding: .utf8).components(separatedBy: "\n## ")
    }

    private func run(_ page: String, _ section: String?, steps count: Int, replacing store: (String, String)? = nil, environment: [String: String] = [:]) throws
    {
        let scratch = try ScratchDirectory(), sections = try Self.sections(of: page)
        var text = sections.joined(separator: "\n")
        if let section { text = try #require(sections.first { $0.hasPrefix(section + "\n") }) }
        if let store { text = text.replacing(store.0, with: store.1) }
        try scratch.write(text, to: "page/README.md")
        func block(_ language: String) -> String {
            text.components(separatedBy: "```\(language)\n").dropFirst().first?.components(separatedBy: "```").first ?? ""
        }
        // What the reader has made before.
        if page == "tutorial" { try scratch.write(block("sql"), to: "page/library.sql") }
        if page == "datasets" {
            try scratch.write(block("json"), to: "page/readings.json")
            for name in ["plant.db", "office.db"] { try SQLiteShell(name, in: scratch.path("page")).run(block("sql")) }
        }
        let session = try ExampleSession(folder: scratch.path("page"))
        #expect(session.steps.count == count)
        for difference in try session.run(in: scratch, environment: environment) { Issue.record("\(difference)") }
    }

    @Test(arguments: sessions.filter { $0.section != bucket }) func pageDoesWhatItShows(page: String, section: String?, count: Int) throws {
        try run(page, section, steps: count)
    }

    @Test(.enabled(if: BucketServer.isAvailable)) func machinesFarApartDoWhatThePageShows() throws {
        let server = try BucketServer.shared.get()
        try run(
            "howto", Self.bucket, steps: 6, replacing: ("s3://backup/", "s3://\(try server.bucket())/"),
            environment: BucketScene.keys.merging(["AWS_ENDPOINT_URL_S3": server.endpoint]) { $1 })
    }

    @Test func everySectionIsRun() throws {
        let headings = try Self.sections(of: "howto").dropFirst().map { String($0.prefix { $0 != "\n" }) }
        #expect(Set(headings) == Set(Self.sessions.filter { $0.page == "howto" }.compactMap(\.section)))
    }

    private static let folder = Repository.path("Fixtures/Examples")

    /// Every folder with a README.
    static let examples = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter {
        FileManager.default.fileExists(atPath: "\(folder)/\($0)/README.md")
    }

    @Test(arguments: examples) func exampleDoesWhatItsReadmeShows(example: String) throws {
        let session = try ExampleSession(folder: "\(Self.folder)/\(example)")
        #expect(session.steps.count >= 5)
        for difference in try session.run(in: ScratchDirectory()) { Issue.record("\(difference)") }
    }

    @Test func thereAreExamples() { #expect(Self.examples.count >= 5) }

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
