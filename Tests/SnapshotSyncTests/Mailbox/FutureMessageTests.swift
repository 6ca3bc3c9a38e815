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

    /// The publisher takes its own clock for an instant that is later.
    @Test(arguments: [false, true]) func howeverFarAheadItIsTakenOnce(isEditedAgain: Bool) async throws {
        let mail = try await toldAhead(bySeconds: 3 * Self.day)
        if isEditedAgain { try mail.scene.reader.run("UPDATE buckets SET name = 'again'") }
        for _ in 0..<2 {
            try await mail.syncWriter()
            try await mail.syncReader()
        }
        for database in [mail.scene.writer, mail.scene.reader] { #expect(try name(database) == (isEditedAgain ? "again\n" : "ahead\n")) }
        #expect(try await mail.waiting().isEmpty)
        #expect(try mail.openCount() == 0)
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try await mail.problems() == [])
    }

    @Test(arguments: [false, true]) func oneThatThePublisherTakesIsNotLaterThanItsClock(hasChangeAssets: Bool) async throws {
        let mail = try await toldAhead(bySeconds: Self.day / 2, hasChangeAssets: hasChangeAssets)
        try await mail.syncWriter()
        let now = mail.scene.clock.now().microseconds
        let at = try #require(Int64(mail.scene.writer.run("SELECT at FROM snapsync_instants").replacing("\n", with: "")))
        #expect(at < now)
        try await mail.syncReader()
        // The answer ends the reader's change, though its own instant was later.
        #expect(try mail.scene.reader.run("SELECT count(*) FROM snapsync_changes") == "0\n")
        #expect(try mail.scene.reader.run("SELECT at FROM snapsync_instants") == "\(at)\n")
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

    /// The version's tombstone is earlier than the reader's deletion, which is over with the answer all the same.
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
