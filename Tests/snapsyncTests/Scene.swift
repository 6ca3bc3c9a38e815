import Foundation
import Synchronization
import TestSupport
import Testing

/// A directory with the databases of some devices and the cloud that they share; commands run in it.
///
///     let scene = try Scene.phoneAndWatch()
///     try scene.succeed("sync watch.db")
struct Scene {
    let scratch: ScratchDirectory

    init() throws { scratch = try ScratchDirectory() }

    /// Where the files of the zone with the built-in tables are, relative to the scene.
    static let zone = "cloud/private/ZentikSyncZone"

    /// Where those of a zone with other tables are.
    static let mainZone = "cloud/private/main"

    /// The one of the two that is there.
    var zone: String { scratch.exists(Self.mainZone) ? Self.mainZone : Self.zone }

    /// A writer with made-up data that has published version 1.
    static func phone(notifications: Int = 30, buckets: Int = 4) throws -> Scene { try copy(lines(of: "phone", "writer", notifications, buckets)) }

    /// The same, and a reader that has imported it.
    static func phoneAndWatch(notifications: Int = 30, buckets: Int = 4) throws -> Scene {
        try copy(
            lines(of: "phone", "writer", notifications, buckets) + [
                "join watch.db cloud --name watch", "import watch.db",
            ])
    }

    /// Two peers that have version 1.
    static func deskAndLaptop(notifications: Int = 20, buckets: Int = 3) throws -> Scene {
        try copy(
            lines(of: "desk", "peer", notifications, buckets) + [
                "join laptop.db cloud --peer --name laptop", "sync laptop.db",
            ])
    }

    private static func lines(of name: String, _ role: String, _ notifications: Int, _ buckets: Int) -> [String] {
        [
            "generate \(name).db --notifications \(notifications) --buckets \(buckets)",
            setUp("\(name).db", as: role, "--built-in --name \(name)"), "\(role == "peer" ? "sync" : "export") \(name).db",
        ]
    }

    /// The line that sets a database up in a role, which may have more options behind it: a writer or a peer makes the zone or takes its description,
    /// a reader joins.
    static func setUp(_ database: String, at place: String = "cloud", as role: String, _ options: String = "") -> String {
        guard !role.hasPrefix("reader") else { return join(database, at: place, as: role, options) }
        return "init \(database) \(place)\(role.hasPrefix("peer") ? " --peers\(role.dropFirst(4))" : "\(role.dropFirst(6))") \(options)"
    }

    /// The line that makes a database another device of a zone, in a role, with the tables that it lacks.
    static func join(_ database: String, at place: String = "cloud", as role: String, _ options: String = "") -> String {
        "join \(database) \(place)\(role.hasPrefix("reader") ? "\(role.dropFirst(6))" : " --\(role)") \(options)"
    }

    /// A copy of the scene that some commands make. They run once: most tests begin in one of a few ways.
    static func copy(_ lines: [String]) throws -> Scene {
        try copy(of: lines.joined(separator: "\n")) { scene in for line in lines { try scene.succeed(line) } }
    }

    /// A copy of the scene of that name, which `make` has made or makes, from an empty one or another.
    static func copy(of name: String, from start: @autoclosure () throws -> Scene = try Scene(), _ make: (Scene) throws -> Void) throws -> Scene {
        let place = made.withLock { made in
            let place = made[name] ?? Made()
            made[name] = place
            return place
        }
        let first = try place.scene.withLock { first in
            if let first { return first }
            let new = try start()
            try make(new)
            first = new
            return new
        }
        return try first.copy()
    }

    /// A scene that is the same as this one.
    private func copy() throws -> Scene {
        let scene = try Scene()
        for entry in try FileManager.default.contentsOfDirectory(atPath: scratch.path) {
            try scene.scratch.copy(scratch.path(entry), to: entry)
            if entry.hasSuffix("-lock") {
                // Its time is the last run's.
                let time = try FileManager.default.attributesOfItem(atPath: scratch.path(entry))[.modificationDate] as? Date
                try FileManager.default.setAttributes([.modificationDate: time ?? Date(timeIntervalSince1970: 0)], ofItemAtPath: scene.scratch.path(entry))
            }
            let isSetUp = "SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_settings'"
            guard entry.hasSuffix(".db"), try scene.database(entry).run(isSetUp) == "1\n" else { continue }
            try scene.database(entry).run("UPDATE snapsync_settings SET value = '\(scene.scratch.path("cloud"))' WHERE key = 'cloud'")
        }
        return scene
    }

    /// A scene that was made once. While it is made, only the tests that begin in it wait.
    private final class Made: Sendable { let scene = Mutex<Scene?>(nil) }

    private static let made: Mutex<[String: Made]> = {
        // Directories are removed with the last reference to them.
        atexit { Scene.made.withLock { $0 = [:] } }
        return Mutex([:])
    }()

    /// Runs the command with the words of a line, which hold no spaces.
    func run(_ line: String, environment: [String: String] = [:]) throws -> ProgramRun {
        let words = line.split(separator: " ").map(String.init)
        let run = try BuiltCommand.run(words, in: scratch.path, environment: environment)
        PastedHints.check(run, words, in: scratch.path, environment: environment)
        return run
    }

    /// Runs the command, which must end well and without a word on standard error. Returns what it prints.
    @discardableResult
    func succeed(_ line: String, environment: [String: String] = [:], at location: SourceLocation = #_sourceLocation) throws -> String {
        let run = try run(line, environment: environment)
        try #require(run.status == 0, "snapsync \(line): \(run.errorText)", sourceLocation: location)
        #expect(run.errorText == "", sourceLocation: location)
        return run.text
    }

    /// Syncs databases one after another, by their names without the ending. Returns what the runs print.
    @discardableResult
    func sync(_ names: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try names.map { try succeed("sync \($0).db", at: location) }.joined()
    }

    /// Runs the command with `--json`, which must end well, and returns its object.
    func json(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
        let text = try succeed(line + " --json", at: location)
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], sourceLocation: location)
    }

    func database(_ name: String) -> SQLiteShell { SQLiteShell(name, in: scratch.path) }

    func cloudListing() throws -> FileListing { try FileListing(of: scratch.path("cloud")) }

    /// How many edits a device has that no version has: tracked changes, and edits that it has handed over and no version has decided.
    func pendingEdits(of name: String) throws -> Int {
        let hasSent = try database(name).run("SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_sent'") == "1\n"
        let sent = hasSent ? " + (SELECT count(*) FROM snapsync_sent)" : ""
        let count = try database(name).run("SELECT (SELECT count(*) FROM snapsync_changes)\(sent)")
        return try #require(Int(count.trimmingCharacters(in: .newlines)))
    }

    /// The path of the newest file in a folder of the zone whose name ends so.
    func newest(_ folder: String, _ ending: String = ".json") throws -> String {
        let folder = "\(zone)/\(folder)"
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path(folder)).filter { $0.hasSuffix(ending) }.sorted()
        return try #require(names.last.map { "\(folder)/\($0)" })
    }

    /// The newest snapshot asset of a dataset.
    func asset(_ dataset: String) throws -> String { try newest("assets/\(dataset)_data", ".json.gz") }

    /// Everything of the built-in tables, exactly.
    func contents(_ database: String) throws -> String {
        let shell = self.database(database)
        return try shell.values(of: "buckets", orderedBy: "id") + shell.values(of: "notifications", orderedBy: "id")
    }
}
