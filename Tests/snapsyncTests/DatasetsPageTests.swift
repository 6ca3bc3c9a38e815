import Foundation
import TestSupport
import Testing

/// The worked examples of `docs/datasets.md`, run as they stand there.
@Suite(.runsPrograms) struct DatasetsPageTests {
    /// A fenced block of the page.
    private struct Block {
        let language: String
        var text = ""
    }

    /// The blocks of the examples, by the example's heading.
    private func examples() throws -> [(heading: String, blocks: [Block])] {
        let page = try String(contentsOf: CommandPage.root.appendingPathComponent("docs/datasets.md"), encoding: .utf8)
        var examples: [(heading: String, blocks: [Block])] = []
        var open: Block?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let block = open {
                    if !examples.isEmpty { examples[examples.count - 1].blocks.append(block) }
                    open = nil
                } else {
                    open = Block(language: String(line.dropFirst(3)))
                }
            } else if open != nil {
                open?.text += line + "\n"
            } else if line.hasPrefix("## Example: ") {
                examples.append((String(line.dropFirst(12)), []))
            }
        }
        return examples
    }

    @Test func exampleDoesWhatItShows() throws {
        let examples = try examples()
        try #require(examples.count == 1)
        let (heading, blocks) = examples[0]
        let scene = try Scene()
        var commands = 0
        for block in blocks {
            switch block.language {
            case "sql": for name in ["plant.db", "office.db"] { try scene.database(name).run(block.text) }
            case "json": try scene.scratch.write(block.text, to: "readings.json")
            default:
                for step in block.text.split(separator: "\n$ ", omittingEmptySubsequences: true) {
                    let lines = step.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
                    let command = String(lines[0].hasPrefix("$ ") ? lines[0].dropFirst(2) : lines[0])
                    var expected = lines.count > 1 ? String(lines[1]) : ""
                    if !expected.isEmpty, !expected.hasSuffix("\n") { expected += "\n" }
                    let path = "\(URL(fileURLWithPath: try BuiltCommand.path()).deletingLastPathComponent().path):/usr/bin:/bin"
                    let run = try ProgramRun("/bin/sh", ["-c", command], in: scene.scratch.path, environment: ["PATH": path])
                    #expect(run.status == 0 && run.errorText == "", "\(heading): \(command): \(run.errorText)")
                    #expect(matches(run.text, expected), "\(heading): \(command)\nprinted:\n\(run.text)\nthe page says:\n\(expected)")
                    commands += 1
                }
            }
        }
        #expect(commands >= 6)
    }

    /// Whether a text is what a pattern says, in which `…` stands for anything, even nothing.
    private func matches(_ text: String, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return text == pattern }
        guard let first = parts.first, let last = parts.last, text.hasPrefix(first), text.hasSuffix(last) else { return false }
        var rest = text.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() {
            guard let found = rest.range(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.count >= last.count
    }
}
