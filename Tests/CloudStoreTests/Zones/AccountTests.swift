import CloudStore
import RecordZones
import StrictText
import Testing

struct AccountTests {
    private func cloud(_ account: CloudAccount) async throws -> CloudDatabase {
        let memory = MemoryCloudDatabase()
        for zone in [ZoneID.standard, ZoneID("Shared", scope: .public)] {
            _ = try await memory.createZone(zone, creator: "writer", publishers: .one)
            try await CloudZone(zone, of: memory, as: "writer").save(CloudRecord(type: "Item", name: "item", fields: [:]))
        }
        return memory.requiring(account)
    }

    @Test(arguments: [
        (AccountStatus.noAccount, CloudError.Code.notAuthenticated), (.restricted, .managedAccountRestricted),
        (.temporarilyUnavailable, .accountTemporarilyUnavailable), (.couldNotDetermine, .accountTemporarilyUnavailable),
    ])
    func withoutAnAccountPrivateZonesAreClosed(_ status: AccountStatus, _ code: CloudError.Code) async throws {
        let account = CloudAccount(), cloud = try await cloud(account)
        let zone = CloudZone(.standard, of: cloud, as: "writer")
        var record = try await zone.record("item")
        account.set(status)
        #expect(await cloud.accountStatus() == status)
        #expect(await cloud.limited(to: .standard).accountStatus() == status)
        await expectCloudError(code) { try await zone.record("item") }
        record.fields["x"] = .integer(1)
        await expectCloudError(code) { try await zone.save(record) }
        await expectCloudError(code) { try await cloud.deleteZone(.standard, by: "writer") }
        let shared = CloudZone(ZoneID("Shared", scope: .public), of: cloud, as: "writer")
        #expect(try await shared.record("item").name == "item")
        await expectCloudError(code) { try await shared.save(CloudRecord(type: "Item", name: "new", fields: [:])) }
        #expect(try await cloud.zones().map(\.id.scope) == [.public])
        account.set(.available)
        // Nothing was lost while the account was away.
        #expect(try await zone.save(record).fields["x"] == .integer(1))
    }

    /// Every kind of call passes the account.
    @Test func noCallGoesPastTheAccount() async throws {
        let account = CloudAccount(), cloud = try await cloud(account)
        let token = try #require(try await cloud.records(in: .standard).token)
        let ticket = PublishTicket(number: 3, nonces: .system)
        account.set(.noAccount)
        await expectCloudError(.notAuthenticated) { try await cloud.commits(upTo: token, count: 1, in: .standard) }
        await expectCloudError(.notAuthenticated) { try await cloud.deviceReport(of: "writer", in: .standard) }
        await expectCloudError(.notAuthenticated) { try await cloud.publishQueue(in: .standard) }
        await expectCloudError(.notAuthenticated) { try await cloud.enqueue(ticket, in: .standard) }
        await expectCloudError(.notAuthenticated) { try await cloud.storedFiles(in: .standard) }
        let shared = ZoneID("Shared", scope: .public)
        #expect(try await cloud.publishQueue(in: shared).isEmpty)
        await expectCloudError(.notAuthenticated) { try await cloud.enqueue(ticket, in: shared) }
    }

    @Test func changesOfTheStateAreToldOnce() async throws {
        let account = CloudAccount()
        var changes = account.changes.makeAsyncIterator()
        account.set(.available)
        account.set(.noAccount)
        #expect(await changes.next() == .noAccount)
        account.set(.restricted)
        account.set(.available)
        #expect(await changes.next() == .available)
    }

    @Test func theStateIsFoundByAskingTheCloud() async throws {
        let test = try DirectoryUnderTest()
        let account = CloudAccount(.couldNotDetermine)
        #expect(await account.refresh(from: test.directory) == .available)
        let marker = try test.scratch.bytes("cloud.json")
        try test.scratch.remove("cloud.json")
        #expect(await account.refresh(from: test.directory) == .temporarilyUnavailable)
        let other = try DirectoryUnderTest()
        try test.scratch.write(try other.scratch.bytes("cloud.json"), to: "cloud.json")
        #expect(await account.refresh(from: test.directory) == .noAccount)
        try test.scratch.write(marker, to: "cloud.json")
        #expect(await account.refresh(from: test.directory) == .available)
        #expect(account.status == .available)
    }

    @Test func containerIdentifiersAreChecked() throws {
        for text in ["", "iCloud.", "iCloud.app", "org.example.app", "icloud.org.example", "iCloud.org..app", "iCloud.org.exa mple", "iCloud.org.é"] {
            #expect(throws: CloudError.self, "\(text)") { try ContainerIdentifier(text) }
        }
        #expect(try ContainerIdentifier("iCloud.org.example.app-2").description == "iCloud.org.example.app-2")
    }

    @Test func anotherAppsCloudIsToldApartFromAMissingOne() async throws {
        let test = try DirectoryUnderTest()
        try await ContainerIdentifier("iCloud.org.example.test").verify(test.directory)
        let other = try ContainerIdentifier("iCloud.org.example.other")
        await expectCloudError(.badContainer) { try await other.verify(test.directory) }
        try test.scratch.remove("cloud.json")
        await expectCloudError(.cloudUnavailable) { try await other.verify(test.directory) }
    }
}
