import CloudStore

@testable import SnapshotEngine
import StrictText
import TestSupport
import Testing

/// Messages about changes that a reader's clock noted while it ran ahead.
@Suite struct FutureMessageTests {
    private static let day: Int64 = 86_400

    /// A reader's change, told while reader and cloud are ahead by so much.
    private func toldAhead(bySeconds seconds: Int64, hasChangeAssets: Bool = false, _ change: String = "UPDATE buckets SET name = 'ahead'") async throws
        -> MailScene
    {
        let mail = try await MailScene(hasChangeAssets: hasChangeAssets)
        try mail.scene.reader.run("\(change); UPDATE snapsync_log SET clock = clock + \(seconds * 1000) WHERE dataset > 0")
        mail.scene.clock.move(bySeconds: seconds)
        try await mail.syncReader()
        #expect(try await mail.waiting().count == 1)
        mail.scene.clock.move(bySeconds: -seconds)
        return mail
    }

    private func name(_ database: SQLiteShell) throws -> String { try database.run("SELECT name FROM buckets") }

    /// No two clocks that may send and publish differ by more than two days.
    @Test func itIsTakenOnceUpToTwoDaysAheadAndElseRefused() async throws {
        for days in [1, 3] as [Int64] {
            let mail = try await toldAhead(bySeconds: days * Self.day)
            for _ in 0..<2 {
                try await mail.syncWriter()
                try await mail.syncReader()
            }
            for database in [mail.scene.writer, mail.scene.reader] {
                #expect(try name(database) == (days == 1 ? "ahead\n" : "B\n"))
                let lost = "SELECT count(*) FROM snapsync_conflicts WHERE reason = 'refused' AND loser LIKE '%ahead%'"
                if days > 2 { #expect(try database.run(lost) == "1\n") }
            }
            #expect(try await mail.waiting().isEmpty)
            #expect(try mail.openCount() == 0)
            #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
            #expect(try await mail.problems() == [])
        }
    }

    /// Also if the publisher ends before the version that has it.
    @Test(arguments: [false, true]) func oneThatThePublisherTakesKeepsItsInstant(hasChangeAssets: Bool) async throws {
        let mail = try await toldAhead(bySeconds: Self.day / 2, hasChangeAssets: hasChangeAssets)
        let at = try mail.scene.reader.run("SELECT at FROM snapsync_changes")
        await #expect(throws: SyncError.self) { try await mail.syncWriter(mail.faulty(.beforePublish(FaultyCloudDatabase.Crash()))) }
        try await mail.syncWriter()
        try await mail.syncReader()
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try database.run("SELECT at FROM snapsync_instants") == at) }
        try mail.scene.writer.run("UPDATE buckets SET name = 'later'")
        try await mail.syncWriter()
        try await mail.syncReader()
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try name(database) == "later\n") }
        #expect(try await mail.problems() == [])
    }

    @Test func anEditOnTopOfATakenMessageIsLaterThanIt() async throws {
        let mail = try await toldAhead(bySeconds: Self.day / 2)
        try mail.scene.reader.run("UPDATE buckets SET name = 'again'")
        try await mail.syncReader()
        #expect(try await mail.waitingEdits().count == 2)
        try await mail.syncWriter()
        try await mail.syncReader()
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try name(database) == "again\n") }
        #expect(try await mail.waiting().isEmpty)
        #expect(try mail.openCount() == 0)
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
    }

    @Test func anInsertionThatIsDeletedBeforeItIsDecidedIsDeleted() async throws {
        let mail = try await toldAhead(
            bySeconds: Self.day / 2, "INSERT INTO buckets VALUES('c', 'C', NULL, NULL, NULL, '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL)")
        try mail.scene.reader.run("DELETE FROM buckets WHERE id = 'c'")
        try await mail.syncWriter()
        for _ in 0..<2 {
            try await mail.syncReader()
            try await mail.syncWriter()
        }
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try name(database) == "B\n") }
        #expect(try await mail.problems() == [])
    }

    @Test(arguments: [false, true]) func aDeletionThatWasAppliedIsNotToldAgain(hasChangeAssets: Bool) async throws {
        let mail = try await toldAhead(bySeconds: Self.day / 2, hasChangeAssets: hasChangeAssets, "DELETE FROM notifications WHERE id = 'n1'")
        try await mail.syncWriter()
        for _ in 0..<2 {
            try await mail.syncReader()
            #expect(try mail.openCount() == 0)
            #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
            #expect(try await mail.waiting().isEmpty)
            try await mail.syncWriter()
        }
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try database.run("SELECT group_concat(id) FROM notifications") == "n2,n3\n") }
        #expect(try await mail.problems() == [])
    }

    /// The first edit's message lies in the mailbox when the clock goes back, and the second edit has not been told yet.
    @Test(arguments: [false, true]) func anEditThatIsCorrectedStaysLaterThanWhatWasSentBeforeIt(isSentSeparately: Bool) async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run("UPDATE buckets SET name = 'first'")
        try await mail.syncReader()
        if isSentSeparately { try await mail.syncWriter() }
        try mail.scene.reader.run("UPDATE buckets SET name = 'second'")
        mail.scene.clock.move(bySeconds: -3600)
        try await mail.syncReader()
        mail.scene.clock.move(bySeconds: 3600)
        try await mail.syncWriter()
        try await mail.syncReader()
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try name(database) == "second\n") }
        #expect(try await mail.waiting().isEmpty)
        #expect(try await mail.problems() == [])
    }
}
