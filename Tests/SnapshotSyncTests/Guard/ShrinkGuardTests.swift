import CloudStore
import SnapshotModel
import StrictText
@testable import SyncRuns
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

@Suite struct ShrinkGuardTests {
    private func record(_ count: Int, _ name: String = "notifications_data") -> CloudRecord {
        let asset = CloudAsset(path: "assets/x/1", byteCount: 1, rawByteCount: 1, sha256: "", index: nil)
        return CloudRecord(
            type: "NotificationsData", name: name, fields: ["dataFile": .asset(asset), "syncTimestamp": .date(.now), "recordCount": .integer(Int64(count))])
    }

    /// A chain of commits with these counts; a negative one carries the approval.
    private func guardian(_ counts: [Int]) -> ShrinkGuard {
        var guardian = ShrinkGuard()
        for (index, count) in counts.enumerated() {
            guardian.add(
                Commit(
                    token: ChangeToken(number: index + 1, hash: ""), parent: nil, timestamp: .now, clock: .now, device: "d", saved: [record(abs(count))],
                    deleted: [],
                    approvals: count < 0 ? ["shrink:notifications_data"] : []))
        }
        return guardian
    }

    @Test(
        arguments: [
            ([100, 50], []), ([100, 49], [2]), ([19, 0], []), ([20, 9], [2]), ([20, 10], []), ([100, -3], []), ([100, 3, -3], []), ([100, 3, 4], [2]),
            ([100, 3, 90], []),
            ([100, 60, 40], [3]), ([100, 99, -10, 5], []), ([100, 99, -30, 14], [4]), ([5, 300, 100], [3]),
        ] as [([Int], [Int])])
    func aRecordMustKeepHalfOfItsLargestCountUnlessACommitApproves(counts: [Int], shrunk: [Int]) {
        #expect(guardian(counts).unapproved.map(\.number) == shrunk, "\(counts)")
    }

    /// Anyone may say any number; one that is none is no count, and ends nobody.
    @Test(arguments: [Int.max, Int.max / 2 + 1, DatasetRecord.countLimit + 1])
    func aCountBeyondAllOthersIsNone(_ count: Int) {
        #expect(guardian([100, count, 60]).unapproved.isEmpty)
        #expect(guardian([100, count, 40]).unapproved.map(\.number) == [3])
    }

    @Test func onlyTheLastSixteenCommitsCount() {
        // Ever less, but never less than half of what was there sixteen commits ago.
        #expect(guardian((0..<60).map { 1000 - $0 * 15 }).unapproved.isEmpty == false)
        #expect(guardian([100] + Array(repeating: 60, count: 16) + [40]).unapproved.isEmpty)
        #expect(guardian([100] + Array(repeating: 60, count: 14) + [40]).unapproved.map(\.number) == [16])
    }

    @Test func whatTheDeviceHasAcceptedIsNoNews() {
        var known = guardian([100, 3])
        known.accept()
        #expect(known.unapproved.isEmpty && known.judge(4, of: "notifications_data", number: 3) == nil)
    }

    @Test func aWriterDoesNotPublishHalfOfADatasetAndAnAppsClearAllSaysThatItMay() async throws {
        let scene = try await DeviceScene()
        try await scene.add("one", .writer, DeviceScene.filled(40))
        try await scene.add("reader", .reader)
        try await scene.export("one")
        try await scene.importNewest("reader")
        try scene.run("one", "DELETE FROM notifications WHERE id <> 'n1'")
        let error = try await #require(throws: SyncError.self) { try await scene.export("one") }
        #expect(error.code == .refused && error.reason.contains("1 of the 40 entities") && error.hint?.contains("--allow-shrink notifications") == true)
        #expect(try await scene.history().count == 1)
        // The deletions stay tracked, and nothing was left behind in the cloud.
        #expect(try await scene.export("one", allowing: .datasets("notifications")).version == 2)
        #expect(try await scene.history().last?.approvals == ["shrink:notifications_data"])
        // Nobody has to agree a second time.
        #expect(try await scene.importNewest("reader").applied)
        #expect(try scene.run("reader", "SELECT id FROM notifications") == "n1\n")
        // The approval is for once, and for what was needed only.
        try scene.run(
            "one", "INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('x', 'x', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'b')")
        try await scene.export("one", allowing: .all)
        #expect(try await scene.history().last?.approvals == [])
    }

