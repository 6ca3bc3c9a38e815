import CloudStore
import StrictText
import Synchronization
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// What a peer's sync does when others are at work at the same time, and when it is killed.
@Suite struct PeerSyncTests {
    @Test func lostRaceIsBuiltAnewOnWhatTheOtherPublished() async throws {
        let scene = try await PeerScene("desk", "laptop", "tablet")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'b'; INSERT INTO things(id, note) VALUES('c', 'laptop')")
        try scene.run("tablet", "INSERT INTO things(id, note) VALUES('d', 'tablet')")
        let others = Mutex(["laptop", "tablet"])
        let cloud = ScriptedCloud(wrapped: scene.cloud)
        cloud.publishing = { if let other = others.withLock({ $0.popLast() }) { try await scene.sync(other) } }
        let report = try await scene.engine("desk", cloud).sync()
        #expect(report.exported?.version == 4 && report.imported?.version == 3)
        #expect(try scene.notes("desk") == "a=desk b=laptop c=laptop d=tablet")
        // The assets of the attempts that lost are gone: each version has its own.
        #expect(try await scene.engine("desk").inspector().verify(all: true, local: true).problems == [])
        for name in ["laptop", "tablet"] {
            try await scene.sync(name)
            #expect(try scene.notes(name) == scene.notes("desk"))
        }
    }

