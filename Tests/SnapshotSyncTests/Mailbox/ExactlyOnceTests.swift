import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// An edit takes effect once, whatever ends a run at whatever step.
@Suite struct ExactlyOnceTests {
    /// Where a run ends.
    enum Stop: String, CaseIterable, Sendable {
        case numbered, fileWritten, applied, committed, answered, removed

        var fault: FaultyCloudDatabase.Fault {
            switch self {
            case .numbered: .beforeSend(FaultyCloudDatabase.Crash())
            case .fileWritten: .afterSend(FaultyCloudDatabase.Crash())
            case .applied: .beforePublish(FaultyCloudDatabase.Crash())
            case .committed: .afterPublish(FaultyCloudDatabase.Crash())
            case .answered: .beforeRemove(FaultyCloudDatabase.Crash())
            case .removed: .afterRemove(FaultyCloudDatabase.Crash())
            }
        }

        /// Which of the three syncs of a round it ends.
        var turn: Int {
            switch self {
            case .numbered, .fileWritten: 0
            case .applied, .committed: 1
            case .answered, .removed: 2
            }
        }
    }

    @Test(arguments: Stop.allCases)
    func aRunThatEndsAnywhereIsGoneOnWith(_ stop: Stop) async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'; DELETE FROM notifications WHERE id = 'n2';")
        for turn in 0..<3 {
            let cloud = turn == stop.turn ? mail.faulty(stop.fault) : nil
            func run() async throws { _ = try await turn == 1 ? mail.syncWriter(cloud) : mail.syncReader(cloud) }
            if cloud != nil { await #expect(throws: SyncError.self) { try await run() } } else { try await run() }
            #expect(try mail.value(mail.scene.reader, "readAt", of: "n1") == "2026-01-01T00:00:00Z")
        }
        for _ in 0..<2 { try await mail.round() }
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "2026-01-01T00:00:00Z")
        #expect(try mail.value(mail.scene.writer, "title", of: "n2") == "")
        #expect(try mail.openCount() == 0)
        #expect(try await mail.waiting().isEmpty)
        #expect(try await mail.problems() == [])