    @Test func aReaderThatIsBehindJudgesEachCommitAndNotTheSum() async throws {
        let scene = try await DeviceScene()
        try await scene.add("one", .writer, DeviceScene.filled(100))
        for name in ["reader", "later"] { try await scene.add(name, .reader) }
        try await scene.export("one")
        for name in ["reader", "later"] { try await scene.importNewest(name) }
        // A program without the guard publishes a version that lost nearly everything.
        let state = try await scene.cloud.records(in: scene.zone)
        let old = try #require(state.record("notifications_data").flatMap { DatasetRecord($0) })
        let schema = DatasetSchema.notifications
        let bad = DatasetRecord(dataFile: old.dataFile, syncTimestamp: old.syncTimestamp, recordCount: 3).record(of: schema)
        let token = try await scene.cloud.publish(
            try await scene.cloud.prepare(CommitDraft(device: "one", saving: [bad], clock: scene.clock.now()), after: state.token, in: scene.zone))
        let error = try await #require(throws: SyncError.self) { try await scene.importNewest("reader") }
        #expect(error.code == .refused && error.place == "notifications@2" && error.reason.contains("3 of the 100 entities"))
        #expect(try scene.run("reader", "SELECT count(*) FROM notifications") == "100\n")
        // Later versions do not make it good, until one approves or has the entities again.
        let next = try await scene.cloud.publish(
            try await scene.cloud.prepare(CommitDraft(device: "one", saving: [bad], clock: scene.clock.now()), after: token, in: scene.zone))
        #expect(try await #require(throws: SyncError.self) { try await scene.importNewest("reader") }.place == "notifications@2")
        let good = old.record(of: schema)
        _ = try await scene.cloud.publish(
            try await scene.cloud.prepare(CommitDraft(device: "one", saving: [good], clock: scene.clock.now()), after: next, in: scene.zone))
        #expect(try await scene.importNewest("reader").applied)
    }

    @Test func aMisspeltDatasetIsRefused() async throws {
        let scene = try await DeviceScene()
        try await scene.add("one", .writer, DeviceScene.filled(3))
        #expect(
            try await #require(throws: SyncError.self) { try await scene.export("one", allowing: .datasets("notification")) }.reason.contains(
                "no dataset notification"))
    }

    @Test func rowsThatAreMissingWithoutATrackedDeletionAreDamage() async throws {
        let scene = try await DeviceScene()
        try await scene.publish("one", .writer, DeviceScene.filled(100))
        // An application's migration builds the table anew and loses two rows; one more is deleted by an ordinary program before.
        try scene.run(
            "one",
            """
            DELETE FROM notifications WHERE id = 'n7';
            CREATE TABLE copy AS SELECT * FROM notifications WHERE id NOT IN ('n3', 'n4');
            DROP TABLE notifications;
            CREATE TABLE notifications(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, subtitle TEXT, body TEXT, readAt TEXT, sentAt TEXT, createdAt TEXT NOT NULL,
                updatedAt TEXT NOT NULL, bucketId TEXT NOT NULL, attachments TEXT NOT NULL DEFAULT '[]', actions TEXT NOT NULL DEFAULT '[]', tapAction TEXT);
            INSERT INTO notifications SELECT * FROM copy; DROP TABLE copy
            """)
        let error = try await #require(throws: SyncError.self) { try await scene.export("one") }
        #expect(
            error.code == .refused && error.reason.hasPrefix("2 entities of the last version of notifications are missing")
                && error.reason.contains("no deletion was tracked"))
        #expect(try await scene.history().count == 1)
        // An import brings them back, and the tracked deletion stays one.
        try await scene.importNewest("one")
        #expect(try scene.run("one", "SELECT count(*), sum(id IN ('n3', 'n4')), sum(id = 'n7') FROM notifications") == "99|2|0\n")
        #expect(try await scene.export("one").version == 2)
    }
}