    @Test func raceThatIsLostEveryTimeIsForLaterAndLosesNothing() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let count = Mutex(0)
        let cloud = ScriptedCloud(wrapped: scene.cloud)
        cloud.publishing = {
            let number = count.withLock {
                $0 += 1; return $0
            }
            try scene.run("laptop", "UPDATE things SET note = 'laptop \(number)' WHERE id = 'b'")
            try await scene.sync("laptop")
        }
        let error = await #expect(throws: SyncError.self) { try await scene.sync("desk", cloud) }
        #expect(error?.code == .tryAgainLater && error?.reason.hasPrefix("other devices published first, 100 times in a row") == true)
        #expect(try await scene.changes("desk") == 1)
        try await scene.sync("desk")
        try await scene.sync("laptop")
        #expect(try scene.notes("laptop") == "a=desk b=laptop 100")
    }

    @Test func ownCommitIsFoundBeneathThoseOfOthers() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let cloud = ScriptedCloud(wrapped: scene.cloud)
        cloud.published = { throw ScriptedCloud.Crash() }
        await #expect(throws: SyncError.self) { try await scene.sync("desk", cloud) }
        for number in 1...2 {
            try scene.run("laptop", "INSERT INTO things(id, note) VALUES('l\(number)', 'laptop')")
            try await scene.sync("laptop")
        }
        // Meanwhile the application has changed the same entity again.
        try scene.run("desk", "UPDATE things SET note = 'desk, later' WHERE id = 'a'")
        let report = try await scene.sync("desk")
        #expect(report.imported?.warnings == ["found version 2, which an earlier run had published without noting it"])
        #expect(report.exported?.version == 5 && report.imported?.version == 4)
        try await scene.sync("laptop")
        for name in ["desk", "laptop"] { #expect(try scene.notes(name) == "a=desk, later b=first l1=laptop l2=laptop") }
    }

    /// The import of a replacement records that commit, which is no other program's change of the data that were kept.
    @Test func ownCommitIsFoundBeforeTheLocalDataAreReplaced() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let cloud = ScriptedCloud(wrapped: scene.cloud)
        cloud.published = { throw ScriptedCloud.Crash() }
        await #expect(throws: SyncError.self) { try await scene.sync("desk", cloud) }
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'b'")
        try await scene.sync("laptop")
        try scene.run("desk", "UPDATE things SET note = 'dropped' WHERE id = 'b'")
        let report = try await scene.engine("desk").versions.replaceLocal()
        #expect(report.imported.version == 3 && report.keptCopy != nil)
        for name in ["desk", "laptop"] { #expect(try scene.notes(name) == "a=desk b=laptop") }
        #expect(try await scene.changes("desk") == 0)
    }

    @Test func editMadeWhileASyncRunsGoesOutWithTheNext() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let cloud = ScriptedCloud(wrapped: scene.cloud)
        cloud.prepared = { try scene.run("desk", "UPDATE things SET note = 'meanwhile'; DELETE FROM things WHERE id = 'b'") }
        #expect(try await scene.sync("desk", cloud).exported?.version == 2)
        #expect(try await scene.changes("desk") == 2)
        try await scene.sync("laptop")
        #expect(try scene.notes("laptop") == "a=desk b=first")
        try await scene.sync("desk")
        try await scene.sync("laptop")
        #expect(try scene.notes("laptop") == "a=meanwhile")
    }

    @Test func deletionThatLosesToALaterEditIsForgotten() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "DELETE FROM things WHERE id = 'a'")
        try scene.run("laptop", "UPDATE things SET note = 'later', changed = NULL WHERE id = 'a'")
        try await scene.sync("laptop")
        try await scene.sync("desk")
        #expect(try scene.notes("desk") == "a=later b=first")
        #expect(try await scene.changes("desk") == 0)
        // Nor does it come back with the next change of something else.
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'b'")
        try await scene.sync("desk")
        try await scene.sync("laptop")
        for name in ["desk", "laptop"] { #expect(try scene.notes(name) == "a=later b=desk") }
    }

    @Test(arguments: [["desk", "laptop"], ["laptop", "desk"]])
    func laterEditThatPutsBackWhatWasThereWins(order: [String]) async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'a'")
        try scene.run("desk", "UPDATE things SET note = 'other' WHERE id = 'a'; UPDATE things SET note = 'first' WHERE id = 'a'")
        for name in order + order { try await scene.sync(name) }
        for name in order { #expect(try scene.notes(name) == "a=first b=first") }
    }

    @Test func insertOrReplaceWinsOverWhatItReplaced() async throws {
        let scene = try await PeerScene("desk", "laptop")
        // What it replaces is dated later than what the application says of the new row.
        try scene.run("desk", "UPDATE things SET note = 'desk', changed = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = 'a'")
        try await scene.sync("desk")
        try await scene.sync("laptop")
        try scene.run(
            "laptop",
            "INSERT OR REPLACE INTO things VALUES('a', '2020-01-01T00:00:00Z', 'laptop'); INSERT OR IGNORE INTO things VALUES('b', '2030-01-01T00:00:00Z', 'ignored')"
        )
        #expect(try await scene.changes("laptop") == 1)
        try scene.run("desk", "UPDATE things SET note = 'other' WHERE id = 'b'")
        try await scene.sync("desk")
        try await scene.sync("laptop")
        try await scene.sync("desk")
        for name in ["desk", "laptop"] { #expect(try scene.notes(name) == "a=laptop b=other") }
    }

    @Test func importAtAPeerMergesAndPublishesNothing() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'b'")
        try await scene.sync("desk")
        #expect(try await scene.engine("laptop").importNewest().version == 2)
        #expect(try scene.notes("laptop") == "a=desk b=laptop")
        #expect(try await scene.changes("laptop") == 1)
        #expect(try await scene.cloud.history(in: scene.zone).count == 2)
    }

    @Test func exportAtAPeerThatIsBehindIsForLater() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'a'")
        _ = try await scene.engine("desk").export()
        let error = await #expect(throws: SyncError.self) { try await scene.engine("laptop").export() }
        #expect(error?.code == .tryAgainLater && error?.hint?.contains("snapsync sync") == true)
        #expect(try scene.notes("laptop") == "a=laptop b=first")
    }

    @Test func versionThatWasPrunedWhileAPeerWasAwayIsNoObstacle() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'b'")
        for number in 1...20 {
            try scene.run("desk", "UPDATE things SET note = 'desk \(number)' WHERE id = 'a'")
            try await scene.sync("desk")
        }
        for number in 1...10 { scene.cloud.damageCommit(number, in: scene.zone) { $0 = nil } }
        let report = try await scene.sync("laptop")
        #expect(report.imported?.version == 21 && report.exported?.version == 22)
        #expect(try scene.notes("laptop") == "a=desk 20 b=laptop")
    }
}
