import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

@Suite struct ImportRunTests {
    private func scene(
        _ rows: Int = 50, cloud: CloudDatabase? = nil, readerWAL: Bool = true, replacesOwnRows: Bool = false, more: String = ""
    ) async throws -> SyncScene {
        try await SyncScene(
            DatasetSchema.everyKindTable() + more, datasets: [.everyKind()], cloud: cloud, readerWAL: readerWAL, replacesOwnRows: replacesOwnRows
        ).filled(DatasetSchema.manyRows(rows))
    }

    /// Tries an import that must be refused and change nothing.
    private func refused(_ scene: SyncScene, from cloud: CloudDatabase? = nil) async throws -> SyncError {
        // All but the triggers that note changes, which are mended before anything else.
        func contents() throws -> String {
            try scene.reader.dump().split(separator: "\n").filter { !$0.contains("snapsync_tracking") && !$0.hasPrefix("CREATE TRIGGER snapsync_") }.joined(
                separator: "\n")
        }
        let before = try contents()
        let error = try await #require(throws: SyncError.self) { try await scene.importNewest(from: cloud) }
        #expect(try contents() == before)
        return error
    }

    @Test func anEmptyZoneHasNothingToImport() async throws {
        #expect(try await refused(scene()).code == .nothingThere)
    }

    @Test(arguments: [false, true]) func importingTwiceChangesNothing(wal: Bool) async throws {
        let scene = try await scene(8000, readerWAL: wal)
        try await scene.export()
        let first = try await scene.importNewest()
        #expect(first.applied)
        #expect(first.version == 1)
        #expect(first.datasets.map(\.recordCount) == [8000])
        #expect(try scene.differences() == "")
        // When a run was and how long it took is all that it may leave.
        let tables =
            "SELECT * FROM things ORDER BY id; SELECT * FROM snapsync_datasets; SELECT * FROM snapsync_state WHERE key NOT IN ('lastSuccess', 'lastImport')"
        let before = try scene.reader.run(tables)
        let second = try await scene.importNewest()
        #expect(!second.applied)
        #expect(second.version == 1)
        #expect(try scene.reader.run(tables) == before)
    }

    @Test(arguments: [false, true]) func aWholeImportLeavesTheSchemaAsItIs(wal: Bool) async throws {
        let scene = try await scene(8000, readerWAL: wal)
        try await scene.export()
        _ = try await scene.importNewest()
        try scene.reader.run(SQLiteShell.untracked("DELETE FROM things") + "UPDATE snapsync_tracking SET isComplete = 0")
        let (version, schema) = (try scene.reader.run("PRAGMA schema_version"), try scene.reader.schema())
        #expect(try await scene.importNewest().applied)
        #expect(try scene.differences() == "")
        // Each change of the schema makes every program on the database prepare its statements again.
        #expect(try scene.reader.run("PRAGMA schema_version") == version)
        #expect(try scene.reader.schema() == schema)
        try scene.reader.run("UPDATE things SET size = 77 WHERE count = 7; PRAGMA integrity_check")
        #expect(try scene.reader.run("SELECT count(*) FROM snapsync_log WHERE dataset > 0") == "1\n")
        #expect(try scene.reader.run("SELECT isComplete FROM snapsync_tracking") == "1\n")
    }

    @Test func onlyBlocksThatDifferAreFetched() async throws {
        let scene = try await scene(20_000)
        try await scene.export()
        let whole = try #require(try await scene.importNewest().datasets.first)
        #expect(whole.blocksFetched == whole.blocks)
        try scene.writer.run("UPDATE things SET size = 5 WHERE count = 12345")
        try await scene.export()
        let part = try #require(try await scene.importNewest().datasets.first)
        #expect(part.blocksFetched == 1)
        #expect(part.recordCount == 20_000)
        #expect(try scene.differences() == "")
    }

