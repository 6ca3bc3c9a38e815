import Foundation

/// A run of a program under `strace`: which system calls it made on which files.
///
///     let run = try TracedRun(BuiltCommand.path(), ["sync"], calls: "write,getdents64", in: scratch.path)
///     run.calls.filter { $0.name == "getdents64" }
package struct TracedRun: Sendable {
    /// One call.
    package struct Call: Sendable {
        package let name: String
        /// The arguments and the result, as strace prints them, with the path behind each descriptor.
        package let text: String

        /// What the call returned; nil for one that failed or did not return.
        package var result: Int? {
            text.range(of: ") = ", options: .backwards).flatMap { Int(text[$0.upperBound...].prefix { $0.isNumber }) }
        }
    }

    package let run: ProgramRun
    /// The calls that were asked for, of all threads.
    package let calls: [Call]

    /// Whether this machine lets a program be traced.
    package static let isPossible = (try? ProgramRun("strace", ["-o", "/dev/null", "true"]))?.status == 0

    /// Runs the command, and has the system kill it at a call or refuse the call.
    ///
    /// - Parameter fault: what strace injects: `signal=KILL:when=3`, `error=EIO`.
    package static func injecting(_ fault: String, at call: String, _ arguments: [String], in directory: String) throws -> ProgramRun {
        let words = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):\(fault)", try BuiltCommand.path()]
        return try ProgramRun("strace", words + arguments, in: directory)
    }

    /// Runs a program to its end.
    ///
    /// - Parameter calls: the names of the calls to watch, with commas between them.
    package init(_ program: String, _ arguments: [String], calls: String, in directory: String, environment: [String: String] = [:]) throws {
        let scratch = try ScratchDirectory()
        let trace = scratch.path("trace")
        run = try ProgramRun(
            "strace", ["-f", "-qq", "-y", "-s", "64", "-e", "trace=\(calls)", "-e", "signal=none", "-o", trace, program] + arguments, in: directory,
            environment: environment)
        // A call that another thread's interrupted stands in two lines: what it was, and what it returned.
        var begun: [Substring: String] = [:]
        self.calls = try String(decoding: scratch.read("trace"), as: UTF8.self).split(separator: "\n").compactMap { line in
            let process = line.prefix { $0.isNumber }
            var text = String(line.dropFirst(process.count).drop { $0 == " " })
            if text.hasSuffix(" <unfinished ...>") {
                begun[process] = String(text.dropLast(" <unfinished ...>".count))
                return nil
            }
            if text.hasPrefix("<... "), let resumed = text.range(of: " resumed>") {
                text = (begun.removeValue(forKey: process) ?? text[..<resumed.lowerBound].dropFirst("<... ".count) + "(") + text[resumed.upperBound...]
            }
            guard let end = text.firstIndex(of: "(") else { return nil }
            return Call(name: String(text[..<end]), text: String(text[end...]))
        }
    }
}
