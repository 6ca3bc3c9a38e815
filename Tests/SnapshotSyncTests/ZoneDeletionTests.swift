import CloudStore
import SnapshotModel
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// A zone that was deleted: what each device does about its own data is its policy, and the default is to keep it.
@Suite struct ZoneDeletionTests {
    private static let rows =
        "INSERT INTO things(id, changed, count) VALUES('a', '2026-01-01T00:00:00Z', 1), ('b', '2026-01-01T00:00:00Z', 2), ('c', '2026-01-01T00:00:00Z', 3)"

    /// Both devices at one version; then a change at the reader that the zone does not know.
    private func scene() async throws -> SyncScene {
        let scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()])
        try scene.writer.run(Self.rows)
        try await scene.export()
        try await scene.importNewest()
        try scene.reader.run(
            "UPDATE things SET count = 20 WHERE id = 'b'; INSERT INTO things(id, changed) VALUES('mine', '2026-02-01T00:00:00Z'); DELETE FROM things WHERE id = 'c'"
        )
        return scene
    }

    private func ids(_ scene: SyncScene) throws -> String { try scene.reader.run("SELECT group_concat(id) FROM (SELECT id FROM things ORDER BY id)") }

    private func refusal(_ body: () async throws -> Void) async throws -> SyncError {
        do {
            try await body()
        } catch let error as SyncError {
            return error
        }
        throw CloudError(.unknownItem, at: "test", "nothing was refused")
    }

    @Test(arguments: ZoneDeletion.Reason.allCases)
    func byDefaultEverythingStaysAndTheReasonIsSaid(reason: ZoneDeletion.Reason) async throws {
        let scene = try await scene()
        try await scene.cloud.deleteZone(scene.zone, reason: reason, by: "desk", now: scene.clock.now)
        let (writer, reader) = (try scene.writer.dump(), try scene.reader.dump())
        let words: [ZoneDeletion.Reason: String] = [
            .deleted: "the zone was deleted, on desk", .purged: "by the user", .encryptedDataReset: "encrypted data was reset",
        ]
        for name in ["writer.db", "reader.db"] {
            let error = try await refusal { _ = try await scene.engine(name).sync() }
            #expect(
                error.code == .refused && error.reason.contains(words[reason] ?? "?") && error.reason.hasSuffix("everything here stays as it is"), "\(error)")
            #expect(error.hint?.contains("another zone") == true)
        }
        #expect(try scene.writer.dump() == writer && scene.reader.dump() == reader)
        #expect(try ids(scene) == "a,b,mine\n")
    }

    @Test(arguments: [ZoneDeletion.Reason.deleted, .purged])
    func erasingTakesWhatCameFromTheZoneAndSparesWhatWasChangedHere(reason: ZoneDeletion.Reason) async throws {
        let scene = try await scene()
        try scene.engine("reader.db").setZoneDeletionPolicy(.erase)
        try await scene.cloud.deleteZone(scene.zone, reason: reason, by: "desk", now: scene.clock.now)
        let error = try await refusal { _ = try await scene.engine("reader.db").sync() }
        #expect(error.reason.contains("has erased what it had from there (1 entity) and kept what was changed here"), "\(error)")
        #expect(try ids(scene) == "b,mine\n")
        #expect(try scene.reader.run("SELECT count FROM things WHERE id = 'b'") == "20\n")
        // The same again changes nothing more, and the writer, which did not say so, has everything.
        _ = try await refusal { _ = try await scene.engine("reader.db").sync() }
        #expect(try ids(scene) == "b,mine\n")
        #expect(try scene.writer.run("SELECT count(*) FROM things") == "3\n")
    }

    @Test func whatIsToBeUploadedAgainIsNeverErased() async throws {
        let scene = try await scene()
        try scene.engine("reader.db").setZoneDeletionPolicy(.erase)
        try await scene.cloud.deleteZone(scene.zone, reason: .encryptedDataReset, by: "desk", now: scene.clock.now)
        let error = try await refusal { _ = try await scene.engine("reader.db").sync() }
        #expect(error.reason.hasSuffix("stays as it is, to be uploaded again"))
        #expect(try ids(scene) == "a,b,mine\n")
    }

    /// Rows that were never compared with any version are nobody's to erase.
    @Test func rowsFromBeforeTheFirstImportAreNeverErased() async throws {
        let scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()])
        try scene.writer.run(Self.rows)
        try await scene.export()
        try scene.reader.run("INSERT INTO things(id) VALUES('own')")
        try scene.engine("reader.db").setZoneDeletionPolicy(.erase)
        try await scene.cloud.deleteZone(scene.zone, reason: .deleted, by: "desk", now: scene.clock.now)
        let error = try await refusal { _ = try await scene.engine("reader.db").sync() }
        #expect(error.reason.hasSuffix("nothing of it came from there"))
        #expect(try ids(scene) == "own\n")
    }

    @Test func whereAChangeMayHaveGoneUnnoticedEverythingStays() async throws {
        let scene = try await scene()
        try scene.engine("reader.db").setZoneDeletionPolicy(.erase)
        // An application's migration: the triggers go with the table, and a row is added that nobody noted.
        try scene.reader.run(
            "CREATE TABLE t2 AS SELECT * FROM things; DROP TABLE things; \(DatasetSchema.everyKindTable()); INSERT INTO things SELECT * FROM t2; INSERT INTO things(id) VALUES('unnoted')"
        )
        try await scene.cloud.deleteZone(scene.zone, reason: .deleted, by: "desk", now: scene.clock.now)
        let error = try await refusal { _ = try await scene.engine("reader.db").sync() }
        #expect(error.reason.contains("all of things stays"), "\(error)")
        #expect(try ids(scene) == "a,b,mine,unnoted\n")
    }

    @Test func zoneThatIsMadeAnewIsImportedAfterErasing() async throws {
        let scene = try await scene()
        try scene.engine("reader.db").setZoneDeletionPolicy(.erase)
        try await scene.cloud.deleteZone(scene.zone, reason: .deleted, by: "desk", now: scene.clock.now)
        _ = try await refusal { _ = try await scene.engine("reader.db").sync() }
        try await scene.cloud.recreateZone(scene.zone, by: "desk", now: scene.clock.now)
        try scene.writer.run("UPDATE things SET count = 100 WHERE id = 'a'")
        // The writer learns of it as any device does, and then publishes all of its own.
        _ = try await scene.engine("writer.db").importNewest()
        _ = try await scene.engine("writer.db").export(isFull: true)
        try await scene.importNewest()
        #expect(try scene.reader.run("SELECT id, count FROM things ORDER BY id").contains("a|100\n"))
        #expect(try ids(scene).contains("mine"))
    }

    @Test func policyIsKeptInTheDatabaseAndKeepWhereNothingIsSaid() async throws {
        let scene = try await scene()
        #expect(try scene.engine("reader.db").zoneDeletionPolicy() == .keep)
        try scene.engine("reader.db").setZoneDeletionPolicy(.erase)
        #expect(try scene.engine("reader.db").zoneDeletionPolicy() == .erase)
        try scene.reader.run("UPDATE snapsync_settings SET value = 'burn' WHERE key = 'zoneDeletion'")
        #expect { try scene.engine("reader.db").zoneDeletionPolicy() } throws: { ($0 as? SyncError)?.code == .dataRefused }
    }
}
