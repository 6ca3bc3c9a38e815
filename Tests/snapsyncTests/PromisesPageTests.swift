import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import snapsync

/// The scripts of `Tests/Promises/promises.md`, run in their order in one folder. `docs/promises.md` lists what they show.
@Suite(.runsPrograms) struct PromisesPageTests {
    private struct Promise {
        let name: String
        /// Lines for bash.
        var script: [String] = []
        /// Lines that the script prints in this order, perhaps with others between them; if there are none, it prints nothing.
        var expected: [String] = []
    }

    private static func read(_ path: String) throws -> [Substring] {
        try String(contentsOf: Repository.root.appendingPathComponent(path), encoding: .utf8).split(separator: "\n")
    }

    /// The blocks marked `console`, each with the heading above it. The first one makes the scene.
    private static func promises() throws -> [Promise] {
        var promises: [Promise] = []
        var name = ""
        var isInside = false
        for line in try read("Tests/Promises/promises.md") {
            if line.hasPrefix("```") {
                isInside = line == "```console"
                if isInside { promises.append(Promise(name: name)) }
            } else if isInside, line.hasPrefix("$ ") {
                promises[promises.count - 1].script.append(String(line.dropFirst(2)))
            } else if isInside {
                promises[promises.count - 1].expected.append(String(line))
            } else if line.hasPrefix("## ") {
                name = String(line.dropFirst(3))
            }
        }
        return promises
    }

    /// The command lines of a script that the parser refuses, even if the script hides their errors (by `2> /dev/null` or `||`).
    private static func refusedLines(of script: [String]) -> [String] {
        let lines = script.flatMap { $0.components(separatedBy: "snapsync ").dropFirst() }
        return lines.filter { line in
            var words = line.prefix { !";|&<>()\"'`".contains($0) }.split(separator: " ").map(String.init)
            // The rest of `2> /dev/null`.
            if words.last == "2" { words.removeLast() }
            do {
                _ = try Snapsync.parseAsRoot(words)
                return false
            } catch {
                return true
            }
        }
    }

    @Test func commandsShowThePromises() throws {
        let scratch = try ScratchDirectory()
        let work = scratch.path("work"), bin = scratch.path("bin")
        for folder in [work, bin] { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        try FileManager.default.createSymbolicLink(atPath: "\(bin)/snapsync", withDestinationPath: try BuiltCommand.path(of: "snapsync"))
        let path = "\(bin):\(RunningProgram.path)"
        for promise in try Self.promises() {
            let script = promise.script.joined(separator: "\n")
            let run = try ProgramRun(
                "bash", ["-c", "exec 2>&1; set -o pipefail\n\(script)"], in: work, environment: ["PATH": path, "HOME": scratch.path])
            let printed = run.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } + (run.status == 0 ? [] : ["[exit \(run.status)]"])
            if promise.expected.isEmpty { #expect(printed == [], "\(promise.name)") }
            var rest = printed[...]
            for line in promise.expected {
                guard let place = rest.firstIndex(where: { ExampleSession.matches(line, $0) }) else {
                    Issue.record("\(promise.name)\n\(script)\nlacks: \(line)\nprinted:\n\(printed.joined(separator: "\n"))")
                    break
                }
                rest = rest[(place + 1)...]
            }
        }
    }

    @Test func pageListsEveryPromise() throws {
        // - `name`: what it promises
        let listed = try Self.read("docs/promises.md").filter { $0.hasPrefix("- `") }.map { String($0.dropFirst(3).prefix { $0 != "`" }) }
        let names = try Self.promises().dropFirst().map(\.name)
        #expect(names.count > 40)
        #expect(listed.filter { !$0.hasPrefix("make ") } == names)
    }

    @Test func parserTakesEveryCommandLine() throws {
        for promise in try Self.promises() { #expect(Self.refusedLines(of: promise.script) == [], "\(promise.name)") }
        #expect(Self.refusedLines(of: ["for d in a b; do snapsync sync $d.db --quiet 2> /dev/null; done"]) == [])
        #expect(Self.refusedLines(of: ["snapsync sync a.db -x 2> /dev/null || true"]).count == 1)
        #expect(Self.refusedLines(of: ["ls && snapsync synk a.db > log 2>&1; true"]).count == 1)
    }
}
