import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import CloudKitFacade
@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// `entitled && preference`, decided anew each time, from the database.
@Suite struct SyncGateTests {
    @Test func databaseOfAnEarlierBuildCountsAsOn() async throws {
        let scene = try await GateScene()
        #expect(try scene.sync.writer.run("SELECT count(*) FROM snapsync_settings WHERE key LIKE 'preference%'") == "0\n")
        #expect(try await scene.closed() == nil)
    }

    @Test func libraryLeavesSyncOffUnlessAsked() async throws {
        let scratch = try ScratchDirectory()
        func setUp(_ name: String, enables: Bool? = nil) async throws -> SyncEngine {
            var request = SetupRequest(
                database: scratch.path(name), cloud: scratch.path(enables == true ? "another" : "cloud"), role: .writer, device: "desk", createsTables: true)
            if let enables { request.enables = enables }
            #expect(try await SyncEngine.setUp(request).isEnabled == (enables ?? false))
            return try SyncEngine(database: scratch.path(name))
        }
        let quiet = try await setUp("quiet.db")
        #expect(try await quiet.gate.decision().reason?.code == .preferenceUndecided)
        await #expect { try await quiet.sync() } throws: { ($0 as? SyncError)?.code == .refused }
        #expect(try await SnapshotInspector(cloud: scratch.path("cloud")).history().versions.isEmpty)
        let asked = try await setUp("asked.db", enables: true)
        #expect(try await asked.gate.decision() == .open)
        #expect(try await asked.sync().exported?.published == true)
    }

    @Test func anotherProgramsChoiceCountsWithoutReopening() async throws {
        let scene = try await GateScene()
        let engine = try scene.sync.engine("writer.db")
        _ = try await engine.export()
        try scene.sync.writer.run("INSERT OR REPLACE INTO snapsync_settings VALUES('preference', 'off'); INSERT INTO things(id) VALUES('a')")
        await #expect { try await engine.export() } throws: { ($0 as? SyncError)?.reason == "sync is turned off" }
        try scene.sync.writer.run("UPDATE snapsync_settings SET value = 'on' WHERE key = 'preference'")
        #expect(try await engine.export().version == 2)
        try scene.sync.writer.run("UPDATE snapsync_settings SET value = 'perhaps' WHERE key = 'preference'")
        await #expect { try await engine.export() } throws: { ($0 as? SyncError)?.code == .dataRefused }
    }

    @Test func closedGateAsksTheCloudNothing() async throws {
        let scene = try await GateScene()
        let scratch = scene.sync.scratch
        try scene.gate().setPreference(false)
        struct Touched: Error {}
        let engine = try SyncEngine(database: scratch.path("writer.db"), options: EngineOptions { _ in throw Touched() })
        for act in [
            { _ = try await engine.export() }, { _ = try await engine.importNewest() }, { _ = try await engine.sync() },
            { _ = try await engine.inspector() }, { _ = try await engine.importAnew() },
        ] as [@Sendable () async throws -> Void] {
            await #expect { try await act() } throws: { ($0 as? SyncError)?.reason == "sync is turned off" }
        }
        let status = try await engine.status()
        #expect(status.gate.code == "preferenceOff" && status.cloudProblem == nil && status.behind == nil)
        try scene.gate().setPreference(true)
        await #expect { try await engine.export() } throws: { ($0 as? SyncError)?.reason.contains("Touched") == true }
    }

    /// Turns sync off between the assets and the commit.
    private struct ChangeOfMind: CloudLayer {
        let gate: SyncGate

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { if case .prepare = call { try gate.setPreference(false) } }
    }

    @Test func turningOffWhileARunWorksIsHeardBeforeAnythingIsAnnounced() async throws {
        let scene = try await GateScene()
        try scene.sync.writer.run("INSERT INTO things(id, count) VALUES('a', 1)")
        let cloud = scene.sync.cloud.adding(ChangeOfMind(gate: try scene.gate()))
        await #expect { try await scene.sync.export(to: cloud) } throws: { ($0 as? SyncError)?.reason == "sync is turned off" }
        #expect(try await scene.sync.cloud.history(in: scene.sync.zone).isEmpty)
        // On again: what was prepared is not mistaken for a version, and everything is published.
        try scene.gate().setPreference(true)
        #expect(try await scene.sync.export().version == 1)
        try await scene.sync.importNewest()
        #expect(try scene.sync.differences() == "")
    }

