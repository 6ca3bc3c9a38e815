import CloudStore
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

@Suite struct TombstoneHorizonTests {
    private static let day: Int64 = 86_400

    /// A writer that has deleted `a` and `b` and goes on for some days, a version a day or two before the last.
    private func scene(days: Int64, changesOnly: Bool = false) async throws -> DeviceScene {
        let scene = try await DeviceScene(changesOnly: changesOnly)
        try await scene.add("one", .writer, DeviceScene.bucket("b") + ["a", "c", "e"].map { DeviceScene.notification($0, in: "b") }.joined())
        try await scene.add("away", .reader)
        try await scene.export("one")
        try await scene.importNewest("away")
        try scene.run("one", "DELETE FROM notifications WHERE id IN ('a', 'c')")
        try await scene.export("one")
        scene.clock.move(bySeconds: days * Self.day)
        for title in ["first", "second"] {
            try scene.run("one", "UPDATE notifications SET title = '\(title)'")
            try await scene.export("one")
        }
        return scene
    }

    /// Has the next import compare all rows with the version, as where the change assets since are gone.
    private func doubt(_ scene: DeviceScene) throws { try scene.run("away", "UPDATE snapsync_tracking SET isComplete = 0") }

    private func lost(_ scene: DeviceScene) throws -> String { try scene.run("away", "SELECT key, reason FROM snapsync_conflicts") }

    private func tombstones(_ scene: DeviceScene) throws -> String { try scene.run("one", "SELECT key FROM snapsync_tombstones ORDER BY key") }

    @Test func tombstonesAreDroppedWhenNinetyDaysOldByBothClocksAndTheCommitSaysSo() async throws {
        let scene = try await scene(days: 91)
        // The version before the third is 91 days old, by its own clock; only the fourth sees that time has passed there, too.
        let approvals = try await scene.history().map(\.approvals)
        #expect(approvals.count == 4 && approvals[0...2].allSatisfy(\.isEmpty))
        let horizon = try #require(TombstoneHorizon.named(in: approvals[3]))
        #expect(abs(horizon.microseconds - scene.clock.now().microseconds + 90 * Self.day * 1_000_000) < 3_600_000_000)
        #expect(try tombstones(scene) == "")
        #expect(try await scene.verify("one").isEmpty)
    }

    @Test func youngerTombstonesStay() async throws {
        let scene = try await scene(days: 89)
        #expect(try await scene.history().allSatisfy { $0.approvals.isEmpty })
        #expect(try tombstones(scene) == "a\nc\n")
    }

    @Test func ofTooManyTombstonesTheNewestStayAndTheCommitSaysSo() async throws {
        var rule = AssetRule()
        rule.tombstoneBytes = 300
        let scene = try await DeviceScene(rule: rule)
        let ids = ["a", "c", "d", "e", "f", "g", "h"]
        try await scene.add("one", .writer, DeviceScene.bucket("b") + ids.map { DeviceScene.notification($0, in: "b") }.joined())
        try await scene.add("away", .reader)
        try await scene.export("one")
        try await scene.importNewest("away")
        try scene.run("away", "UPDATE notifications SET title = 'edited before' WHERE id = 'a';" + DeviceScene.notification("mine", in: "b", "offline"))
        // The statements run by the machine's clock, which is not to be ahead of the scene's.
        scene.clock.move(bySeconds: Self.day)
        for id in ids.dropLast(2) { try scene.run("one", "DELETE FROM notifications WHERE id = '\(id)'") }
        try await scene.export("one")
        #expect(try tombstones(scene) == "a\nc\nd\ne\nf\n")
        #expect(try await scene.history().allSatisfy { $0.approvals.isEmpty })
        try scene.run("one", "DELETE FROM notifications WHERE id = 'g'")
        try await scene.export("one")
        #expect(try tombstones(scene) == "f\ng\n")
        #expect(try await scene.history().last.flatMap { TombstoneHorizon.named(in: $0.approvals) } != nil)
        #expect(try await scene.verify("one").isEmpty)
        try await scene.importNewest("away")
        #expect(try lost(scene) == "a|laterDeletion\n")
        #expect(try scene.run("away", "SELECT id, title FROM notifications ORDER BY id") == "h|N\nmine|offline\n")
        #expect(try scene.run("away", "SELECT key FROM snapsync_tombstones ORDER BY key") == "f\ng\n")
        #expect(try await scene.verify("away").isEmpty)
    }