    @Test func whatWasChangedBehindTheTrackingsBackIsReplaced() async throws {
        let scene = try await scene(8000)
        try await scene.export()
        _ = try await scene.importNewest()
        try scene.reader.run(
            SQLiteShell.untracked(
                """
                DELETE FROM things WHERE count < 10; UPDATE things SET size = 9 WHERE count = 7000;
                INSERT INTO things(id) VALUES('mine'), ('~mine'), (x'00'), (NULL)
                """))
        try scene.writer.run("UPDATE things SET size = 5 WHERE count = 12")
        try await scene.export()
        _ = try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test func anotherRunBetweenTheLookAndTheTransactionMeansTryAgain() async throws {
        let scene = try await scene()
        try await scene.export()
        let path = scene.scratch.path("reader.db")
        let cloud = FaultyCloudDatabase(
            wrapping: scene.cloud,
            .atOpenAsset({
                try LocalDatabase(path: path).write { try $0.state.setApplied(AppliedVersion(number: 9, hash: "00")) }
            }))
        let error = try await #require(throws: SyncError.self) { try await scene.importNewest(from: cloud) }
        #expect(error.code == .tryAgainLater)
        #expect(error.isRetryable)
        #expect(try scene.reader.run("SELECT count(*) FROM things") == "0\n")
    }

    @Test func columnsThatNobodyDescribesStay() async throws {
        let scene = try await scene()
        try await scene.export()
        try scene.reader.run("ALTER TABLE things ADD COLUMN mine TEXT DEFAULT 'own'")
        _ = try await scene.importNewest()
        #expect(try scene.reader.run("SELECT DISTINCT mine FROM things") == "own\n")
        try scene.reader.run("UPDATE things SET mine = 'changed'")
        try scene.writer.run("UPDATE things SET done = NOT done WHERE rowid % 2 = 0")
        try await scene.export()
        _ = try await scene.importNewest()
        #expect(try scene.reader.run("SELECT DISTINCT mine FROM things") == "changed\n")
    }

    @Test func rowsOfOnesOwnAreReplacedOnlyWhereThatWasAskedFor() async throws {
        let scene = try await scene()
        try await scene.export()
        let before = SQLiteShell.untracked("INSERT INTO things(id) VALUES('before')")
        try scene.reader.run(before)
        let error = try await refused(scene)
        #expect(error.code == .refused)
        #expect(try #require(error.hint).contains("--replace"))

        let asked = try await self.scene(replacesOwnRows: true)
        try await asked.export()
        // What was there before init is replaced; what was made after it is a change of this device and stays.
        try asked.reader.run(before)
        try asked.reader.run("INSERT INTO things(id) VALUES('mine')")
        try await asked.importNewest()
        #expect(try asked.reader.run("SELECT id FROM things WHERE id IN ('before', 'mine')") == "mine\n")
        try asked.reader.run("DELETE FROM things WHERE id = 'mine'")
        #expect(try asked.differences() == "")
    }

    /// A dataset that comes to the zone later, or after a look at another one, is a first import of its own.
    @Test func rowsOfOnesOwnAreKeptFromADatasetThatComesLater() async throws {
        let plain = "CREATE TABLE plain(id TEXT PRIMARY KEY, name TEXT)"
        let schema = try DatasetSchema(
            name: "plain", table: "plain", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .text), DatasetColumn("name", .text, isOptional: true)])
        let scene = try await SyncScene("\(plain); \(DatasetSchema.everyKindTable())", datasets: [schema, .everyKind()])
        try scene.reader.run(SQLiteShell.untracked("INSERT INTO things(id) VALUES('mine')"))
        // So far the zone has only the other dataset.
        try scene.writer.run("INSERT INTO plain VALUES('a', 'b')")
        try scene.writer.run("UPDATE snapsync_settings SET value = json_remove(value, '$.datasets[1]') WHERE key = 'datasets'")
        try await scene.export()
        let report = try await scene.importNewest()
        #expect(report.warnings.count == 1)
        #expect(try scene.differences(0) == "")
        try scene.writer.run(
            "UPDATE snapsync_settings SET value = (SELECT value FROM r.snapsync_settings WHERE key = 'datasets') WHERE key = 'datasets'",
            attaching: "reader.db", as: "r")
        #expect(try await scene.export().written.map(\.name) == ["things"])
        #expect(try await refused(scene).code == .refused)
        #expect(try scene.reader.run("SELECT id FROM things") == "mine\n")
    }

    @Test func aMissingDatasetIsAWarningAndItsTableStays() async throws {
        let other = try DatasetSchema(name: "other", table: "other", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .integer)])
        let scene = try await scene(more: "; CREATE TABLE other(id INTEGER PRIMARY KEY)")
        try await scene.export()
        try scene.reader.run("INSERT INTO other VALUES(1); DELETE FROM snapsync_settings; DELETE FROM snapsync_state")
        try scene.reader.run("DROP TABLE snapsync_settings; DROP TABLE snapsync_state; DROP TABLE snapsync_datasets")
        try await scene.setUp("reader.db", .reader, device: "phone", datasets: [.everyKind(), other])
        let report = try await scene.importNewest()
        #expect(report.datasets.map(\.name) == ["things"])
        #expect(report.warnings == ["the zone has no dataset other; its table stays as it is"])
        #expect(try scene.reader.run("SELECT id FROM other") == "1\n")
    }

    @Test func aRecordOfAnotherTypeIsRefused() async throws {
        let scene = try await scene()
        try await scene.export()
        try scene.reader.run("UPDATE snapsync_settings SET value = json_set(value, '$.datasets[0].recordType', 'Others') WHERE key = 'datasets'")
        #expect(try await refused(scene).code == .refused)
    }

    @Test func changeAssetsThatDoNotFollowOneAnotherAreRefused() async throws {
        let scene = try await scene()
        try await scene.export()
        let asset = try await scene.asset()
        let token = try await scene.cloud.changes(since: nil, in: scene.zone).token
        let fields = DatasetRecord(
            dataFile: asset.fields.dataFile, changeFiles: [asset.fields.dataFile], syncTimestamp: asset.fields.syncTimestamp, recordCount: 50)
        let draft = CommitDraft(device: "desk", saving: [fields.record(of: scene.datasets[0])], clock: scene.clock.now())
        _ = try await scene.cloud.publish(scene.cloud.prepare(draft, after: token, in: scene.zone))
        let error = try await refused(scene)
        #expect(error.code == .dataRefused)
        #expect(error.reason.contains("change assets"))
    }

    @Test func ofTwoChangeAssetsThatClaimOneParentNoneIsTaken() throws {
        func asset(_ name: String) -> CloudAsset { CloudAsset(path: "assets/things_data/\(name)", byteCount: 90, rawByteCount: 90, sha256: "", index: nil) }
        let whole = asset("00000000000000000007-0a1b2c3d.json.gz")
        func fields(_ names: String...) throws -> DatasetRecord? {
            DatasetRecord(DatasetRecord(dataFile: whole, changeFiles: names.map(asset), syncTimestamp: .now, recordCount: 1).record(of: try .everyKind()))
        }
        let (eighth, other) = ("00000000000000000008-0a1b2c3d.changes.json.gz", "00000000000000000008-11111111.changes.json.gz")
        #expect(try fields(eighth, "00000000000000000011-0a1b2c3d.changes.json.gz") != nil)
        #expect(try fields(eighth, other) == nil)
        #expect(try fields("00000000000000000007-0a1b2c3d.changes.json.gz") == nil)
        #expect(try fields("00000000000000000008-0a1b2c3d.json.gz") == nil)
        #expect(try fields("00000000000000000009-0a1b2c3d.changes.json.gz", eighth) == nil)
        #expect(try fields("elsewhere") == nil)
    }

    @Test(arguments: [
        ["syncTimestamp": CloudValue.date(Instant(microseconds: 1))], ["recordCount": .integer(49)], ["recordCount": .integer(-1)],
        ["recordCount": .integer(.max)], ["recordCount": .integer(.min)], ["recordCount": .string("50")],
        ["dataFile": .string("assets")], [:],
    ])
    func aRecordThatDoesNotFitItsAssetIsRefused(change: [String: CloudValue]) async throws {
        let scene = try await scene()
        try await scene.export()
        let token = try await scene.cloud.changes(since: nil, in: scene.zone).token
        var record = try await scene.asset().fields.record(of: scene.datasets[0])
        record.fields.merge(change) { $1 }
        if change.isEmpty { record.fields["recordCount"] = nil }
        let draft = CommitDraft(device: "desk", saving: [record], clock: scene.clock.now())
        _ = try await scene.cloud.publish(scene.cloud.prepare(draft, after: token, in: scene.zone))
        #expect(try await refused(scene).code == .dataRefused)
    }

    @Test func fieldsThatThisDeviceDoesNotKnowAreNotedAndKeepItFromPublishing() async throws {
        let scene = try await scene()
        try await scene.export()
        let known = try DatasetSchema(
            name: "things", table: "things", keys: ["id"], timestamp: "changed", columns: Array(DatasetSchema.everyKind().columns.prefix(4)))
        try scene.reader.run(
            """
            DROP TABLE snapsync_settings; DROP TABLE snapsync_state; DROP TABLE snapsync_datasets; DROP TABLE things;
            CREATE TABLE things(id TEXT PRIMARY KEY, changed TEXT, count INTEGER, size REAL)
            """)
        try await scene.setUp("reader.db", .writer, device: "desk", datasets: [known])
        _ = try await scene.engine("reader.db").devices.takeOver()
        let report = try await scene.importNewest()
        #expect(report.warnings.count == 1)
        #expect(report.warnings[0].contains("done, image, tags"))
        #expect(try scene.reader.run("SELECT count(*), sum(count) FROM things") == "50|1225\n")
        let error = try await #require(throws: SyncError.self) { try await scene.engine("reader.db").export() }
        #expect(error.code == .refused)
        #expect(error.reason.contains("tags"))
    }

    /// EveryDamageTests has other damages.
    @Test(arguments: ["swapped", "gone", "index gone"]) func aDamagedAssetChangesNothing(damage: String) async throws {
        let memory = MemoryCloudDatabase(now: TestClock().now)
        let scene = try await scene(8000, cloud: memory)
        try await scene.export()
        let asset = try await scene.asset()
        let path = asset.fields.dataFile.path, blocks = asset.index.blocks.map(\.member)
        memory.damage(damage.hasPrefix("index") ? path.replacing(".json.gz", with: ".index.json") : path, in: scene.zone) { bytes in
            #expect(bytes != nil)
            let (a, b) = (blocks[0], blocks[1])
            bytes = damage == "swapped" ? bytes.map { Array($0[..<a.offset] + $0[b.offset..<b.end] + $0[a.offset..<a.end] + $0[b.end...]) } : nil
        }
        let error = try await refused(scene)
        #expect(error.code == (damage.hasSuffix("gone") ? .tryAgainLater : .dataRefused))
    }

    @Test func aReadThatFailsInTheMiddleChangesNothing() async throws {
        let scene = try await scene(8000)
        try await scene.export()
        let fault = CloudError(.inputOutput, at: "assets", "the disk does not answer")
        let error = try await refused(scene, from: FaultyCloudDatabase(wrapping: scene.cloud, .atRead(fault)))
        #expect(error.code == .inputOutput)
        _ = try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test(arguments: [
        ("CREATE UNIQUE INDEX one ON things(done)", SyncError.Code.dataRefused),
        ("CREATE UNIQUE INDEX one ON things(count / 2500)", .dataRefused),
        (
            """
            CREATE TABLE children(thing TEXT REFERENCES things(id)); INSERT INTO children VALUES('mine');
            \(SQLiteShell.untracked("INSERT INTO things(id) VALUES('mine')"))
            """, .dataRefused
        ),
        ("DROP TABLE things", .refused),
        ("DROP TABLE things; CREATE TABLE things(id TEXT, changed, count, size, tags, image, done)", .refused),
        ("DROP TABLE things; CREATE TABLE things(id TEXT PRIMARY KEY, changed, count TEXT, size, tags, image, done)", .refused),
        ("UPDATE snapsync_settings SET value = '' WHERE key = 'datasets'", .dataRefused),
    ])
    func whatTheReadersDatabaseRefusesChangesNothing(sql: String, code: SyncError.Code) async throws {
        let scene = try await scene(5000, replacesOwnRows: true)
        try await scene.export()
        try scene.reader.run(sql)
        #expect(try await refused(scene).code == code)
    }

    @Test func anOlderZoneIsRefused() async throws {
        let memory = MemoryCloudDatabase(now: TestClock().now)
        let scene = try await scene(cloud: memory)
        try await scene.export()
        try scene.writer.run("DELETE FROM things WHERE count = 1")
        try await scene.export()
        _ = try await scene.importNewest()
        memory.damageCommit(2, in: scene.zone) { $0 = nil }
        #expect(try await refused(scene).code == .dataRefused)
    }

    @Test func programsThatReadSeeTheOldRowsAndThenTheNew() async throws {
        let scene = try await scene(8000)
        try await scene.export()
        _ = try await scene.importNewest()
        try scene.writer.run("UPDATE things SET size = 1")
        try await scene.export()
        // Each look at the database, from inside the import, finds the old rows whole.
        let reader = scene.reader
        let looks = Looks()
        _ = try await scene.engine("reader.db").importNewest { _ in looks.add((try? reader.run("SELECT count(*), sum(size = 1) FROM things")) ?? "unreadable") }
        #expect(looks.seen.count > 3)
        #expect(Set(looks.seen) == ["8000|1\n"])
        #expect(try scene.reader.run("SELECT count(*), sum(size = 1) FROM things") == "8000|8000\n")
    }
}

extension SQLiteShell {
    /// Runs SQL with another database attached.
    @discardableResult
    fileprivate func run(_ sql: String, attaching other: String, as name: String) throws -> String { try run("ATTACH '\(other)' AS \(name); \(sql)") }
}