    @Test func answerIsKeptAndHoldsUntilItsEnd() async throws {
        let scene = try await GateScene()
        #expect(try await scene.closed(entitlement: true) == .entitlementUnknown)
        scene.shop.answer(Entitlement(isEntitled: false))
        #expect(try await scene.closed(entitlement: true) == .notEntitled)
        scene.shop.answer(Entitlement(isEntitled: true, validUntil: scene.sync.clock.now().advanced(byMicroseconds: 3_600_000_000)))
        #expect(try await scene.closed(entitlement: true) == nil)
        // Out of reach: the last answer holds …
        scene.shop.answer(nil)
        #expect(try await scene.closed(entitlement: true) == nil)
        #expect(try await scene.gate(entitlement: true).report().entitlementProblem?.contains("Closed") == true)
        // … until its end, …
        scene.sync.clock.move(bySeconds: 3700)
        #expect(try await scene.closed(entitlement: true) == .entitlementExpired)
        // … and a new one opens again.
        scene.shop.answer(Entitlement(isEntitled: true))
        #expect(try await scene.closed(entitlement: true) == nil)
    }

    @Test func oneWhoSaysYesElsewhereIsAskedAboutAtOnce() async throws {
        let scene = try await GateScene()
        try scene.gate(entitlement: true, preference: true).setPreference(false)
        scene.shop.answer(Entitlement(isEntitled: true))
        #expect(try await scene.closed(entitlement: true, preference: true) == .preferenceOff && scene.shop.questions == 0)
        scene.settings.set(true)
        #expect(try await scene.closed(entitlement: true, preference: true) == nil && scene.shop.questions == 1)
    }

    @Test func clockPutBackMakesNoOldAnswerGood() async throws {
        let scene = try await GateScene()
        scene.shop.answer(Entitlement(isEntitled: true, validUntil: scene.sync.clock.now().advanced(byMicroseconds: 3_600_000_000)))
        #expect(try await scene.closed(entitlement: true) == nil)
        scene.shop.answer(nil)
        scene.sync.clock.move(bySeconds: -40 * 86_400)
        #expect(try await scene.closed(entitlement: true) == .entitlementUnknown)
        scene.shop.answer(Entitlement(isEntitled: true))
        #expect(try await scene.closed(entitlement: true) == nil)
    }

    @Test func providerIsAskedAsOftenAsItSays() async throws {
        let scene = try await GateScene()
        scene.shop.answer(Entitlement(isEntitled: true))
        for _ in 0..<3 { #expect(try await scene.closed(entitlement: true) == nil) }
        #expect(scene.shop.questions == 3)
        scene.shop.wait.withLock { $0 = .seconds(3600) }
        for _ in 0..<3 { #expect(try await scene.closed(entitlement: true) == nil) }
        #expect(scene.shop.questions == 3)
        scene.sync.clock.move(bySeconds: 4000)
        #expect(try await scene.closed(entitlement: true) == nil)
        #expect(scene.shop.questions == 4)
        // Who does not want it is not asked about.
        try scene.gate().setPreference(false)
        scene.sync.clock.move(bySeconds: 4000)
        #expect(try await scene.closed(entitlement: true) == .preferenceOff)
        #expect(scene.shop.questions == 4)
    }

    @Test func expiredEntitlementLosesNothing() async throws {
        let scene = try await GateScene()
        let sync = scene.sync
        func engine() throws -> SyncEngine {
            let cloud = sync.cloud
            return try SyncEngine(
                database: sync.scratch.path("writer.db"), options: EngineOptions(gate: GateOptions(entitlement: scene.shop), now: sync.clock.now) { _ in cloud }
            )
        }
        scene.shop.answer(Entitlement(isEntitled: true, validUntil: sync.clock.now().advanced(byMicroseconds: 3_600_000_000)))
        try sync.writer.run("INSERT INTO things(id, count) VALUES('a', 1)")
        #expect(try await engine().export().version == 1)
        sync.clock.move(bySeconds: 7200)
        try sync.writer.run("UPDATE things SET count = 2; INSERT INTO things(id) VALUES('b')")
        await #expect { try await engine().export() } throws: { ($0 as? SyncError)?.reason.contains("the entitlement ended at") == true }
        #expect(try await engine().status().datasets.first?.changes == 2)
        scene.shop.answer(Entitlement(isEntitled: true))
        #expect(try await engine().export().version == 2)
        try await sync.importNewest()
        #expect(try sync.differences() == "")
    }

    @Test func aRunThatAsksWritesNothingWhereTheAnswerIsTheSame() async throws {
        let scene = try await GateScene()
        scene.shop.answer(Entitlement(isEntitled: true))
        #expect(try await scene.closed(entitlement: true) == nil)
        let before = try scene.sync.writer.dump()
        for _ in 0..<5 { #expect(try await scene.closed(entitlement: true) == nil) }
        #expect(try scene.sync.writer.dump() == before)
    }
}
