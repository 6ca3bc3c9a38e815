import CloudStore
import SnapshotModel
import TestSupport
import Testing

@testable import SnapshotEngine

/// Two rows with one value that only one may have: whatever was edited where, no import is wedged and all end equal. UniqueValueTests has each case.
@Suite struct UniqueClashTests {
    private let table = "CREATE TABLE seats(id TEXT PRIMARY KEY, guest TEXT NOT NULL UNIQUE, at TEXT NOT NULL);"

    private func pair(changesOnly: Bool) async throws -> DeviceScene {
        let seats = try DatasetSchema(
            name: "seats", table: "seats", keys: ["id"], timestamp: "at", columns: ["id", "guest", "at"].map { DatasetColumn($0, .text) })
        let scene = try await DeviceScene([seats], changesOnly: changesOnly)
        try await scene.publish("one", .peer, table + "INSERT INTO seats VALUES('s1', 'Ada', '2020-01-01T00:00:00Z'), ('s2', 'Ben', '2020-01-01T00:00:00Z')")
        try await scene.join("two", .peer, table)
        return scene
    }

    private func seats(_ scene: DeviceScene, _ name: String) throws -> String { try scene.run(name, "SELECT id, guest FROM seats ORDER BY id") }

    @Test func swapsAndChainsOfKeptRowsEndInOneStateEverywhere() async throws {
        for seed in UInt64(1)...12 {
            var random = SeededGenerator(seed: seed)
            let scene = try await pair(changesOnly: seed.isMultiple(of: 2))
            for _ in 0..<4 {
                for name in ["one", "two"] {
                    for _ in 0..<3 {
                        let id = "k\(random.below(4))", guest = ["Ada", "Ben", "Cal", "Dee"][random.below(4)]
                        let at = "20\(21 + random.below(4))-01-01T00:00:0\(random.below(9))Z"
                        try scene.run(
                            name,
                            "INSERT OR IGNORE INTO seats VALUES('\(id)', '\(guest)', '\(at)'); UPDATE OR IGNORE seats SET guest = '\(guest)', at = '\(at)' WHERE id = '\(id)'"
                        )
                    }
                }
                for name in ["one", "two"] {
                    try await scene.importNewest(name)
                    try await scene.export(name)
                    #expect(try await scene.verify(name).isEmpty, "seed \(seed)")
                }
            }
            for name in ["one", "two", "one", "two", "one", "two"] {
                try await scene.importNewest(name)
                try await scene.export(name)
            }
            #expect(try seats(scene, "one") == seats(scene, "two"), "seed \(seed)")
            for name in ["one", "two"] { #expect(try await scene.verify(name).isEmpty, "seed \(seed)") }
        }
    }
}
