import CloudStore
import DirectoryCloud
import TestSupport
import Testing

/// A zone that another program deleted, as the commands meet it.
@Suite(.runsPrograms) struct ZoneDeletionCommandTests {
    private func deleteZone(_ scene: Scene) async throws {
        try await DirectoryCloud(path: scene.scratch.path("cloud")).deleteZone(.standard, reason: .purged, by: "phone")
    }

    @Test func everythingStaysUnlessInitSaidOtherwise() async throws {
        let scene = try Scene.phoneAndWatch()
        try scene.succeed("init --db tablet.db --cloud cloud --role reader --device tablet --create --on-zone-deletion erase")
        try scene.succeed("sync --db tablet.db")
        try await deleteZone(scene)
        let (phone, watch) = (try scene.contents("phone.db"), try scene.contents("watch.db"))
        for line in ["export --db phone.db", "sync --db phone.db", "import --db watch.db", "sync --db watch.db"] {
            try scene.refuse(line, exit: 78, saying: ["deleted by the user", "on phone at", "everything here stays as it is", "snapsync detach"])
        }
        #expect(try scene.contents("phone.db") == phone && scene.contents("watch.db") == watch && !watch.isEmpty)

        let run = try scene.run("sync --db tablet.db")
        Scene.checkRefusal(run, exit: 78, saying: ["deleted by the user", "erased what it had from there (34 entities)"])
        #expect(try scene.contents("tablet.db") == "")
    }
}
