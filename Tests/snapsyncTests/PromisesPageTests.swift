import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import snapsync

/// The commands of `docs/promises.md`, run in their order: each prints the lines that stand beside it.
@Suite(.runsPrograms) struct PromisesPageTests {
    private struct Promise {
        let text: String
        let command: String
        let lines: [String]
    }

    /// The rows of the page's tables that have three columns.
    private static func promises(_ page: String) -> [Promise] {
        page.split(separator: "\n").compactMap { row in
            // A pipe inside of a command is written with a backslash.
            let cells = row.replacing("\\|", with: "\u{1}").split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.replacing("\u{1}", with: "|").trimmingCharacters(in: .whitespaces) }
            guard row.hasPrefix("| "), cells.count == 5, cells[2].hasPrefix("`") else { return nil }
            func code(_ text: String) -> String { text.trimmingCharacters(in: ["`"]) }
            return Promise(text: cells[1], command: code(cells[2]), lines: cells[3].components(separatedBy: "<br>").map(code))
        }
    }

    @Test func commandsShowThePromises() throws {
        let page = try String(contentsOf: CommandPage.root.appendingPathComponent("docs/promises.md"), encoding: .utf8)
        let scratch = try ScratchDirectory()
        try scratch.write(page, to: "page/README.md")
        // The scene, of which nothing is printed.
        for difference in try ExampleSession(folder: scratch.path("page")).run(in: scratch) { Issue.record("\(difference)") }
        let promises = Self.promises(page)
        #expect(promises.count == 43)
        let path = "\(scratch.path("bin")):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
        for promise in promises {
            // A mistake on a command line may be hidden: by 2> /dev/null and what follows ||.
            for line in promise.command.components(separatedBy: "snapsync ").dropFirst() {
                var words = line.prefix { !";|&<>()\"'`".contains($0) }.split(separator: " ").map(String.init)
                // What is left of 2> /dev/null.
                if words.last == "2" { words.removeLast() }
                if words.first?.hasPrefix("-") != true { #expect(throws: Never.self, "\(line)") { try Snapsync.parseAsRoot(words) } }
            }
            let run = try ProgramRun(
                "bash", ["-c", "exec 2>&1; set -o pipefail; \(promise.command)"], in: scratch.path("work"), environment: ["PATH": path, "HOME": scratch.path])
            let printed = run.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } + (run.status == 0 ? [] : ["[exit \(run.status)]"])
            var rest = printed[...]
            for line in promise.lines {
                guard let place = rest.firstIndex(where: { ExampleSession.matches(line, $0) }) else {
                    Issue.record("\(promise.text)\n$ \(promise.command)\nlacks: \(line)\nprinted:\n\(printed.joined(separator: "\n"))")
                    break
                }
                rest = rest[(place + 1)...]
            }
        }
    }
}
