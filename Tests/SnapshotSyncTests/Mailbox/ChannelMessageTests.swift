import CloudStore
import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine

/// Messages over an application's own channel take effect once, together with the mailbox, and what is no message changes nothing.
@Suite struct ChannelMessageTests {
    private func reader(_ mail: MailScene) throws -> SyncEngine { try mail.scene.engine("reader.db") }
    private func writer(_ mail: MailScene) throws -> SyncEngine { try mail.scene.engine("writer.db") }

    private static let mark = "UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'"

    /// What comes over the channel: the bytes, as another process would send them.
    private func send(_ mail: MailScene) async throws -> [Data] { try await reader(mail).outgoingMessage().map { [try $0.encoded()] } ?? [] }

    private func receive(_ data: Data, _ mail: MailScene) async throws -> MessageOutcome { try await writer(mail).apply(try ChannelMessage(decoding: data)) }

    /// In which order the two ways deliver.
    enum Order: CaseIterable, Sendable { case channelFirst, mailboxFirst, channelAlone, channelTwice }

    @Test(arguments: Order.allCases) func messageTakesEffectOnceByBothWays(_ order: Order) async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run(Self.mark)
        let data = try #require(try await send(mail).first)
        if order != .channelAlone { try await mail.syncReader() }
        if order == .mailboxFirst { try await mail.syncWriter() }
        #expect(try await receive(data, mail) == (order == .mailboxFirst ? .receivedBefore : .applied))
        if order == .channelTwice { #expect(try await receive(data, mail) == .receivedBefore) }
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "2026-01-01T00:00:00Z")
        for _ in 0..<2 { try await mail.round() }
        #expect(try await send(mail) == [])
        #expect(try await mail.waiting().isEmpty)
        #expect(try mail.openCount() == 0)
        #expect(try mail.scene.differences(1) == "")
        // Were the mark applied once more, it would undo this.
        try mail.scene.writer.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        #expect(try await receive(data, mail) == .receivedBefore)
        try await mail.round()
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "-")
        #expect(try await mail.problems() == [])
    }

    @Test func editAfterAMessageThatWentOutBuildsOnIt() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run(Self.mark)
        let first = try #require(try await send(mail).first)
        try mail.scene.reader.run("UPDATE notifications SET readAt = NULL WHERE id = 'n1'")
        let second = try #require(try await send(mail).last)
        #expect(first != second)
        #expect(try await receive(first, mail) == .applied)
        #expect(try await receive(second, mail) == .applied)
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "-")
        try await mail.round()
        #expect(try mail.value(mail.scene.reader, "readAt", of: "n1") == "-")
        #expect(try await mail.problems() == [])
    }

    @Test func marksGoOutWhileTheCloudIsAway() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run(Self.mark)
        func away(_ name: String) throws -> SyncEngine {
            try SyncEngine(
                database: mail.scene.scratch.path(name),
                options: EngineOptions(now: mail.scene.clock.now) { _ in
                    throw CloudError(.cloudUnavailable, at: "/none", "it is not there")
                })
        }
        let message = try #require(try await away("reader.db").outgoingMessage())
        #expect(try await away("writer.db").apply(message) == .applied)
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "2026-01-01T00:00:00Z")
        for _ in 0..<2 { try await mail.round() }
        #expect(try mail.scene.differences(1) == "")
    }

    @Test func bareMessageIsApplied() async throws {
        let mail = try await MailScene()
        let bare = SyncUpdateMessage(type: .notificationDeleted, entityId: "n2", timestamp: mail.scene.clock.now().description)
        #expect(try await writer(mail).apply(bare) == .applied)
        #expect(try await writer(mail).apply(bare) == .refused("the row is not there any more"))
        #expect(try mail.value(mail.scene.writer, "title", of: "n2") == "")
        try await mail.round()
        #expect(try mail.value(mail.scene.reader, "title", of: "n2") == "")
        let referred = SyncUpdateMessage(type: .bucketDeleted, entityId: "b", timestamp: mail.scene.clock.now().description)
        guard case .refused = try await writer(mail).apply(referred) else {
            Issue.record("a bucket with notifications was deleted")
            return
        }
    }

    @Test func whatIsNoMessageChangesNothing() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run(Self.mark)
        let data = try #require(try await send(mail).first)
        let text = String(decoding: data, as: UTF8.self)
        let before = try mail.scene.writer.dump()
        let id = try ChannelMessage(decoding: data).message.id
        let hostile = [
            "", "{}", "[]", "null", String(text.dropLast(5)), text + "x", text.replacing("\"format\":1", with: "\"format\":2"),
            text.replacing("\"cloud\":\"", with: "\"cloud\":\"0"), text.replacing("private/", with: "public/"),
            text.replacing("\"device\":\"phone\"", with: "\"device\":\"../x\""), text.replacing(id, with: "xyz"),
            text.replacing(id, with: String(id.dropLast())), text.replacing("\"at\":\"2", with: "\"at\":\"x"),
            text.replacing("\"id\":\"n1\"", with: "\"id\":\"\""),
            text.replacing("\"id\":\"n1\"", with: "\"id\":\"\(String(repeating: "n", count: 70_000))\""),
            text.replacing("\"dataset\":\"notifications\"", with: "\"dataset\":\"buckets\""), text.replacing("\"number\":", with: "\"number\":-"),
            text.replacing("\"name\":\"readAt\"", with: "\"name\":\"readAt\u{301}\""), text.replacing("\"format\":1", with: "\"format\":1,\"format\":1"),
        ]
        for one in hostile {
            #expect(one != text)
            await #expect(throws: SyncError.self, "\(one.prefix(200))") { try await receive(Data(one.utf8), mail) }
        }
        #expect(try mail.scene.writer.dump() == before)
        #expect(try await receive(data, mail) == .applied)
    }

    @Test func readerRefusesMessagesAndPublisherHasNone() async throws {
        let mail = try await MailScene()
        try mail.scene.reader.run(Self.mark)
        let message = try #require(try await reader(mail).outgoingMessage())
        await #expect { try await reader(mail).apply(message) } throws: { ($0 as? SyncError)?.code == .refused }
        #expect(try await writer(mail).outgoingMessage() == nil)
    }
}
