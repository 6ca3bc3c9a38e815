import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import Synchronization
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// A database that is a copy of another one, or a backup that was put back, notices and loses nothing.
@Suite struct CopiedDatabaseTests {
    private func facts(applied: Int? = 3, intended: Int? = nil, nonces: ReportNonces? = ReportNonces(seen: "a", next: "b"), known: Int = 0)
        -> DeviceIdentity.Facts
    {
        DeviceIdentity.Facts(
            name: "me", applied: applied.map { AppliedVersion(number: $0, hash: "") },
            intended: intended.map { IntendedVersion(version: AppliedVersion(number: $0, hash: "h"), sequences: [:]) },
            nonces: nonces, known: known)
    }

    private func report(_ nonce: String?, at number: Int? = 3) -> DeviceReport {
        DeviceReport(device: "me", role: "peer", token: number.map { ChangeToken(number: $0, hash: "") }, clock: .now, nonce: nonce)
    }

    private func commit(_ number: Int, by device: String = "me") -> Commit {
        Commit(
            token: ChangeToken(number: number, hash: "h"), parent: nil, timestamp: .now, clock: .now, device: device, saved: [], deleted: ["things_data"],
            approvals: [])
    }

    @Test func nonceAndCommitsTellWhoseNameItIs() {
        #expect(facts().reason(nil, []) == nil)
        #expect(facts().reason(report("a"), []) == nil && facts().reason(report("b"), []) == nil)
        #expect(facts().reason(report("c"), [])?.contains("another database") == true)
        // Before its first report a database has no claim to a name that somebody reports under.
        #expect(facts(applied: nil, nonces: nil).reason(report("c"), []) != nil)
        #expect(facts().reason(nil, [commit(4, by: "other")]) == nil)
        #expect(facts().reason(nil, [commit(4)])?.contains("version 4") == true)
        #expect(facts(intended: 4).reason(nil, [commit(4)]) == nil)
        #expect(facts(known: 4).reason(nil, [commit(4)]) == nil && facts(known: 4).reason(nil, [commit(4), commit(5)]) != nil)
        #expect(facts(applied: nil).reason(nil, [commit(4)]) == nil)
        // Reports of an earlier snapsync have no nonce, but a version.
        #expect(facts().reason(report(nil, at: 3), []) == nil && facts().reason(report(nil, at: 4), []) != nil)
    }

    /// Copies a database with what SQLite keeps beside it.
    private func copy(_ scene: DeviceScene, _ name: String, to other: String) throws {
        try scene.run(name, "PRAGMA wal_checkpoint(TRUNCATE)")
        try scene.scratch.copy(scene.scratch.path(name), to: other)
    }

    private func device(_ scene: DeviceScene, _ name: String) throws -> String {
        try scene.run(name, "SELECT value FROM snapsync_settings WHERE key = 'device'").trimmingCharacters(in: .newlines)
    }

    @Test func aClonedReaderTakesAnotherNameAndKeepsItsChanges() async throws {
        let scene = try await DeviceScene()
        try await scene.publish("one", .peer, DeviceScene.filled(5))
        try await scene.join("two", .reader)
        try copy(scene, "two", to: "clone")
        try scene.run("clone", "UPDATE notifications SET title = 'mine' WHERE id = 'n1'")
        for round in 0..<2 {
            try scene.run("one", "UPDATE notifications SET title = 'round \(round)' WHERE id = 'n2'")
            try await scene.export("one")
            #expect(try await scene.importNewest("two").warnings.isEmpty)
            let report = try await scene.importNewest("clone")
            #expect(report.warnings.contains { $0.contains("another database has synced as two") } == (round == 0))
        }
        #expect(try device(scene, "two") == "two")
        let name = try device(scene, "clone")
        #expect(name.wholeMatch(of: /two-[0-9a-f]{4}/) != nil, "\(name)")
        #expect(try scene.run("clone", "SELECT title FROM notifications WHERE id IN ('n1', 'n2') ORDER BY id") == "mine\nround 1\n")
        #expect(try await scene.cloud.deviceReports(in: scene.zone).map(\.device).sorted() == ["one", "two", name].sorted())
        #expect(try await scene.verify("clone").isEmpty)
    }

    /// A cloud that lets another program change rows when the first asset is opened.
    private final class Meanwhile: CloudLayer {
        private let change: Mutex<(@Sendable () throws -> Void)?>

        init(_ change: @escaping @Sendable () throws -> Void) { self.change = Mutex(change) }

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { if case .openAsset = call { try change.withLock { $0.take() }?() } }
    }

    @Test func aCloneWhoseRowsChangeMeanwhileGoesOnUnderItsNewName() async throws {
        let scene = try await DeviceScene()
        try await scene.publish("one", .peer, DeviceScene.filled(5))
        try await scene.join("two", .reader)
        try copy(scene, "two", to: "clone")
        try scene.run("one", "UPDATE notifications SET title = 'newer' WHERE id = 'n2'")
        try await scene.export("one")
        try await scene.importNewest("two")
        let cloud = scene.cloud.adding(Meanwhile { try scene.run("clone", "UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = 'n1'") })
        let report = try await SyncEngine(database: scene.scratch.path("clone"), options: EngineOptions(now: scene.clock.now) { _ in cloud }).importNewest()
        let name = try device(scene, "clone")
        #expect(name.wholeMatch(of: /two-[0-9a-f]{4}/) != nil, "\(name)")
        // The attempt that took the name was ended by the change; what it had to say is not lost.
        #expect(report.warnings.count { $0.contains("it is the device \(name) from now on") } == 1, "\(report.warnings)")
        #expect(try scene.run("clone", "SELECT title, readAt IS NULL FROM notifications WHERE id IN ('n1', 'n2') ORDER BY id") == "N|0\nnewer|1\n")
        #expect(try await scene.cloud.deviceReports(in: scene.zone).map(\.device).sorted() == ["one", "two", name].sorted())
        #expect(try await scene.verify("clone").isEmpty)
    }

    @Test func aReportThatCouldNotBeWrittenIsNoSignOfACopy() async throws {
        let scene = try await DeviceScene()
        try await scene.publish("one", .peer, DeviceScene.filled(5))
        let silent = scene.cloud.adding(Silence())
        for round in 0..<3 {
            try scene.run("one", "UPDATE notifications SET title = 'round \(round)'")
            _ = try await SyncEngine(database: scene.scratch.path("one"), options: EngineOptions(now: scene.clock.now) { _ in silent }).export()
        }
        try scene.run("one", "UPDATE notifications SET title = 'at last'")
        #expect(try await scene.export("one").warnings.isEmpty)
        #expect(try device(scene, "one") == "one")
    }

    /// A cloud whose reports get lost.
    private struct Silence: CloudLayer {
        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { if case .report = call { throw CloudError(.inputOutput, at: "devices", "no") } }
    }
}
