import CloudStore
import DirectoryCloud
import Foundation
import TestSupport
import Testing

/// The publish queue of a directory: files whose names alone count.
@Suite struct PublishQueueTests {
    private func start() async throws -> DirectoryUnderTest {
        let test = try DirectoryUnderTest(inMemory: true)
        try await test.zone()
        return test
    }

    /// Dates the tickets an hour ahead: a slow machine may take longer than the minute for which they count.
    private func keepYoung(_ test: DirectoryUnderTest) throws {
        let folder = test.scratch.path("\(DirectoryUnderTest.zonePath)/waiting")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 3600)], ofItemAtPath: "\(folder)/\(name)")
        }
    }

    @Test func ticketsComeInTheOrderOfTheirNumbers() async throws {
        let test = try await start()
        #expect(try await test.cloud.publishQueue(in: .standard).isEmpty)
        let tickets = [7, 3, 7, 12].map { PublishTicket(number: $0, nonces: .system) }
        for ticket in tickets + tickets { try await test.cloud.enqueue(ticket, in: .standard) }
        try keepYoung(test)
        #expect(try await test.cloud.publishQueue(in: .standard) == tickets.sorted())
        #expect(tickets.sorted().map(\.number) == [3, 7, 7, 12])
        for ticket in tickets + tickets { try await test.cloud.dequeue(ticket, in: .standard) }
        #expect(try await test.cloud.publishQueue(in: .standard).isEmpty)
    }

    @Test func whatIsNoTicketIsIgnoredAndTold() async throws {
        let test = try await start()
        let ticket = PublishTicket(number: 5, nonces: .system)
        try await test.cloud.enqueue(ticket, in: .standard)
        let folder = "\(DirectoryUnderTest.zonePath)/waiting"
        let odd = [
            "\(twentyDigits(5))-0a1b2c3d.sync-conflict-20260301-080000-ABCDEFG.json", "\(twentyDigits(5))-0A1B2C3D.json", "\(twentyDigits(5)).json",
            "\(twentyDigits(0))-0a1b2c3d.json", "notes.txt",
        ]
        for name in odd { try test.scratch.write([1], to: "\(folder)/\(name)") }
        try keepYoung(test)
        #expect(try await test.cloud.publishQueue(in: .standard) == [ticket])
        #expect(Set(try await test.directory.foreignFiles(in: .standard).map(\.path)) == Set(odd.map { "\(folder)/\($0)" }))
    }

    /// A ticket that a killed run has left is a leftover like a temporary, and goes with them.
    @Test func leftTicketIsListedAndCanBeRemoved() async throws {
        let test = try await start()
        let token = try await test.save(0, after: nil)
        try await test.cloud.enqueue(PublishTicket(number: 1, nonces: .system), in: .standard)
        let files = try await test.cloud.storedFiles(in: .standard).filter { $0.path.hasPrefix("waiting/") }
        #expect(files.map(\.kind) == [.temporary])
        try await test.cloud.remove(files, by: "writer", in: .standard)
        #expect(try await test.cloud.publishQueue(in: .standard).isEmpty)
        #expect(try await test.cloud.records(in: .standard).token == token)
    }
}
