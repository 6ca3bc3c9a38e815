import CloudStore
import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// What the gate rests on tells of its changes, and nobody polls.
@Suite(.timeLimit(.minutes(60))) struct GateChangesTests {
    private func database(
        _ scratch: ScratchDirectory, _ cloud: MemoryCloudDatabase, enables: Bool = true, role: SyncRole = .writer, _ name: String = "app.db"
    ) async throws -> String {
        let path = scratch.path(name)
        _ = try await SyncEngine.setUp(
            SetupRequest(database: path, cloud: "memory", role: role, device: role.rawValue, createsTables: true, enables: enables), in: cloud)
        return path
    }

    private func insertRow(_ path: String) throws {
        let row = "'b', 'B', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'"
        try SQLiteShell(path, in: "/").run("INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES(\(row))")
    }

    @Test func eachSourceIsHeardAtOnce() async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase()
        let suite = "snapsync-test-\(UUID().uuidString)", defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        let shop = PushedEntitlement(), account = CloudAccount(.noAccount)
        let options = GateOptions(entitlement: shop, preference: DefaultsPreference(key: "sync", suiteName: suite), account: account)
        let engine = try await SyncEngine(database: database(scratch, cloud, enables: false), cloud: cloud, options: EngineOptions(gate: options))
        var decisions = engine.gate.decisions().makeAsyncIterator()
        func next() async throws -> GateReason.Code? { try #require(try await decisions.next()).reason?.code }

        #expect(try await next() == .preferenceUndecided)
        try engine.gate.setPreference(true)
        #expect(try await next() == .noAccount)
        #expect(defaults.object(forKey: "sync") as? Bool == true)
        account.set(.temporarilyUnavailable)
        #expect(try await next() == .accountUnavailable)
        account.set(.restricted)
        #expect(try await next() == .accountRestricted)
        account.set(.available)
        #expect(try await next() == .entitlementUnknown)
        shop.set(Entitlement(isEntitled: false))
        #expect(try await next() == .notEntitled)
        shop.set(Entitlement(isEntitled: true))
        #expect(try await next() == nil)
        shop.set(Entitlement(isEntitled: true, validUntil: try Instant(parsing: "2020-01-01T00:00:00Z")))
        #expect(try await next() == .entitlementExpired)
        shop.set(Entitlement(isEntitled: true))
        #expect(try await next() == nil)
        #expect(try await engine.sync().exported != nil)
    }

    @Test func switchOfTheSettingsScreenIsHeardAtOnce() async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase()
        let suite = "snapsync-test-\(UUID().uuidString)", defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        let options = GateOptions(preference: DefaultsPreference(key: "sync", suiteName: suite))
        let engine = try await SyncEngine(database: database(scratch, cloud, enables: false), cloud: cloud, options: EngineOptions(gate: options))
        var decisions = engine.gate.decisions().makeAsyncIterator()
        // Foundation posts the change by itself on Apple's systems only.
        func flip(_ isOn: Bool) {
            defaults.set(isOn, forKey: "sync")
            NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults)
        }
        #expect(try await decisions.next()?.reason?.code == .preferenceUndecided)
        flip(true)
        #expect(try await decisions.next() == .open)
        flip(false)
        #expect(try await decisions.next()?.reason?.code == .preferenceOff)
    }

    @Test func withoutAnAccountNothingIsReadOrSentAndTheErrorSaysSo() async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase(), account = CloudAccount()
        let path = try await database(scratch, cloud)
        let engine = try SyncEngine(database: path, cloud: cloud, options: EngineOptions(gate: GateOptions(account: account)))
        try insertRow(path)
        account.set(.noAccount)
        let error = try #require(await #expect(throws: SyncError.self) { try await engine.sync() })
        #expect(error.code == .refused && error.identifier == "gate.noAccount" && error.reason == "nobody is signed in")
        #expect(PresentableError(error).title == "Not signed in")
        let report = try await engine.status().gate
        #expect(report.code == "noAccount" && !report.isOpen && report.isEnabled)
        account.set(.available)
        #expect(try await engine.sync().exported?.version == 1)
    }

    /// A watch whose next poll is a day away goes on as soon as somebody signs in.
    @Test func watchGoesOnWhenTheAccountIsBack() async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase(), account = CloudAccount(.noAccount)
        let desk = try await database(scratch, cloud)
        try insertRow(desk)
        _ = try await SyncEngine(database: desk, cloud: cloud).sync()
        let phone = try await database(scratch, cloud, role: .reader, "phone.db")
        let engine = try SyncEngine(database: phone, cloud: cloud, options: EngineOptions(gate: GateOptions(account: account)))
        let watcher = SyncWatcher(engine: engine, options: WatchOptions(poll: .seconds(86_400)))
        let (failures, failed) = AsyncStream.makeStream(of: SyncError.self)
        let watch = Task {
            try await watcher.run { if case .failing(let error) = $0 { failed.yield(error) } }
        }
        var iterator = failures.makeAsyncIterator()
        #expect(await iterator.next()?.identifier == "gate.noAccount")
        #expect(try SQLiteShell(phone, in: "/").run("SELECT count(*) FROM buckets") == "0\n")
        account.set(.available)
        try await Eventually.holds("the row has come") { try SQLiteShell(phone, in: "/").run("SELECT count(*) FROM buckets") == "1\n" }
        watch.cancel()
        try await watch.value
    }
}
