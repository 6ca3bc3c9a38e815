import Foundation
import TestSupport
import Testing

/// Devices with a parent and a child table, by the built command. Statements follow one another by more than the tracking clock's unit, so
/// that each is later than the one before.
struct UniqueZone {
    /// `name` and `rank` of a parent and `code` of a child are UNIQUE.
    static let tables = """
        CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, rank INTEGER UNIQUE, up TEXT REFERENCES p(id));
        CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT UNIQUE, pid TEXT REFERENCES p(id));
        """
    private static let datasets = """
        {"formatVersion": 1, "datasets": [
          {"name": "p", "key": "id", "columns": [{"name": "id", "type": "text"}, {"name": "name", "type": "text", "optional": true},
            {"name": "rank", "type": "integer", "optional": true}, {"name": "up", "type": "text", "optional": true}]},
          {"name": "c", "key": "id", "columns": [{"name": "id", "type": "integer"}, {"name": "title", "type": "text"},
            {"name": "code", "type": "text", "optional": true}, {"name": "pid", "type": "text", "optional": true}]}]}
        """

    let scene: Scene
    let devices: [String]

    /// The devices have the version that the first one makes of `sql`.
    ///
    /// - Parameter roles: the first device's, then the others'.
    init(_ sql: String = "", devices: [String] = ["a", "b", "c"], roles: (String, String) = ("peer", "peer"), tables: String = UniqueZone.tables) throws {
        self.devices = devices
        scene = try Scene.copy(of: "unique \(devices) \(roles) \(tables)") { scene in
            try scene.scratch.write(Self.datasets, to: "datasets.json")
            for (number, name) in devices.enumerated() {
                try scene.database("\(name).db").run(tables)
                let role = number == 0 ? roles.0 : roles.1
                // The tests give the keys themselves.
                let sharing = role == "reader" ? "" : " --shared-keys"
                try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets datasets.json\(sharing)"))
            }
        }
        try edit(devices[0], sql)
        for name in devices { try sync(name) }
    }

    func edit(_ name: String, _ statements: String...) throws {
        for sql in statements {
            Thread.sleep(forTimeInterval: 0.003)
            try scene.database("\(name).db").run("PRAGMA foreign_keys = ON; " + sql)
        }
    }

    @discardableResult
    func sync(_ names: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try names.map { try scene.sync($0, at: location) }.joined()
    }

    func rows(_ name: String) throws -> String { try scene.database("\(name).db").run("SELECT * FROM p ORDER BY id; SELECT '--'; SELECT * FROM c ORDER BY id") }

    /// What a device's journal says of edits that lost: key and reason.
    func lost(_ name: String) throws -> String {
        let entries = try #require(try scene.json("conflicts list \(name).db")["conflicts"] as? [[String: Any]])
        return entries.map { "\($0["key"] ?? "")|\($0["reason"] ?? "")\n" }.joined()
    }

    /// Syncs every device twice; then all have these rows, which are their applied versions, no foreign key dangles, and nothing more is published.
    func expectEqual(_ rows: String, at location: SourceLocation = #_sourceLocation) throws {
        for name in devices + devices { try sync(name, at: location) }
        for name in devices {
            #expect(try self.rows(name) == rows, "\(name)", sourceLocation: location)
            #expect(try scene.database("\(name).db").run("PRAGMA foreign_key_check") == "", "\(name)", sourceLocation: location)
            try scene.succeed("check \(name).db --all-versions --local", at: location)
        }
        #expect(try !sync(devices[0], at: location).contains("published"), sourceLocation: location)
    }
}
