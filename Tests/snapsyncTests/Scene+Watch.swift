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

    /// Lines of a watch of `phone.db`: a version, an error, its end, and where strace can make the system refuse, why it polls.
    func linesOfAWatch() async throws -> [[String: Any]] {
        let watch = try await watch("phone.db --poll 200ms --json")
        try database("phone.db").run("UPDATE buckets SET color = '#123456'")
        try await watch.prints("\"event\":\"exported\"")
        try FileManager.default.moveItem(atPath: scratch.path("cloud"), toPath: scratch.path("away"))
        try await watch.prints("\"event\":\"failing\"")
        try FileManager.default.moveItem(atPath: scratch.path("away"), toPath: scratch.path("cloud"))
        try await watch.prints("\"event\":\"recovered\"")
        let lines = try Self.lines(watch.end().text)
        let refused = try RunningProgram(
            "strace",
            [
                "-D", "-f", "-qq", "-e", "trace=inotify_init1", "-e", "inject=inotify_init1:error=EMFILE", "-o", "/dev/null", BuiltCommand.path(), "watch",
                "phone.db", "--json",
            ],
            in: scratch.path)
        do {
            try await Eventually.holds("polling is told", explain: { try refused.outputSoFar() + refused.errorsSoFar() }) {
                try refused.outputSoFar().contains("\"polling\"")
            }
        } catch {
            refused.kill()
            throw error
        }
        refused.terminate()
        return try lines + Self.lines(refused.wait().text)
    }

    /// The objects that `watch --json` has printed.
    static func lines(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }
}
