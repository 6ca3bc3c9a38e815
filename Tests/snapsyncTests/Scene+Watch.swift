import Foundation
import TestSupport
import Testing

/// A `snapsync watch` that runs, and is killed at the latest when the test ends.
final class RunningWatch {
    let program: RunningProgram
    private var isOver = false

    init(_ line: String, in scene: Scene) throws {
        program = try BuiltCommand.start(("watch " + line).split(separator: " ").map(String.init), in: scene.scratch.path)
    }

    deinit {
        guard !isOver else { return }
        program.kill()
        _ = try? program.wait()
    }

    /// Waits until a text stands in what the command has printed.
    func prints(_ text: String, times: Int = 1) async throws {
        try await Eventually.holds("watch prints '\(text)'", explain: { try program.outputSoFar() + program.errorsSoFar() }) {
            try program.outputSoFar().components(separatedBy: text).count > times
        }
    }

    /// Waits until a text stands in what the command has complained about.
    func complains(_ text: String) async throws {
        try await Eventually.holds("watch complains '\(text)'", explain: { try program.outputSoFar() + program.errorsSoFar() }) {
            try program.errorsSoFar().contains(text)
        }
    }

    /// Ends it as an init system does. It must end well.
    @discardableResult
    func end(_ signal: Int32 = SIGTERM, at location: SourceLocation = #_sourceLocation) throws -> ProgramRun {
        program.terminate(signal)
        isOver = true
        let run = try program.wait()
        #expect(run.status == 0, "\(run.text)\(run.errorText)", sourceLocation: location)
        return run
    }
}

extension Scene {
    /// Starts a watch and waits until its first run is over.
    func watch(_ line: String) async throws -> RunningWatch {
        let watch = try RunningWatch(line, in: self)
        try await watch.prints(line.contains("--json") ? "\"event\":\"started\"" : "watching ")
        return watch
    }

    /// The objects that `watch --json` has printed.
    static func lines(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }
}