    @Test func aDeviceThatWasAwayKeepsWhatItMadeAndLosesWhatItChangedBeforeTheHorizon() async throws {
        let scene = try await scene(days: 91)
        try scene.run(
            "away",
            "UPDATE notifications SET title = 'edited long ago' WHERE id = 'a';"
                + DeviceScene.notification("mine", in: "b", "offline", updatedAt: "2019-01-01T00:00:00Z"))
        try doubt(scene)
        try await scene.importNewest("away")
        #expect(try scene.run("away", "SELECT id, title FROM notifications ORDER BY id") == "e|second\nmine|offline\n")
        #expect(try lost(scene) == "a|laterDeletion\n")
        #expect(try await scene.verify("away").isEmpty)
        // Importing again brings nothing back and loses nothing.
        try scene.run("one", "UPDATE notifications SET title = 'third'")
        try await scene.export("one")
        try await scene.importNewest("away")
        #expect(try scene.run("away", "SELECT id, title FROM notifications ORDER BY id") == "e|third\nmine|offline\n")
    }

    @Test func anEditFromAfterTheHorizonSurvives() async throws {
        let scene = try await scene(days: 91)
        let later = scene.clock.now().description
        // An edit whose note says a time that no clock here shows.
        try scene.run("away", SQLiteShell.untracked("UPDATE notifications SET title = 'edited lately' WHERE id = 'a'"))
        try scene.run(
            "away",
            "INSERT INTO snapsync_log(dataset, key, clock, stamp, seen) SELECT id, 'a', \(scene.clock.now().microseconds / 1000), '\(later)', '2020-01-01T00:00:00Z' FROM snapsync_tracking WHERE dataset = 'notifications'"
        )
        try doubt(scene)
        try await scene.importNewest("away")
        #expect(try scene.run("away", "SELECT id FROM notifications ORDER BY id") == "a\ne\n")
    }

    @Test func changeAssetsTellOfEveryDeletionHoweverOldAndTheLaterWins() async throws {
        let scene = try await scene(days: 91, changesOnly: true)
        // A snapshot asset after all, which drops tombstones; the change asset beside it leads on for readers that are up to date.
        _ = try await scene.engine("one").export(isFull: true)
        #expect(try await scene.history().last?.approvals.isEmpty == false)
        try scene.run("away", "UPDATE notifications SET title = 'edited after it was deleted' WHERE id = 'a'")
        #expect(try await scene.importNewest("away").datasets.allSatisfy { $0.blocks == nil })
        #expect(try scene.run("away", "SELECT id, title FROM notifications ORDER BY id") == "a|edited after it was deleted\ne|second\n")
        // What the location has forgotten is forgotten here, too.
        #expect(try scene.run("away", "SELECT count(*) FROM snapsync_tombstones") == "0\n")
    }

    @Test func aCrashBetweenTheCommitAndTheNoteOfItDropsTheSameTombstones() async throws {
        let scene = try await scene(days: 91)
        try scene.run("one", "DELETE FROM notifications WHERE id = 'e'")
        let cloud = FaultyCloudDatabase(wrapping: scene.cloud, .afterPublish(FaultyCloudDatabase.Crash()))
        await #expect(throws: SyncError.self) {
            try await SyncEngine(database: scene.scratch.path("one"), options: EngineOptions(now: scene.clock.now) { _ in cloud }).export()
        }
        #expect(try await scene.export("one").published == false)
        #expect(try await scene.verify("one").isEmpty)
    }
}
