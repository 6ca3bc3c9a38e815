import Foundation

/// The session in an example's README: commands and what they print, run again and compared.
///
/// In a fenced block marked `console`, a line that begins with `$ ` is a command for bash and the lines below it are what it
/// prints, on standard output and standard error together. `[exit 77]` as the last of them is its exit code, 0 where there is none.
/// What differs from run to run stands as a placeholder: `<time>` an RFC 3339 time in UTC, `<hex>` hexadecimal digits, `<n>` a number with or
/// without a unit (`1.2 kB`), `…` anything up to the end of the line or the text that follows it.
package struct ExampleSession {
    /// One command of the session.
    package struct Step: Sendable {
        /// The line of the README that it stands in, from 1.
        package let line: Int
        package let command: String
        /// What it prints, line by line, with placeholders.
        package fileprivate(set) var expected: [String] = []
    }

    /// The commands, in order.
    package private(set) var steps: [Step] = []
    private let folder: String

    /// Reads the session of the example in a folder.
    package init(folder: String) throws {
        self.folder = folder
        let text = try String(contentsOfFile: folder + "/README.md", encoding: .utf8)
        var isInside = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                isInside = line == "```console"
            } else if isInside, line.hasPrefix("$ ") {
                steps.append(Step(line: index + 1, command: String(line.dropFirst(2))))
            } else if isInside {
                guard !steps.isEmpty else { throw ToolFailure("README.md:\(index + 1): there is output before the first command") }
                // An empty line before the next command is for the eye.
                steps[steps.count - 1].expected.append(String(line))
            }
        }
    }

    /// Runs the session in a copy of the folder, where `snapsync` is the built command and the applications of examples have their names, and says in what
    /// it differs.
    ///
    /// - Parameter environment: variables to set besides the inherited ones.
    /// - Returns: a sentence for each command that prints something else or ends otherwise; nothing if all is as the README says.
    package func run(in scratch: ScratchDirectory, environment: [String: String] = [:]) throws -> [String] {
        let work = scratch.path("work"), bin = scratch.path("bin")
        try FileManager.default.copyItem(atPath: folder, toPath: work)
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: false)
        for name in ["snapsync", "snapsync-examples", "stockroom", "phone-and-watch"] {
            try FileManager.default.createSymbolicLink(atPath: "\(bin)/\(name)", withDestinationPath: try BuiltCommand.path(of: name))
        }
        let path = bin + ":" + RunningProgram.path
        return try steps.compactMap { step in
            let run = try ProgramRun(
                "bash", ["-c", "exec 2>&1; set -o pipefail; \(step.command)"], in: work, environment: environment.merging(["PATH": path]) { $1 })
            var printed = run.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if printed.last == "" { printed.removeLast() }
            if run.status != 0 { printed.append("[exit \(run.status)]") }
            let expected = Array(step.expected.reversed().drop { $0.isEmpty }.reversed())
            guard printed.count != expected.count || !zip(expected, printed).allSatisfy({ Self.matches($0, $1) }) else { return nil }
            return "README.md:\(step.line): $ \(step.command)\nexpected:\n\(expected.joined(separator: "\n"))\nprinted:\n\(printed.joined(separator: "\n"))"
        }
    }

    /// Whether a printed line is one that a line with placeholders stands for.
    package static func matches(_ expected: String, _ printed: String) -> Bool {
        var pattern = NSRegularExpression.escapedPattern(for: expected)
        for (placeholder, meaning) in [
            ("<time>", "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"), ("<hex>", "[0-9a-f]+"), ("<n>", "[0-9][0-9,.]*( [kMGT]?B)?"), ("…", ".*"),
        ] {
            pattern = pattern.replacing(NSRegularExpression.escapedPattern(for: placeholder), with: meaning)
        }
        return printed.range(of: "^" + pattern + "$", options: .regularExpression) != nil
    }
}
