import CloudStore
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// What simulated histories have found, each as the shortest history that shows it.
@Suite struct SimulatedFindsTests {
    @Test(arguments: [false, true]) func markThatIsRefusedForTheDeletionBeforeItGoesWithTheNotification(hasChangeAssets: Bool) async throws {
        let mail = try await MailScene(hasChangeAssets: hasChangeAssets)
        try mail.scene.writer.run("DELETE FROM notifications WHERE id = 'n1'")
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        // The deletion and the refusal come in one version.
        try await mail.round()
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try await mail.problems() == [])
    }

    @Test func markWhoseAnswerWasMissedGoesWithTheNotificationThatWasDeletedBeforeIt() async throws {
        let mail = try await MailScene()
        try mail.scene.writer.run("DELETE FROM notifications WHERE id = 'n1'")
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        // The deletion and the refusal are pruned before the reader sees them.
        try await mail.syncWriter()
        mail.scene.clock.move(bySeconds: 3 * 86_400)
        try mail.scene.writer.run("UPDATE notifications SET title = 'later' WHERE id = 'n2'")
        try await mail.syncWriter()
        _ = try await mail.scene.engine("writer.db").versions.prune(RetentionPolicy(keepLast: 1, keepWithin: nil))
        for _ in 0..<2 { try await mail.round() }
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try await mail.waiting().isEmpty)
    }

    /// The version that a mark was made on can be gone before the mark is told: it cannot be compared with any longer.
    @Test(arguments: [false, true]) func markOnAVersionThatIsGoneKeepsNoOldTitle(hasChangeAssets: Bool) async throws {
        let mail = try await MailScene(hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try mail.scene.writer.run("UPDATE notifications SET title = 'later'")
        try await mail.syncWriter()
        mail.scene.clock.move(bySeconds: 3 * 86_400)
        try mail.scene.writer.run("UPDATE notifications SET title = 'last'")
        _ = try await mail.scene.engine("writer.db").export(isFull: true)
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z', title = 'my own' WHERE id = 'n2'")
        // Later than the writer's edit, which it must not hide.
        for mark in ["'2026-01-01T00:00:00Z'", "NULL"] { try mail.scene.reader.run("UPDATE notifications SET readAt = \(mark) WHERE id = 'n3'") }
        _ = try await mail.scene.engine("writer.db").versions.prune(RetentionPolicy(keepLast: 1, keepWithin: nil))
        try await mail.round()
        for name in [mail.scene.writer, mail.scene.reader] {
            #expect(try mail.value(name, "title || ', ' || readAt", of: "n1") == "last, 2026-01-01T00:00:00Z")
            #expect(try mail.value(name, "title || ', ' || ifnull(readAt, 'taken back')", of: "n3") == "last, taken back")
            #expect(try mail.value(name, "readAt", of: "n2") == "2026-01-01T00:00:00Z")
        }
        // What was edited here beside the mark stays here, as no message carries it.
        #expect(try mail.value(mail.scene.reader, "title", of: "n2") == "my own")
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "1\n")
        #expect(try await mail.problems() == [])
    }

    @Test(arguments: [false, true]) func bucketWhoseDeletionIsRefusedIsBackWithTheRefusal(hasChangeAssets: Bool) async throws {
        let mail = try await MailScene([], hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("DELETE FROM buckets WHERE id = 'b'")
        try mail.scene.writer.run(
            "INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('n', 'new', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'b')")
        try await mail.round()
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.scene.reader.run("SELECT isOrphan FROM buckets; SELECT count(*) FROM snapsync_changes") == "1\n0\n")
        #expect(try await mail.waiting().isEmpty)
    }

    /// The edit is told with an earlier instant than the deletion: its row's timestamp goes back, and a refused deletion was never made.
    @Test(arguments: [false, true]) func bucketThatCameBackWithTheRefusalCanBeEdited(hasChangeAssets: Bool) async throws {
        let mail = try await MailScene([], hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("DELETE FROM buckets WHERE id = 'b'")
        try mail.scene.writer.run(
            "INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('n', 'new', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'b')")
        try await mail.round()
        try mail.scene.reader.run("UPDATE buckets SET name = 'edited', updatedAt = '2001-01-01T00:00:00Z' WHERE id = 'b'")
        try await mail.round()
        for name in [mail.scene.writer, mail.scene.reader] { #expect(try name.run("SELECT name FROM buckets") == "edited\n") }
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try await mail.waiting().isEmpty)
    }

    /// The version that a mark was put on is gone, and with it perhaps the answer: the mark is told again, and hides no later title until then.
    @Test(arguments: [false, true]) func markWhoseAnswerMayBeMissedHidesNoLaterTitle(hasChangeAssets: Bool) async throws {
        let mail = try await MailScene(hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        let late = try await mail.takeLastMessage()
        // Edits with timestamps before the mark's.
        func edit(_ title: String, _ day: Int) async throws {
            try mail.scene.writer.run("UPDATE notifications SET title = '\(title)', updatedAt = '2020-01-0\(day)T00:00:00Z' WHERE id = 'n1'")
            try await mail.syncWriter()
        }
        try await edit("later", 2)
        try await mail.syncReader()
        #expect(try mail.value(mail.scene.reader, "title || ', ' || readAt", of: "n1") == "later, 2026-01-01T00:00:00Z")
        try await edit("last", 3)
        mail.scene.clock.move(bySeconds: 3 * 86_400)
        try mail.scene.writer.run("UPDATE notifications SET title = 'later' WHERE id = 'n2'")
        try await mail.syncWriter()
        _ = try await mail.scene.engine("writer.db").versions.prune(RetentionPolicy(keepLast: 1, keepWithin: nil))
        try await mail.syncReader()
        #expect(try mail.value(mail.scene.reader, "title || ', ' || readAt", of: "n1") == "last, 2026-01-01T00:00:00Z")
        try await mail.deliver(late)
        for _ in 0..<2 { try await mail.round() }
        #expect(try mail.value(mail.scene.writer, "title || ', ' || readAt", of: "n1") == "last, 2026-01-01T00:00:00Z")
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try await mail.waiting().isEmpty)
    }

    /// The writer's clock is ahead: what comes in beneath an unanswered mark is later than the mark is.
    @Test(arguments: [false, true], ["'9999-12-31T23:59:59Z'", "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '30 minutes')"])
    func editOfWhatAMarkStandsOnIsLaterThanBoth(hasChangeAssets: Bool, stamp: String) async throws {
        let mail = try await MailScene(hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        try await mail.takeLastMessage()
        try mail.scene.writer.run(
            "UPDATE notifications SET title = 'later', updatedAt = \(stamp) WHERE id = 'n1'; UPDATE snapsync_log SET clock = clock + 3600000")
        try await mail.syncWriter()
        try await mail.syncReader()
        #expect(try mail.value(mail.scene.reader, "title || ', ' || readAt", of: "n1") == "later, 2026-01-01T00:00:00Z")
        try mail.scene.reader.run("UPDATE notifications SET title = 'mine' WHERE id = 'n1'")
        for key in ["n2", "n3"] {
            try mail.scene.writer.run("UPDATE notifications SET title = 'last' WHERE id = '\(key)'")
            try await mail.syncWriter()
            try await mail.syncReader()
            #expect(try mail.value(mail.scene.reader, "title || ', ' || readAt", of: "n1") == "mine, 2026-01-01T00:00:00Z")
        }
        #expect(try await mail.problems() == [])
    }

    /// A message that was overtaken by the sender's own next one is over with that one's answer: nothing of it is shown or told again.
    @Test(arguments: [false, true]) func markWhoseTakingBackArrivedFirstStaysTakenBack(hasChangeAssets: Bool) async throws {
        let mail = try await MailScene(hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        let late = try await mail.takeLastMessage()
        try mail.scene.reader.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        for _ in 0..<2 {
            try await mail.round()
            #expect(try mail.value(mail.scene.reader, "readAt", of: "n1") == "-")
        }
        try await mail.deliver(late)
        for _ in 0..<2 { try await mail.round() }
        for name in [mail.scene.writer, mail.scene.reader] { #expect(try mail.value(name, "readAt", of: "n1") == "-") }
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.openCount() == 0)
        #expect(try await mail.problems() == [])
    }

    /// Of three marks the first was applied, the second has not arrived, and the answers were pruned before the third is told.
    @Test func markOnTopOfThoseInDoubtIsNotUndoneByAnEditOfTheText() async throws {
        let mail = try await MailScene()
        for day in 1...2 {
            try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-0\(day)T00:00:00Z' WHERE id = 'n1'")
            try await mail.syncReader()
        }
        try await mail.takeLastMessage()
        try mail.scene.reader.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        try mail.scene.writer.run("UPDATE notifications SET title = 'later' WHERE id = 'n1'")
        try await mail.syncWriter()
        mail.scene.clock.move(bySeconds: 3 * 86_400)
        try mail.scene.writer.run("UPDATE notifications SET title = 'later' WHERE id = 'n2'")
        _ = try await mail.scene.engine("writer.db").export(isFull: true)
        _ = try await mail.scene.engine("writer.db").versions.prune(RetentionPolicy(keepLast: 1, keepWithin: nil))
        for _ in 0..<2 {
            try await mail.round()
            for name in [mail.scene.writer, mail.scene.reader] {
                #expect(try mail.value(name, "title || ', ' || ifnull(readAt, 'unread')", of: "n1") == "later, unread")
            }
        }
        #expect(try mail.scene.differences(1) == "")
        #expect(try await mail.waiting().isEmpty)
        #expect(try await mail.problems() == [])
    }

    @Test func whatIsSaidAgainLaterHoldsAgainstWhatWasSaidInBetween() async throws {
        let mail = try await MailScene()
        try mail.scene.writer.run("UPDATE buckets SET name = 'agreed', createdAt = '-', updatedAt = '2021-01-01T00:00:00Z'")
        // The later one arrives first.
        for (sender, name, at) in [("tablet", "agreed", "2023-01-01T00:00:00Z"), ("phone", "other", "2022-01-01T00:00:00Z")] {
            try await mail.handOver(#"{"id":"b","name":"\#(name)","createdAt":"-","updatedAt":"2021-01-01T00:00:00Z"}"#, by: sender, at: at)
            try await mail.syncWriter()
        }
        #expect(try mail.scene.writer.run("SELECT name FROM buckets") == "agreed\n")
        #expect(try await mail.problems() == [])
    }

    /// The version that the reader deleted from is gone, and the next one lacks the entity by an earlier deletion.
    @Test(arguments: [false, true], [false, true])
    func laterDeletionOfWhatIsGoneHoldsAgainstWhoBroughtItBackInBetween(hasChangeAssets: Bool, arrivesLast: Bool) async throws {
        let mail = try await MailScene([], hasChangeAssets: hasChangeAssets)
        try mail.scene.writer.run(
            "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('c', 'C', '-', '2020-01-01T00:00:00Z'), ('d', 'D', '-', '2020-01-01T00:00:00Z')")
        try await mail.round()
        try mail.scene.writer.run("DELETE FROM buckets WHERE id = 'b'; UPDATE snapsync_log SET clock = clock - 3600000")
        try await mail.syncWriter()
        mail.scene.clock.move(bySeconds: 3 * 86_400)
        try mail.scene.writer.run("UPDATE buckets SET name = 'later' WHERE id = 'c'")
        try await mail.syncWriter()
        _ = try await mail.scene.engine("writer.db").versions.prune(RetentionPolicy(keepLast: 1, keepWithin: nil))
        try mail.scene.reader.run("DELETE FROM buckets WHERE id = 'b'")
        if arrivesLast { try await mail.round() }
        // Another device made it anew before that.
        let between = try mail.scene.reader.run("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 minutes')").replacing("\n", with: "")
        try await mail.handOver(#"{"id":"b","name":"anew","createdAt":"-","updatedAt":"\#(between)"}"#, by: "tablet", at: between)
        try await mail.round()
        #expect(try mail.scene.writer.run("SELECT group_concat(id) FROM buckets") == "c,d\n")
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try await mail.waiting().map(\.sender) == ["tablet"])
        #expect(try await mail.problems() == [])
    }

    /// A sync tool can take a commit away for a while: without it the assets of its version look like what a killed run has left.
    @Test(arguments: [false, true]) func pruneKeepsTheAssetsOfAVersionWhoseCommitIsAway(isDryRun: Bool) async throws {
        let mail = try await MailScene()
        let cloud = try #require(mail.scene.cloud as? MemoryCloudDatabase)
        try mail.scene.writer.run("UPDATE notifications SET title = 'later'")
        try await mail.syncWriter()
        var commit: [UInt8]?
        cloud.damageCommit(2, in: mail.scene.zone) { bytes in (commit, bytes) = (bytes, nil) }
        mail.scene.clock.move(bySeconds: 3 * 86_400)
        let policy = RetentionPolicy(keepLast: 1, keepWithin: nil)
        await #expect { _ = try await mail.scene.engine("writer.db").versions.prune(policy, dryRun: isDryRun) } throws: {
            ($0 as? SyncError)?.code == .dataRefused
        }
        cloud.damageCommit(2, in: mail.scene.zone) { $0 = commit }
        _ = try await mail.scene.engine("writer.db").versions.prune(policy)
        try await mail.round()
        #expect(try mail.scene.differences(1) == "")
        #expect(try await mail.problems() == [])
    }

    @Test(arguments: [false, true]) func parentDeletedHereComesBackAlsoWhereAnotherParentChanged(changesOnly: Bool) async throws {
        let scene = try await DeviceScene(changesOnly: changesOnly)
        try await scene.publish("one", .peer, DeviceScene.bucket("b") + DeviceScene.bucket("c"))
        try await scene.join("two", .peer)
        // The version's change of the buckets does not have the one that its new notification needs.
        try scene.run("two", "DELETE FROM buckets WHERE id = 'b'")
        try scene.run("one", "UPDATE buckets SET name = 'other' WHERE id = 'c';" + DeviceScene.notification("new", in: "b"))
        for name in ["one", "two", "one"] { _ = try await scene.engine(name).sync() }
        for name in ["one", "two"] {
            #expect(
                try scene.run(name, "SELECT id, name FROM buckets ORDER BY id; SELECT id FROM notifications; PRAGMA foreign_key_check") == "b|B\nc|other\nnew\n"
            )
            #expect(try await scene.verify(name).isEmpty)
        }
    }

    @Test(arguments: [["one", "two", "three"], ["two", "one", "three"], ["three", "two", "one"]])
    func uniqueValueGivenToTwoEntitiesConvergesLosesNothingAndIsReported(order: [String]) async throws {
        let seats = try DatasetSchema(
            name: "seats", table: "seats", keys: ["id"], timestamp: "at", columns: ["id", "guest", "at"].map { DatasetColumn($0, .text) })
        let table = "CREATE TABLE seats(id TEXT PRIMARY KEY, guest TEXT NOT NULL UNIQUE, at TEXT NOT NULL);"
        let scene = try await DeviceScene([seats])
        try await scene.publish("one", .peer, table + "INSERT INTO seats VALUES('s', 'Ada', '2020-01-01T00:00:00Z')")
        for name in ["two", "three"] {
            try await scene.add(name, .peer, table)
            try await scene.importNewest(name)
        }
        try scene.run("one", "INSERT INTO seats VALUES('k1', 'Eve', '2021-01-01T00:00:00Z')")
        try scene.run("two", "INSERT INTO seats VALUES('k2', 'Eve', '2022-01-01T00:00:00Z')")
        var warnings: [String] = []
        for name in order + order { warnings += try await scene.engine(name).sync().imported?.warnings ?? [] }
        // The row that is published first keeps the value.
        let isFirst = order.firstIndex(of: "one") ?? 0 < order.firstIndex(of: "two") ?? 0
        let (shown, held) = isFirst ? ("k1", "k2") : ("k2", "k1")
        for name in order {
            #expect(try scene.run(name, "SELECT id, guest FROM seats ORDER BY id") == "\(shown)|Eve\ns|Ada\n", "\(name)")
            #expect(try await scene.verify(name).isEmpty)
        }
        #expect(warnings.contains { $0.hasPrefix("seats: 1 entity held") && $0.contains("\"\(held)\"") })
        // Where the value is free again the other one comes back, everywhere.
        try scene.run("three", "DELETE FROM seats WHERE id = '\(shown)'")
        for name in ["three"] + order + order { _ = try await scene.engine(name).sync() }
        for name in order { #expect(try scene.run(name, "SELECT id, guest FROM seats ORDER BY id") == "\(held)|Eve\ns|Ada\n", "\(name)") }
    }
}
