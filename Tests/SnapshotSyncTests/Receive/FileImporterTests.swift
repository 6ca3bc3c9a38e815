import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

@Suite struct FileImporterTests {
    private let table = "CREATE TABLE plain(id TEXT PRIMARY KEY, name TEXT)"

    private func scene(_ more: String = "") async throws -> SyncScene {
        let schema = try DatasetSchema(
            name: "plain", table: "plain", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .text), DatasetColumn("name", .text, isOptional: true)])
        let things = try DatasetSchema.everyKind()
        return try await SyncScene("\(table); \(DatasetSchema.everyKindTable())\(more)", datasets: [schema, things])
    }

    private func container(_ rows: String, at time: String = "2026-01-02T03:04:05Z") -> String { "{\"syncTimestamp\": \"\(time)\", \"plain\": [\(rows)]}" }

    private func importing(_ text: String, into name: String = "writer.db", _ scene: SyncScene, acceptsOlder: Bool = false) async throws -> ImportReport {
        try scene.scratch.write(text, to: "container.json")
        return try await scene.engine(name).importFile(scene.scratch.path("container.json"), acceptsOlder: acceptsOlder)
    }

    private func refused(_ text: String, _ scene: SyncScene) async throws -> SyncError {
        let before = try scene.writer.dump()
        let error = try await #require(throws: SyncError.self) { _ = try await importing(text, scene) }
        #expect(try scene.writer.dump() == before)
        return error
    }

    @Test func aContainerReplacesItsDatasetButNotAtAReader() async throws {
        let scene = try await scene()
        try scene.writer.run("INSERT INTO plain VALUES('old', 'row')")
        let text = container(#"{"name": "B", "id": "b"}, {"id": "a"}"#)
        let report = try await importing(text, scene)
        #expect(report.applied)
        #expect(report.datasets.map(\.recordCount) == [2])
        #expect(report.warnings == [])
        #expect(try scene.writer.run("SELECT id, quote(name) FROM plain ORDER BY id") == "a|NULL\nb|'B'\n")
        let before = try scene.reader.dump()
        let error = try await #require(throws: SyncError.self) { _ = try await importing(text, into: "reader.db", scene) }
        #expect(error.code == .refused && error.hint?.contains("--add") == true)
        #expect(try scene.reader.dump() == before)
    }

    @Test func whatAWriterTakesFromAFileIsPublished() async throws {
        let scene = try await scene()
        try await scene.export()
        #expect(try await importing(container(#"{"id": "a"}"#, at: "2031-01-01T00:00:00Z"), scene).applied)
        #expect(try await scene.export().written.map(\.name) == ["plain"])
        try scene.reader.run("DELETE FROM plain")
        try await scene.importNewest()
        #expect(try scene.reader.run("SELECT id FROM plain") == "a\n")
    }

    @Test func anOlderContainerIsTakenOnlyWhereThatIsAskedFor() async throws {
        let scene = try await scene()
        _ = try await importing(container(#"{"id": "new"}"#), scene)
        let older = container(#"{"id": "older"}"#, at: "2026-01-02T03:04:04.999999Z")
        let error = try await refused(older, scene)
        #expect(error.code == .dataRefused)
        #expect(try #require(error.hint).contains("--accept-older"))
        _ = try await importing(older, scene, acceptsOlder: true)
        #expect(try scene.writer.run("SELECT id FROM plain") == "older\n")
        // The same time, written otherwise, is not older.
        _ = try await importing(container(#"{"id": "same"}"#, at: "2026-01-02T04:04:04.999999+01:00"), scene)
    }

    @Test func anEmptyContainerEmptiesTheDataset() async throws {
        let scene = try await scene()
        try scene.writer.run("INSERT INTO plain VALUES('old', 'row')")
        #expect(try await importing(container(""), scene).datasets.map(\.recordCount) == [0])
        #expect(try scene.writer.run("SELECT count(*) FROM plain") == "0\n")
    }

    @Test func unknownFieldsAreSaidAndKeepAWriterFromPublishing() async throws {
        let scene = try await scene()
        let report = try await importing(container(#"{"id": "a", "colour": "red", "name": "A"}"#), scene)
        #expect(report.warnings.count == 1)
        #expect(report.warnings[0].contains("colour"))
        #expect(try await #require(throws: SyncError.self) { try await scene.export() }.code == .refused)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"syncTimestamp": "2026-01-02T03:04:05Z"}"#, #"{"plain": [{"id": "a"}]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "other": []}"#, #"{"syncTimestamp": "2026-02-30T00:00:00Z", "plain": []}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}]} x"#, #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"},]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}, {"name": "secret"}]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}, {"id": "b", "name": 5}]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}, {"id": "b", "id": "c"}]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}, {"id": "a", "name": "secret"}]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}, {"id": null}]}"#,
        #"{"syncTimestamp": "2026-01-02T03:04:05Z", "plain": [{"id": "a"}], "plain": []}"#,
    ])
    func aFileThatIsNotOneGoodContainerChangesNothing(text: String) async throws {
        let error = try await refused(text, scene())
        #expect(error.code == .dataRefused)
        #expect(!error.description.contains("secret"))
    }

    @Test func aFileThatIsNotThereOrIsAFolderIsSaidToBe() async throws {
        let scene = try await scene()
        let engine = try scene.engine("writer.db")
        #expect(try await #require(throws: SyncError.self) { _ = try await engine.importFile(scene.scratch.path("none")) }.code == .nothingThere)
        let error = try await #require(throws: SyncError.self) { _ = try await engine.importFile(scene.scratch.path) }
        #expect([.nothingThere, .inputOutput].contains(error.code))
    }

    @Test func columnsThatNobodyDescribesStay() async throws {
        let scene = try await scene()
        try scene.writer.run("ALTER TABLE plain ADD COLUMN mine DEFAULT 'own'")
        _ = try await importing(container(#"{"id": "a"}"#), scene)
        #expect(try scene.writer.run("SELECT id, mine FROM plain") == "a|own\n")
    }

    @Test func anAssetOfOursAndADatabaseThatWasNotSetUp() async throws {
        let scene = try await scene()
        try scene.writer.run("INSERT INTO plain VALUES('a', 'A'), ('b', NULL)")
        try await scene.export()
        let text = Lines()
        try await scene.engine("writer.db").inspector().writeContainer(of: "plain") { text.append($0) }
        try scene.scratch.write(text.bytes, to: "plain.json")
        try scene.scratch.write(Gzip.compress(text.bytes), to: "plain.json.gz")
        try scene.scratch.write(
            #"{"formatVersion": 1, "datasets": [{"name": "plain", "key": "id", "columns": [{"name": "id", "type": "text"}, {"name": "name", "type": "text", "optional": true}]}]}"#,
            to: "datasets.json")
        for file in ["plain.json", "plain.json.gz"] {
            let alone = SQLiteShell("alone.db", in: scene.scratch.path)
            try alone.run("DROP TABLE IF EXISTS plain; \(table); INSERT INTO plain VALUES('old', 'row')")
            _ = try await SyncEngine(database: scene.scratch.path("alone.db")).importFile(
                scene.scratch.path(file), datasets: scene.scratch.path("datasets.json"))
            #expect(try alone.run("SELECT id, quote(name) FROM plain ORDER BY id") == "a|'A'\nb|NULL\n")
            #expect(try alone.run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
        }
    }
}

/// Collects what is written, piece by piece, on another thread.
private final class Lines: @unchecked Sendable {
    // SAFETY: the test waits until everything is written before it looks.
    private(set) var bytes = Data()
    func append(_ piece: UnsafeRawBufferPointer) { bytes.append(contentsOf: piece) }
}
