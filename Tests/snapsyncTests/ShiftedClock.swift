import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// Clocks that are off, by a library that is loaded before a program (`Tests/Model/clock.c`).
    struct ShiftedClock {
        private let shim: String
        /// The present time in microseconds since 1970.
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)

        /// A scene whose programs can have such a clock. The library is compiled once.
        static func scene() throws -> (Scene, ShiftedClock) {
            let scene = try Scene.copy(of: "a clock of its own") { scene in
                let source = Repository.path("Tests/Model/clock.c")
                let compiled = try ProgramRun("cc", ["-shared", "-fPIC", "-o", scene.scratch.path("clock.so"), source])
                try #require(compiled.status == 0, "\(compiled.errorText)")
            }
            return (scene, ShiftedClock(shim: scene.scratch.path("clock.so")))
        }

        /// The variables of a program whose clock is so many seconds off.
        func environment(_ seconds: Int64) -> [String: String] { ["LD_PRELOAD": shim, "ORACLE_CLOCK": String(now + seconds * 1_000_000)] }
    }

    /// Tests that run the command and the application with clocks of their own.
    protocol ShiftedClockSuite {
        var scene: Scene { get }
        var clock: ShiftedClock { get }
    }

    extension ShiftedClockSuite {
        /// Runs a command with a clock that is so many seconds off.
        @discardableResult
        func run(_ line: String, _ seconds: Int64, at location: SourceLocation = #_sourceLocation) throws -> String {
            try scene.succeed(line, environment: clock.environment(seconds), at: location)
        }

        /// Runs statements of an application on `name`.db with such a clock.
        func edit(_ name: String, _ sql: String, _ seconds: Int64) throws {
            let run = try ProgramRun("sqlite3", ["-bail", "\(name).db", sql], in: scene.scratch.path, environment: clock.environment(seconds))
            try #require(run.status == 0, "\(run.errorText)")
        }

        /// What a query of `name`.db prints.
        func rows(_ name: String, _ sql: String) throws -> String { try scene.database("\(name).db").run(sql) }

        /// Syncs databases one after the other, each by such a clock.
        ///
        /// - Parameter isQuiet: whether the runs must have nothing to say, not even that an edit was refused.
        func sync(_ runs: KeyValuePairs<String, Int64>, isQuiet: Bool = false, at location: SourceLocation = #_sourceLocation) throws {
            for (name, seconds) in runs { try run("sync \(name).db\(isQuiet ? " --quiet" : "")", seconds, at: location) }
        }

        /// Makes a writer that has published the rows, and readers that have imported them.
        func begin(_ datasets: String, _ tables: String, first rows: String, readers: [String] = ["r"], at seconds: Int64 = 0) throws {
            try scene.scratch.write(#"{"formatVersion":1,"datasets":[\#(datasets)]}"#, to: "datasets.json")
            for name in ["w"] + readers {
                try edit(name, tables + (name == "w" ? rows : ""), seconds)
                try run(Scene.setUp("\(name).db", as: name == "w" ? "writer" : "reader", "--name \(name) --datasets datasets.json"), seconds + 1)
                try run("sync \(name).db --quiet", seconds + 2)
            }
        }

        /// That time as RFC 3339 text.
        func text(_ seconds: Int64) -> String {
            ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: TimeInterval(clock.now / 1_000_000 + seconds)))
        }
    }
#endif