        // Were the mark applied once more, it would undo this.
        try mail.scene.writer.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        for _ in 0..<2 {
            try await mail.syncWriter()
            try await mail.round()
        }
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "-")
        #expect(try mail.scene.differences(1) == "")
    }

    /// A run that finds its own published version again learns from it which edits are decided, as from every other version.
    @Test func aVersionThatIsFoundAgainSaysWhichEditsAreDecided() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        await #expect(throws: SyncError.self) { try await mail.syncWriter(mail.faulty(.afterPublish(FaultyCloudDatabase.Crash()))) }
        try await mail.syncWriter()
        let number = try await mail.decided()
        #expect(number > 0)
        let recorded = try LocalDatabase(path: mail.scene.scratch.path("writer.db")).read { try $0.decidedEdits.ofVersion() }
        #expect(recorded == ["phone": number])
    }

    @Test(arguments: [
        "INSERT INTO buckets VALUES('new', 'N', NULL, NULL, NULL, '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL)",
        "DELETE FROM notifications WHERE id = 'n1'", "UPDATE buckets SET name = 'C'",
    ]) func whatComesBackIsReadFromTheChangeAsset(edit: String) async throws {
        let mail = try await MailScene(hasChangeAssets: true)
        try mail.scene.reader.run(edit)
        try await mail.syncReader()
        try await mail.syncWriter()
        let report = try #require(try await mail.syncReader().imported)
        #expect(report.warnings == [] && report.datasets.map(\.changeFiles) == [1] && report.datasets.first?.blocks == nil)
        #expect(try await mail.problems() == [])
    }

    @Test func aFileThatComesBackIsNotAppliedAgain() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        let message = try #require(try await mail.waiting().first)
        try await mail.syncWriter()
        try await mail.syncReader()
        #expect(try await mail.waiting().isEmpty)
        try mail.scene.writer.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        // A sync tool brings the old file once more.
        try await mail.scene.cloud.send(message, clock: mail.scene.clock.now(), in: mail.scene.zone)
        try await mail.syncWriter()
        try await mail.syncReader()
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "-")
        #expect(try mail.value(mail.scene.reader, "readAt", of: "n1") == "-")
    }

    @Test func anEditAfterAMessageIsAnotherEditInTheNext() async throws {
        let mail = try await MailScene()
        let times = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]
        try mail.scene.reader.run("UPDATE notifications SET readAt = '\(times[0])' WHERE id = 'n1'")
        try await mail.syncReader()
        try mail.scene.reader.run("UPDATE notifications SET readAt = '\(times[1])' WHERE id = 'n1'")
        try await mail.syncReader()
        #expect(try await mail.waiting().count == 1)
        #expect(try await mail.waitingEdits().count == 2)
        try await mail.syncWriter()
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == times[1])
        // Marked as not read again between being told and being answered.
        try mail.scene.reader.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        for _ in 0..<2 { try await mail.round() }
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "-")
        #expect(try mail.scene.differences(1) == "")
        #expect(try await mail.problems() == [])
    }

    @Test func answersThatWerePrunedAreMadeUpFor() async throws {
        let mail = try await MailScene()
        let cloud = try #require(mail.scene.cloud as? MemoryCloudDatabase)
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id IN ('n1', 'n2')")
        try await mail.syncReader()
        #expect(try await mail.waitingEdits().count == 2)
        try await mail.syncWriter()
        // One of the marks is undone by the writer; both answers are in commits that are gone when the reader comes back.
        try mail.scene.writer.run("UPDATE notifications SET readAt = NULL WHERE id = 'n2'")
        for number in 0..<40 {
            try mail.scene.writer.run("UPDATE notifications SET title = 'version \(number)' WHERE id = 'n3'")
            try await mail.syncWriter()
        }
        for number in 1...30 { cloud.damageCommit(number, in: mail.scene.zone) { $0 = nil } }
        for _ in 0..<2 { try await mail.round() }
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "2026-01-01T00:00:00Z")
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n2") == "-")
        #expect(try await mail.waiting().isEmpty)
        #expect(try mail.scene.differences(1) == "")
        #expect(try mail.openCount() == 0)
    }

    @Test func whatOnePeerHasAnsweredNoOtherAppliesAgain() async throws {
        let mail = try await MailScene()
        let scene = mail.scene
        let shared = MemoryCloudDatabase(now: scene.clock.now)
        _ = try await shared.createZone(scene.zone, creator: "a", publishers: .many)
        for (name, role) in [("a", SyncRole.peer), ("b", .peer), ("c", .reader)] {
            try SQLiteShell("\(name).db", in: scene.scratch.path).run(MailScene.tables)
            try await scene.setUp("\(name).db", role, device: name)
        }
        func engine(_ name: String) throws -> SyncEngine { try scene.engine("\(name).db", cloud: shared) }
        func readAt(_ name: String) throws -> String { try mail.value(SQLiteShell("\(name).db", in: scene.scratch.path), "readAt", of: "n") }
        let a = SQLiteShell("a.db", in: scene.scratch.path), b = SQLiteShell("b.db", in: scene.scratch.path), c = SQLiteShell("c.db", in: scene.scratch.path)
        try a.run(
            """
            INSERT INTO buckets VALUES('b', 'B', NULL, NULL, NULL, '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL);
            INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('n', 'first', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'b');
            """)
        _ = try await engine("a").export()
        for name in ["b", "c"] { _ = try await engine(name).importNewest() }
        try c.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n'")
        _ = try await engine("c").sync()
        _ = try await engine("a").export()
        _ = try await engine("b").importNewest()
        #expect(try readAt("b") == "2026-01-01T00:00:00Z")
        try b.run("UPDATE notifications SET readAt = NULL WHERE id = 'n'")
        #expect(try await engine("b").export().version == 3)
        #expect(try readAt("b") == "-")
        _ = try await engine("c").sync()
        #expect(try readAt("c") == "-")
        #expect(try await shared.mailbox(in: scene.zone).messages.isEmpty)
    }

    @Test func aDecisionAloneIsACommit() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncReader()
        let late = try await mail.takeLastMessage()
        mail.scene.clock.move(bySeconds: 10)
        try mail.scene.writer.run("UPDATE notifications SET readAt = '2026-01-02T00:00:00Z' WHERE id = 'n1'")
        try await mail.syncWriter()
        try await mail.deliver(late)
        let report = try #require(try await mail.syncWriter().exported)
        #expect(report.published && report.version == 3 && report.written.isEmpty && report.messagesRefused == 1)
        let commit = try #require(try await mail.scene.cloud.history(in: mail.scene.zone).last)
        #expect(commit.saved.isEmpty && commit.answered.count == 1)
        try await mail.syncReader()
        #expect(try await mail.waiting().isEmpty)
        #expect(try await !mail.syncWriter().exported!.published)
    }
}
