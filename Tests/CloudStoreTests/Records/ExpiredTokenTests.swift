import CloudStore
import RecordZones
import Foundation
import StrictText
import Testing

/// Handles and tokens whose commits were pruned.
struct ExpiredTokenTests {
    private func pruned(_ backend: Backend) async throws -> (test: any CloudUnderTest, early: CloudZone, token: ChangeToken?) {
        let test = try backend.make()
        try await test.zone(publishers: .many)
        let early = CloudZone(.standard, of: test.cloud, as: "early"), writer = CloudZone(.standard, of: test.cloud, as: "writer")
        try await writer.save(CloudRecord(type: "Item", name: "old", fields: [:]))
        let token = try await early.changes(since: nil).token
        try await writer.delete("old")
        for number in 0..<30 { try await writer.save(CloudRecord(type: "Item", name: "r\(number)", fields: [:])) }
        for number in 1...14 { try test.damageCommit(number) { $0 = nil } }
        return (test, early, token)
    }

    @Test(arguments: [Backend.memory, .directory])
    func anExpiredTokenGivesOneFullRefetch(_ backend: Backend) async throws {
        let (test, early, token) = try await pruned(backend)
        await expectCloudError(.changeTokenExpired) { try await test.cloud.changes(since: token, in: .standard) }
        let changes = try await early.changes(since: token)
        #expect(changes.isWhole)
        #expect(changes.changed.count == 30 && changes.deleted.isEmpty)
        let next = try await early.changes(since: changes.token)
        #expect(!next.isWhole && next.changed.isEmpty && next.token == changes.token)
    }

    @Test(arguments: [Backend.memory, .directory])
    func aHandleThatWasAwayFetchesAndSaves(_ backend: Backend) async throws {
        let (test, early, _) = try await pruned(backend)
        var record = try await early.record("r7")
        #expect(record.creation?.device == "writer")
        record.fields["x"] = .integer(1)
        let saved = try await early.save(record)
        #expect(saved.changeTag == "33")
        #expect(try await test.cloud.records(in: .standard).record("r7") == saved)
    }
}
