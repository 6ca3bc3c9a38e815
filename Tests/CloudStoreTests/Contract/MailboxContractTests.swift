import CloudStore
import Foundation
import StrictText
import Testing

/// A message that is not what its place says is set aside with a reason, on every backend, and the others are read.
@Suite(.serialized) struct MailboxContractTests {
    private func id(_ number: Int) -> String { String(repeating: "0", count: 31) + String(number, radix: 16) }

    private func cloud(_ backend: Backend) async throws -> any CloudUnderTest {
        let test = try backend.make()
        try await test.zone()
        for number in 0..<3 {
            try await test.cloud.send(CloudMessage(id: id(number), sender: "reader", body: Data(#"{"n":\#(number)}"#.utf8)), clock: .now, in: .standard)
        }
        return test
    }

    private func expectSetAside(_ test: any CloudUnderTest, _ reason: String?, readable: [Int] = [0, 2], sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let mailbox = try await test.cloud.mailbox(MailboxRequest(), in: .standard)
        #expect(mailbox.messages.map(\.id) == readable.map(id), sourceLocation: sourceLocation)
        #expect(
            mailbox.setAside.count == 1 && mailbox.setAside.allSatisfy { reason == nil || $0.reason.contains(reason ?? "") }, "\(mailbox.setAside)",
            sourceLocation: sourceLocation)
    }

    @Test(arguments: Backend.thorough)
    func anyByteThatIsAnotherSetsAMessageAside(_ backend: Backend) async throws {
        let test = try await cloud(backend)
        var size = 0
        try test.damageMessage("\(id(1)).json", of: "reader") { size = $0?.count ?? 0 }
        #expect(size > 200)
        for place in stride(from: 0, to: size, by: backend.stride) {
            try test.damageMessage("\(id(1)).json", of: "reader") { $0?[place] ^= 1 }
            try await expectSetAside(test, nil)
            try test.damageMessage("\(id(1)).json", of: "reader") { $0?[place] ^= 1 }
        }
        #expect(try await test.cloud.mailbox(MailboxRequest(), in: .standard).messages.count == 3)
        for length in stride(from: 0, to: size, by: backend.stride) {
            var whole: [UInt8]?
            try test.damageMessage("\(id(1)).json", of: "reader") {
                whole = $0
                $0 = $0.map { Array($0.prefix(length)) }
            }
            try await expectSetAside(test, "cut short or not a message")
            try test.damageMessage("\(id(1)).json", of: "reader") { $0 = whole }
        }
    }

    @Test(arguments: Backend.allCases)
    func aMessageUnderAnothersNameIsSetAside(_ backend: Backend) async throws {
        let test = try await cloud(backend)
        var bytes: [UInt8]?
        try test.damageMessage("\(id(1)).json", of: "reader") { bytes = $0 }
        try test.damageMessage("\(id(7)).json", of: "reader") { $0 = bytes }
        try await expectSetAside(test, "another id than its name", readable: [0, 1, 2])
        try test.damageMessage("\(id(7)).json", of: "reader") { $0 = nil }
        try test.damageMessage("note.txt", of: "reader") { $0 = bytes }
        try await expectSetAside(test, "its name is not 32 hexadecimal digits and .json", readable: [0, 1, 2])
        try test.damageMessage("note.txt", of: "reader") { $0 = nil }
        try test.damageMessage(".\(id(1)).json.tmp", of: "reader") { $0 = bytes }
        let mailbox = try await test.cloud.mailbox(MailboxRequest(), in: .standard)
        #expect(mailbox.messages.count == 3 && mailbox.setAside.isEmpty)
    }

    @Test(arguments: Backend.allCases)
    func aFloodOfWhatIsNoMessageIsToldInPart(_ backend: Backend) async throws {
        let test = try await cloud(backend)
        for number in 0..<120 { try test.damageMessage("junk \(number)", of: "reader") { $0 = [1] } }
        let mailbox = try await test.cloud.mailbox(MailboxRequest(), in: .standard)
        #expect(mailbox.messages.count == 3 && mailbox.setAside.count == CloudMailbox.setAsideLimit)
    }

    @Test func newIDsComeInTheOrderOfTheirInstants() throws {
        let instants = [0, 1, 15, 16, 255, 1_795_000_000_000_000, 4_102_444_800_000_000].map { Instant(microseconds: $0) }
        let ids = instants.map { CloudMessage.newID(at: $0) }
        #expect(ids == ids.sorted() && Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy { $0.isHexDigit && !$0.isUppercase } })
        #expect(CloudMessage.newID(at: instants[5]) != ids[5])
        #expect(CloudMessage.newID(at: .init(microseconds: -1)).hasPrefix("0000000000000000"))
    }
}
