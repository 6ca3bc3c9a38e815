import CloudStore
import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// What a database's own rows become where it has no version in common with the cloud yet.
@Suite struct FirstImportTests {
    private func settings(_ merge: MergePolicy) throws -> DatasetSchema {
        try DatasetSchema(
            name: "settings", table: "settings", keys: ["id"], timestamp: "updatedAt",
            columns: [
                DatasetColumn("id", .text), DatasetColumn("color", .text, isOptional: true), DatasetColumn("size", .integer, isOptional: true),
                DatasetColumn("updatedAt", .text),
            ]
        ) { $0.merge = merge }
    }

    private let table = "CREATE TABLE settings(id TEXT PRIMARY KEY, color TEXT, size INTEGER, updatedAt TEXT NOT NULL);"

    /// A writer has published `cloud`; another device joins with `own` rows.
    private func joined(_ merge: MergePolicy, cloud: String, own: String, role: SyncRole = .reader, adopts: Bool = false, after: String = "") async throws
        -> DeviceScene
    {
        let scene = try await DeviceScene([settings(merge)])
        try await scene.publish("one", .writer, table + cloud)
        try await scene.add("two", role, table + own, adopts: adopts)
        try scene.run("two", after)
        return scene
    }

    private func rows(_ scene: DeviceScene, _ name: String = "two") throws -> String { try scene.run(name, "SELECT id, color, size FROM settings ORDER BY id") }

