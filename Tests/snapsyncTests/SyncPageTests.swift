import Foundation
import TestSupport
import Testing

/// The sessions of `docs/writers.md` and `docs/readers.md`, run as the pages show them.
@Suite(.runsPrograms) struct SyncPageTests {
    private func run(_ name: String, steps count: Int) throws {
        let scratch = try ScratchDirectory()
        let page = try String(contentsOf: CommandPage.root.appendingPathComponent("docs/\(name)"), encoding: .utf8)
        try scratch.write(page, to: "page/README.md")
        let session = try ExampleSession(folder: scratch.path("page"))
        #expect(session.steps.count == count)
        for difference in try session.run(in: scratch) { Issue.record("\(difference)") }
    }

    @Test func twoPeersEditOneRow() throws { try run("writers.md", steps: 11) }

    @Test func aReaderEditsARow() throws { try run("readers.md", steps: 11) }
}
