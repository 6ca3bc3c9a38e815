import CloudStore
import StrictText

extension ContractCheck {
    /// Retention: old versions are removed oldest first, and never files that are still needed. Without effect for a backend that keeps
    /// every version.
    static let retention: [ContractCheck] = [
        ContractCheck("aCheckpointBringsAVersionBackWithoutItsCommit") { test in
            try await test.makeZone()
            _ = try await test.history(of: 20)
            let before = try await test.cloud.records(in: ContractTest.zone, at: 7, notBefore: nil)
            let checkpoint = try await test.cloud.placeCheckpoint(at: 7, in: ContractTest.zone)
            try await test.removeCommits(upTo: 10)
            let after = try await test.cloud.records(in: ContractTest.zone, of: checkpoint)
            try test.expect(after.records, is: before.records, "the records")
            try test.expect(after.token, is: before.token, "the token")
            let forged = CheckpointReference(number: 7, sha256: String(repeating: "0", count: 64))
            try await test.expect(.damaged, "a checkpoint by another hash") { _ = try await test.cloud.records(in: ContractTest.zone, of: forged) }
            let missing = CheckpointReference(number: 8, sha256: checkpoint.sha256)
            try await test.expect(.unknownItem, "a checkpoint that is not there") {
                _ = try await test.cloud.records(in: ContractTest.zone, of: missing)
            }
            try await test.expect(.unknownItem, "a version that went") { _ = try await test.cloud.placeCheckpoint(at: 9, in: ContractTest.zone) }
        },
        ContractCheck("aCommitCanMakeACheckpointCount") { test in
            try await test.makeZone()
            let tokens = try await test.history(of: 6)
            try await test.expect(.invalidArguments, "a commit above no checkpoint") { try await test.removeCommits(upTo: 3) }
            let before = try await test.cloud.records(in: ContractTest.zone, at: 5, notBefore: nil)
            let checkpoint = try await test.cloud.placeCheckpoint(at: 3, in: ContractTest.zone)
            try await test.expect(.invalidArguments, "a commit above a checkpoint that does not count") { try await test.removeCommits(upTo: 3) }
            let newest = try await test.publish(naming: checkpoint, after: tokens.last)
            try await test.removeCommits(upTo: 3)
            try test.expect(
                try await test.cloud.records(in: ContractTest.zone, at: 5, notBefore: nil).records, is: before.records, "a kept version's records")
            try test.expect(try await test.cloud.history(in: ContractTest.zone).map(\.token.number), is: [4, 5, 6, 7], "the kept commits")
            try test.expect(try await test.cloud.changes(since: nil, in: ContractTest.zone).token, is: newest, "a first visit")
            try test.expect(
                try await test.cloud.changes(since: tokens[4], in: ContractTest.zone).commits.map(\.token.number), is: [6, 7], "what is new")
            try await test.expect(.changeTokenExpired, "a token whose commit went") {
                _ = try await test.cloud.changes(since: tokens[1], in: ContractTest.zone)
            }
            try await test.expect(.unknownItem, "a version that went") {
                _ = try await test.cloud.records(in: ContractTest.zone, at: 2, notBefore: nil)
            }
            try await test.publish([test.item(9)], after: newest)
        },
        ContractCheck("aCommitNamesNoCheckpointThatIsNotThereOrOlder") { test in
            try await test.makeZone()
            let tokens = try await test.history(of: 20)
            let older = try await test.cloud.placeCheckpoint(at: 3, in: ContractTest.zone)
            try await test.expect(.invalidArguments, "a checkpoint older than the parent's") { try await test.publish(naming: older, after: tokens.last) }
            let missing = CheckpointReference(number: 18, sha256: older.sha256)
            try await test.expect(.unknownItem, "a checkpoint that is not there") { try await test.publish(naming: missing, after: tokens.last) }
            let later = CheckpointReference(number: 21, sha256: older.sha256)
            try await test.expect(.invalidArguments, "a checkpoint above the commit") { try await test.publish(naming: later, after: tokens.last) }
        },
        ContractCheck("commitsGoOldestFirst") { test in
            try await test.makeZone()
            _ = try await test.history(of: 20)
            let files = try await test.cloud.storedFiles(in: ContractTest.zone)
            let second = files.filter { $0.kind == .commit(2) }, newest = files.filter { $0.kind == .commit(20) }
            for wrong in [second, newest] {
                try await test.expect(.invalidArguments, "a commit that must stay") {
                    try await test.cloud.remove(wrong, by: "writer", in: ContractTest.zone)
                }
            }
            try await test.expect(.invalidArguments, "commits above the checkpoint") { try await test.removeCommits(upTo: 17) }
            try test.expect(try await test.cloud.history(in: ContractTest.zone).count, is: 20, "the number of commits")
            try await test.removeCommits(upTo: 16)
            try await test.removeCommits(upTo: 16)
            try test.expect(try await test.cloud.history(in: ContractTest.zone).first?.token.number, is: 17, "the oldest commit")
        },
        ContractCheck("whatTheNewestVersionHasIsNotRemoved") { test in
            try await test.makeZone()
            let named = try await test.asset(Array("named".utf8), index: Array("[]".utf8)),
                orphan = try await test.asset(Array("orphan".utf8), index: Array("[]".utf8))
            try await test.publish([CloudRecord(type: "Item", name: "item", fields: ["files": .list([.asset(named)])])], after: nil)
            let files = try await test.cloud.storedFiles(in: ContractTest.zone)
            try test.expect(Set(files.compactMap(\.assetPath)), is: [named.path, orphan.path], "the assets that are listed")
            try test.expect(files.filter { $0.assetPath == named.path }.count, is: 2, "an asset and its index")
            for file in files where file.assetPath == named.path {
                try await test.expect(.invalidArguments, "an asset of the newest version") {
                    try await test.cloud.remove(files, by: "writer", in: ContractTest.zone)
                }
                try await test.expect(.invalidArguments, "its index") { try await test.cloud.remove([file], by: "writer", in: ContractTest.zone) }
            }
            try await test.cloud.remove(files.filter { $0.assetPath == orphan.path }, by: "writer", in: ContractTest.zone)
            try test.expect(try await test.content(of: named), is: Array("named".utf8), "the asset that stays")
            try await test.expect(.pending, "the asset that went") { _ = try await test.cloud.openAsset(orphan, in: ContractTest.zone) }
        },
        ContractCheck("onlyAPublisherRemoves") { test in
            try await test.makeZone(.one)
            try await test.publish([test.item(1)], after: nil)
            let orphan = try await test.asset(Array("orphan".utf8))
            let files = try await test.cloud.storedFiles(in: ContractTest.zone).filter { $0.assetPath == orphan.path }
            try await test.expect(.notAuthorized, "another device") { try await test.cloud.remove(files, by: "other", in: ContractTest.zone) }
            try test.expect(try await test.content(of: orphan), is: Array("orphan".utf8), "the asset")
            try await test.cloud.remove(files, by: "writer", in: ContractTest.zone)
        },
        ContractCheck("aFileIsAsOldAsTheStoresClockSays") { test in
            try await test.makeZone()
            let before = try await test.cloud.storeClock(in: ContractTest.zone)
            _ = try await test.asset(Array("content".utf8))
            try await test.publish([test.item(1)], after: nil)
            let after = try await test.cloud.storeClock(in: ContractTest.zone)
            for file in try await test.cloud.storedFiles(in: ContractTest.zone) {
                try test.expect((before...after).contains(file.modified), "\(file.path) was written at \(file.modified), between \(before) and \(after)")
                try test.expect(file.byteCount > 0, "\(file.path) has a size")
            }
        },
    ]
}

extension ContractTest {
    /// Removes the commits up to a number.
    fileprivate func removeCommits(upTo last: Int) async throws {
        let files = try await cloud.storedFiles(in: ContractTest.zone).filter { file in
            if case .commit(let number) = file.kind { number <= last } else { false }
        }
        try await cloud.remove(files, by: "writer", in: ContractTest.zone)
    }

    /// Publishes a commit that names a checkpoint.
    @discardableResult
    fileprivate func publish(naming checkpoint: CheckpointReference, after token: ChangeToken?) async throws -> ChangeToken {
        var draft = CommitDraft(device: "writer", saving: [item(0, name: "naming")], clock: .now)
        draft.checkpoint = checkpoint
        return try await cloud.publish(try await cloud.prepare(draft, after: token, in: ContractTest.zone))
    }
}
