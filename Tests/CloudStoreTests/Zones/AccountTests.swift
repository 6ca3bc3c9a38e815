import CloudContract
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

    /// Every kind of call passes the layers.
    @Test func noCallGoesPastALayer() async throws {
        let account = CloudAccount(), cloud = try await cloud(account)
        let token = try #require(try await cloud.records(in: .standard).token)
        account.set(.noAccount)
        await expectCloudError(.notAuthenticated) { try await cloud.commits(upTo: token, count: 1, in: .standard) }
        await expectCloudError(.notAuthenticated) { try await cloud.deviceReport(of: "writer", in: .standard) }
        await expectCloudError(.notAuthenticated) { try await cloud.storedFiles(in: .standard) }
        let shared = ZoneID("Shared", scope: .public)
        #expect(try await cloud.deviceReport(of: "writer", in: shared) == nil)
        await expectCloudError(.notAuthenticated) { try await cloud.forgetDevice("writer", in: shared) }
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