    /// The rows in the copies that were kept beside the database.
    private func kept(_ scene: DeviceScene) throws -> String {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("two.snapsync-kept")) else { return "" }
        return try names.sorted().map { String(decoding: try Gzip.decompress(scene.scratch.path("two.snapsync-kept/\($0)")), as: UTF8.self) }.joined()
    }

    @Test(arguments: [SyncRole.writer, .peer]) func cloudBeatsAPublishersRowsFromBeforeItsFirstImportAndTheOthersAreAdded(role: SyncRole) async throws {
        let scene = try await joined(
            .replace, cloud: "INSERT INTO settings VALUES('a', 'cloud', 1, '2020-01-01T00:00:00Z'), ('same', 's', 1, '2020-01-01T00:00:00Z')",
            own:
                "INSERT INTO settings VALUES('a', 'own', 2, '2025-01-01T00:00:00Z'), ('same', 's', 1, '2020-01-01T00:00:00Z'), ('mine', 'own', 3, '2025-01-01T00:00:00Z')",
            role: role)
        let error = try await #require(throws: SyncError.self) { try await scene.export("two") }
        #expect(error.code == .refused && error.reason.contains("not imported"))
        let report = try await scene.importNewest("two")
        #expect(try rows(scene) == "a|cloud|1\nmine|own|3\nsame|s|1\n")
        #expect(report.warnings.contains { $0.hasPrefix("settings: 1 own row gave way to the location's and is kept in ") })
        // Exactly the loser is in the copy, which any JSON program reads.
        #expect(try kept(scene).contains(#"{"id":"a","color":"own","size":2,"updatedAt":"2025-01-01T00:00:00Z"}"#))
        #expect(try !kept(scene).contains("mine") && !kept(scene).contains("same"))
        #expect(try await scene.verify("two").isEmpty)
        guard role.publishes else { return }
        #expect(try await scene.export("two").version == 2)
        try await scene.importNewest("one")
        #expect(try rows(scene, "one") == rows(scene))
    }

    @Test func defaultSettingsThatAnAppMakesTooEarlyOverwriteNothing() async throws {
        // The app makes its defaults after init and before the first import has ended; nobody had to say --keep-local.
        let scene = try await joined(
            .replace, cloud: "INSERT INTO settings VALUES('a', 'cloud', 1, '2020-01-01T00:00:00Z')", own: "", role: .reader,
            after: "INSERT INTO settings VALUES('a', 'default', NULL, strftime('%Y-%m-%dT%H:%M:%fZ')), ('b', 'default', NULL, strftime('%Y-%m-%dT%H:%M:%fZ'))")
        try await scene.importNewest("two")
        #expect(try rows(scene) == "a|cloud|1\nb|default|\n")
        #expect(try kept(scene).contains("\"color\":\"default\""))
        #expect(try await scene.verify("two").isEmpty)
    }

    @Test func aTombstoneOfTheCloudBeatsRowsFromBefore() async throws {
        let scene = try await joined(
            .replace, cloud: "INSERT INTO settings VALUES('a', 'cloud', 1, '2020-01-01T00:00:00Z'), ('gone', 'cloud', 1, '2020-01-01T00:00:00Z')",
            own: "INSERT INTO settings VALUES('gone', 'own', 2, '2025-01-01T00:00:00Z')", role: .peer)
        try scene.run("one", "DELETE FROM settings WHERE id = 'gone'")
        try await scene.export("one")
        try await scene.importNewest("two")
        #expect(try rows(scene) == "a|cloud|1\n")
        #expect(try kept(scene).contains("gone"))
    }

    @Test func mergeIsTheUnionAndTheLaterOfEqualKeys() async throws {
        let scene = try await joined(
            .merge,
            cloud:
                "INSERT INTO settings VALUES('a', 'cloud', 1, '2020-01-01T00:00:00Z'), ('b', 'cloud', 1, '2024-01-01T00:00:00+00:00'), ('c', 'cloud', 1, '2020-01-01T00:00:00Z')",
            own:
                "INSERT INTO settings VALUES('a', 'own', 2, '2020-01-01T00:00:00.5Z'), ('b', 'own', 2, '2023-01-01T00:00:00Z'), ('d', 'own', 2, '2020-01-01T00:00:00Z')"
        )
        try await scene.importNewest("two")
        #expect(try rows(scene) == "a|own|2\nb|cloud|1\nc|cloud|1\nd|own|2\n")
        #expect(try kept(scene).contains(#""id":"b""#))
        #expect(try !kept(scene).contains(#""id":"a""#))
        #expect(try await scene.verify("two").isEmpty)
        // After that the ordinary rules hold.
        try scene.run("one", "UPDATE settings SET color = 'now' WHERE id = 'a'")
        try await scene.export("one")
        try await scene.importNewest("two")
        #expect(try rows(scene).hasPrefix("a|now|1\n"))
    }

    @Test func singleLeavesTheLaterAndOfEquallyLateOnesTheFuller() async throws {
        let cloud = "INSERT INTO settings VALUES('here', 'cloud', NULL, '2024-01-01T00:00:00Z')"
        for (own, left) in [
            ("('here', 'own', 2, '2025-01-01T00:00:00Z')", "here|own|2\n"), ("('there', 'own', 2, '2025-01-01T00:00:00Z')", "there|own|2\n"),
            ("('there', 'own', 2, '2023-01-01T00:00:00Z')", "here|cloud|\n"),
            ("('there', 'own', 2, '2024-01-01T00:00:00Z')", "there|own|2\n"), ("('there', NULL, NULL, '2024-01-01T00:00:00Z')", "here|cloud|\n"),
            ("('here', 'own', 2, '2024-01-01T00:00:00Z')", "here|cloud|\n"),
        ] {
            let scene = try await joined(.single, cloud: cloud, own: "INSERT INTO settings VALUES\(own)", role: .peer)
            try await scene.importNewest("two")
            #expect(try rows(scene) == left, "\(own)")
            #expect(try kept(scene).contains("\"settings\""))
            #expect(try await scene.verify("two").isEmpty, "\(own)")
            // The loser's tombstone travels: both sides have the one.
            try await scene.export("two")
            try await scene.importNewest("one")
            #expect(try rows(scene, "one") == left, "\(own)")
        }
    }

    @Test func aDatabaseThatDidNotMakeTheZoneDoesNotPublishItsFirstVersion() async throws {
        let scene = try await DeviceScene()
        try await scene.add("one", .writer, DeviceScene.filled(3), madeZone: false)
        let error = try await #require(throws: SyncError.self) { try await scene.export("one") }
        #expect(error.code == .refused && error.reason.contains("did not make it") && error.hint?.contains("device claim") == true)
        _ = try await scene.engine("one").devices.takeOver()
        #expect(try await scene.export("one").version == 1)
    }

    @Test func aFailedFirstImportLeavesRowsAndNoCopy() async throws {
        let scene = try await joined(
            .replace, cloud: "INSERT INTO settings VALUES('a', 'cloud', 1, '2020-01-01T00:00:00Z'), ('z', NULL, NULL, '2020-01-01T00:00:00Z')",
            own: "INSERT INTO settings VALUES('a', 'own', 2, '2025-01-01T00:00:00Z')", adopts: true)
        try scene.run("two", "CREATE UNIQUE INDEX no ON settings((id IS NOT NULL))")
        let shell = SQLiteShell("two", in: scene.scratch.path), before = try shell.dump()
        await #expect(throws: SyncError.self) { try await scene.importNewest("two") }
        #expect(try shell.dump() == before)
        #expect(!scene.scratch.exists("two.snapsync-kept"))
    }
}
