import CloudStore
import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// The power goes between the database's note of a commit and the commit, or between the commit and the note that it is there.
///
/// Both are durable when they are reported: the intent before the commit's file gets its name, and the name before the second note.
@Suite struct IntentCutTests {
    /// Copies the writer's database as it lies on the disk, at each step of a publish.
    private struct CopyingLayer: CloudLayer {
        struct Cut: Error {}

        let scratch: ScratchDirectory
        /// Whether the run ends behind the commit, else in front of it.
        let publishes: Bool

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            switch call {
            case .prepare: try copy("unintended")
            case .publish:
                try copy("intended")
                if !publishes { throw Cut() }
            default: break
            }
        }

        func didCall(_ call: CloudCall, in zone: ZoneID?) async throws { if case .publish = call { throw Cut() } }

        private func copy(_ name: String) throws {
            for ending in ["", "-wal"] where scratch.exists("writer.db\(ending)") { try scratch.copy(scratch.path("writer.db\(ending)"), to: name + ending) }
        }
    }

    private func scene(wal: Bool) async throws -> SyncScene {
        let scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], writerWAL: wal)
        try scene.writer.run(DatasetSchema.manyRows(10))
        try await scene.export()
        try await scene.importNewest()
        try scene.writer.run("UPDATE things SET count = 77; DELETE FROM things WHERE id = (SELECT min(id) FROM things)")
        return scene
    }

    /// Ends an export in front of its commit, or behind it.
    private func cut(_ scene: SyncScene, publishes: Bool) async {
        await #expect(throws: (any Error).self) { try await scene.export(to: scene.cloud.adding(CopyingLayer(scratch: scene.scratch, publishes: publishes))) }
    }

    /// Puts the writer's database back to a copy, as a restart after a cut finds it.
    private func restart(_ scene: SyncScene, from name: String) throws {
        for ending in ["", "-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: scene.scratch.path("writer.db\(ending)"))
            if scene.scratch.exists(name + ending) { try scene.scratch.copy(scene.scratch.path(name + ending), to: "writer.db\(ending)") }
        }
    }

    @Test(arguments: [true, false]) func anIntentWithoutItsCommitIsNoVersion(wal: Bool) async throws {
        let scene = try await scene(wal: wal)
        await cut(scene, publishes: false)
        try restart(scene, from: "intended")
        #expect(try await scene.importNewest().version == 1)
        let report = try await scene.export()
        #expect(report.published && report.version == 2 && report.warnings.isEmpty)
        try await expectTogether(scene, version: 2)
    }

    @Test(arguments: [true, false]) func aCommitWhoseNoteIsLostIsFoundAgain(wal: Bool) async throws {
        let scene = try await scene(wal: wal)
        await cut(scene, publishes: true)
        try restart(scene, from: "intended")
        let report = try await scene.export()
        #expect(!report.published && report.version == 2)
        #expect(report.warnings == ["found version 2, which an earlier run had published without noting it"])
        try await expectTogether(scene, version: 2)
        // What is changed from here on goes out as ever.
        try scene.writer.run("UPDATE things SET count = 78")
        #expect(try await scene.export().version == 3)
        try await expectTogether(scene, version: 3)
    }

    /// The order that cannot be, but on a disk that forgets what it said was durable: nothing is published over, and nothing is lost.
    @Test func aCommitWhoseIntentIsLostIsTakenForAnotherDatabases() async throws {
        let scene = try await scene(wal: true)
        await cut(scene, publishes: true)
        let rows = try scene.writer.run("SELECT * FROM things ORDER BY id")
        try restart(scene, from: "unintended")
        let error = await #expect(throws: SyncError.self) { try await scene.export() }
        #expect(error?.code == .refused && error?.hint?.contains("device claim") == true, "\(error?.description ?? "none")")
        #expect(try scene.writer.run("SELECT * FROM things ORDER BY id") == rows)
        #expect(try await scene.cloud.history(in: scene.zone).count == 2)
        #expect(try await scene.importNewest().version == 2)
        #expect(try scene.differences() == "")
    }

    private func expectTogether(_ scene: SyncScene, version: Int, at location: SourceLocation = #_sourceLocation) async throws {
        try await scene.importNewest()
        #expect(try scene.differences() == "", sourceLocation: location)
        #expect(try await scene.cloud.records(in: scene.zone).token?.number == version, sourceLocation: location)
        for name in ["writer.db", "reader.db"] {
            #expect(try await scene.engine(name).inspector().verify(local: true).problems == [], sourceLocation: location)
        }
    }
}
