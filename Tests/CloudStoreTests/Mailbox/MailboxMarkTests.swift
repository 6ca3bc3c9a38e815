@testable import CloudStore
@testable import DirectoryCloud
import Foundation
import StrictText
import TestSupport
import Testing

/// A mark of the mailbox's folders tells, without a listing, that nothing has come or gone.
@Suite struct MailboxMarkTests {
    private let scratch: ScratchDirectory
    private let cloud: DirectoryCloud
    private let zone = ZoneID.standard

    init() async throws {
        scratch = try ScratchDirectory()
        cloud = try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.marks")
        _ = try await cloud.createZone(zone, creator: "desk", publishers: .one)
        try await send("phone", 1)
        try await send("watch", 2)
    }

    private func id(_ number: Int) -> String { String(repeating: "0", count: 31) + String(number, radix: 16) }

    private func send(_ sender: String, _ number: Int) async throws {
        try await cloud.send(CloudMessage(id: id(number), sender: sender, body: Data("{}".utf8)), clock: .now, in: zone)
    }

    private func mark() async throws -> MailboxMark { try #require(try await cloud.mailbox(in: zone).mark) }

    @Test func whatComesOrGoesInAnyFolderIsSeen() async throws {
        var mark = try await mark()
        #expect(try await cloud.isMailboxUnchanged(since: mark, in: zone))
        #expect(try await self.mark() == mark)
        for act in ["a new message", "a message that goes", "a new sender", "a folder that goes"] {
            // A clock may stand still for some milliseconds; who rests on a mark has waited for longer than that.
            try await Task.sleep(for: .milliseconds(20))
            switch act {
            case "a new message": try await send("watch", 3)
            case "a message that goes": try await cloud.removeMessage(CloudMessageName(sender: "phone", id: id(1)), in: zone)
            case "a new sender": try await send("tablet", 4)
            default: try scratch.remove("\(zone)/messages/tablet")
            }
            #expect(try await !cloud.isMailboxUnchanged(since: mark, in: zone), "\(act)")
            mark = try await self.mark()
            #expect(try await cloud.isMailboxUnchanged(since: mark, in: zone), "\(act)")
        }
    }

    @Test func mailboxThatWasNotReadWholeHasNoMark() async throws {
        #expect(try await cloud.mailbox(of: "phone", in: zone).mark == nil)
        // What is set aside may be mended where it lies, which changes no folder.
        try scratch.write(Array("cut short".utf8), to: "\(zone)/messages/phone/\(id(5)).json")
        #expect(try await cloud.mailbox(in: zone).mark == nil)
        for number in 0...CloudMailbox.readLimit {
            try scratch.write(Array("cut short".utf8), to: "\(zone)/messages/many/\(String(repeating: "0", count: 28))\(String(4096 + number, radix: 16)).json")
        }
        let many = try await cloud.mailbox(of: "many", in: zone)
        #expect(many.unreadCount == 1 && many.setAside.count == CloudMailbox.setAsideLimit && many.mark == nil)
    }

    @Test func markSurvivesBeingWrittenDown() async throws {
        let mark = try await mark()
        #expect(try JSONDecoder().decode(MailboxMark.self, from: JSONEncoder().encode(mark)) == mark)
        #expect(mark.folders.keys.sorted() == ["", "phone", "watch"])
        // A mark that somebody made up leads nowhere.
        #expect(try await !cloud.isMailboxUnchanged(since: MailboxMark(folders: [:]), in: zone))
        #expect(try await !cloud.isMailboxUnchanged(since: MailboxMark(folders: ["../../..": FolderStamp("1")]), in: zone))
    }

    @Test func backendWithoutMarksIsAlwaysListed() async throws {
        let memory = MemoryCloudDatabase()
        _ = try await memory.createZone(zone, creator: "desk", publishers: .one)
        #expect(try await memory.mailbox(in: zone).mark == nil)
        #expect(try await !memory.isMailboxUnchanged(since: mark(), in: zone))
    }
}
