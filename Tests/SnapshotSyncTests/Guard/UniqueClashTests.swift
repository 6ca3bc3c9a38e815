import CloudStore
import SnapshotModel
import TestSupport
import Testing

@testable import SnapshotEngine

/// Two rows with one value that only one may have: the later keeps it, the other is set aside, and no import is wedged.
@Suite struct UniqueClashTests {
    private let table = "CREATE TABLE seats(id TEXT PRIMARY KEY, guest TEXT NOT NULL UNIQUE, at TEXT NOT NULL);"

    private func pair(_ role: SyncRole = .peer, changesOnly: Bool = false) async throws -> DeviceScene {
        let seats = try DatasetSchema(
            name: "seats", table: "seats", key: "id", timestamp: "at", columns: ["id", "guest", "at"].map { DatasetColumn($0, .text) })
        let scene = try await DeviceScene([seats], changesOnly: changesOnly)
        try await scene.add("one", .peer, table + "INSERT INTO seats VALUES('s1', 'Ada', '2020-01-01T00:00:00Z'), ('s2', 'Ben', '2020-01-01T00:00:00Z')")
        try await scene.export("one")
        try await scene.add("two", role, table)
        try await scene.importNewest("two")
        return scene
    }

    private func seats(_ scene: DeviceScene, _ name: String) throws -> String { try scene.run(name, "SELECT id, guest FROM seats ORDER BY id") }

    @Test(arguments: [false, true]) func laterLocalRowKeepsTheValueAndTheVersionsRowIsSetAside(changesOnly: Bool) async throws {
        let scene = try await pair(changesOnly: changesOnly)
        try scene.run("one", "INSERT INTO seats VALUES('k1', 'Eve', '2021-01-01T00:00:00Z')")
        try scene.run("two", "INSERT INTO seats VALUES('k2', 'Eve', '2022-01-01T00:00:00Z')")
        try await scene.export("one")
        let report = try await scene.importNewest("two")
        #expect(report.warnings.contains { $0.hasPrefix("seats: 1 entity set aside: another has a value") && $0.contains("\"k1\"") })
        #expect(try seats(scene, "two") == "k2|Eve\ns1|Ada\ns2|Ben\n")
        #expect(try await scene.verify("two").isEmpty)
        // Both sides agree on the later, whichever syncs.
        try await scene.export("two")
        try await scene.importNewest("one")
        #expect(try seats(scene, "one") == seats(scene, "two"))
        #expect(try await scene.verify("one").isEmpty)
        // The value is free again, and the row that gave way comes back.
        try scene.run("two", "UPDATE seats SET guest = 'Eva', at = '2023-01-01T00:00:00Z' WHERE id = 'k2'")
        let back = try await scene.export("two")
        #expect(back.warnings.contains { $0.hasPrefix("seats: 1 entity came back") })
        try await scene.importNewest("one")
        #expect(try seats(scene, "one") == "k1|Eve\nk2|Eva\ns1|Ada\ns2|Ben\n")
        #expect(try seats(scene, "two") == seats(scene, "one"))
    }

    @Test func rowThatWasDisplacedAheadOfTheClockComesBack() async throws {
        let scene = try await pair()
        try scene.run("one", "INSERT INTO seats VALUES('k1', 'Eve', '2021-01-01T00:00:00Z')")
        try await scene.export("one")
        let ahead = "2099-01-01T00:00:00Z"
        try scene.run("two", "INSERT INTO seats VALUES('k2', 'Eve', '\(ahead)'); UPDATE snapsync_log SET clock = clock + 36000000 WHERE dataset > 0")
        scene.clock.move(bySeconds: 36_000)
        try await scene.importNewest("two")
        #expect(try scene.run("two", "SELECT key, reason FROM snapsync_set_aside") == "k1|valueTaken\n")
        scene.clock.move(bySeconds: -36_000)
        try await scene.importNewest("two")
        #expect(try scene.run("two", "SELECT key, reason FROM snapsync_set_aside") == "k1|valueTaken\n")
        try scene.run("two", "DELETE FROM seats WHERE id = 'k2'")
        for name in ["two", "one", "two", "one"] { _ = try await scene.engine(name).sync() }
        for name in ["one", "two"] {
            #expect(try seats(scene, name) == "k1|Eve\ns1|Ada\ns2|Ben\n")
            #expect(try await scene.verify(name).isEmpty)
        }
        #expect(try scene.run("two", "SELECT count(*) FROM snapsync_set_aside") == "0\n")
    }

    @Test(arguments: [SyncRole.reader, .peer]) func earlierLocalRowGivesWayAndComesBackWhenTheValueIsFree(role: SyncRole) async throws {
        let scene = try await pair(role)
        try scene.run("one", "INSERT INTO seats VALUES('k1', 'Eve', '2022-01-01T00:00:00Z')")
        try scene.run("two", "INSERT INTO seats VALUES('k2', 'Eve', '2021-01-01T00:00:00Z'), ('k3', 'Fay', '2021-01-01T00:00:00Z')")
        try await scene.export("one")
        try await scene.importNewest("two")
        #expect(try seats(scene, "two") == "k1|Eve\nk3|Fay\ns1|Ada\ns2|Ben\n")
        #expect(try scene.run("two", "SELECT key, reason FROM snapsync_set_aside") == "k2|valueTaken\n")
        #expect(try await scene.verify("two").isEmpty)
        try scene.run("one", "DELETE FROM seats WHERE id = 'k1'")
        try await scene.export("one")
        try await scene.importNewest("two")
        #expect(try seats(scene, "two") == "k2|Eve\nk3|Fay\ns1|Ada\ns2|Ben\n")
        #expect(try await scene.verify("two").isEmpty)
    }

    @Test func anEditThatGivesWayLeavesTheVersionsEntityInItsPlace() async throws {
        let scene = try await pair()
        // Here s2 takes the name Cal; there, later, s1 does.
        try scene.run("two", "UPDATE seats SET guest = 'Cal', at = '2021-01-01T00:00:00Z' WHERE id = 's2'")
        try scene.run("one", "UPDATE seats SET guest = 'Cal', at = '2022-01-01T00:00:00Z' WHERE id = 's1'")
        try await scene.export("one")
        try await scene.importNewest("two")
        #expect(try seats(scene, "two") == "s1|Cal\ns2|Ben\n")
        #expect(try await scene.verify("two").isEmpty)
    }

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
