import CloudStore
import StrictText

extension ConformanceCheck {
    /// Retention: old versions are removed oldest first, and never files that are still needed. Without effect for a backend that keeps
    /// every version.
    static let retention: [ConformanceCheck] = [
        ConformanceCheck("aCheckpointBringsAVersionBackWithoutItsCommit", .retention) { trial in
            try await trial.makeZone()
            guard try await trial.removesVersions() else { return }
            _ = try await trial.history(of: 20)
            let before = try await trial.cloud.records(in: ConformanceContext.zone, at: 7, notBefore: nil)
            let checkpoint = try await trial.retention.placeCheckpoint(at: 7, in: ConformanceContext.zone)
            try await trial.removeCommits(upTo: 10)
            let after = try await trial.retention.records(in: ConformanceContext.zone, of: checkpoint)
            try trial.expect(after.records, is: before.records, "the records")
            try trial.expect(after.token, is: before.token, "the token")
            let forged = CheckpointReference(number: 7, sha256: String(repeating: "0", count: 64))
            try await trial.expect(.damaged, "a checkpoint by another hash") { _ = try await trial.retention.records(in: ConformanceContext.zone, of: forged) }
            let missing = CheckpointReference(number: 8, sha256: checkpoint.sha256)
            try await trial.expect(.unknownItem, "a checkpoint that is not there") {
                _ = try await trial.retention.records(in: ConformanceContext.zone, of: missing)
            }
            try await trial.expect(.unknownItem, "a version that went") { _ = try await trial.retention.placeCheckpoint(at: 9, in: ConformanceContext.zone) }
        },
        ConformanceCheck("aCommitCanMakeACheckpointCount", .retention) { trial in
            try await trial.makeZone()
            guard try await trial.removesVersions() else { return }
            let tokens = try await trial.history(of: 6)
            try await trial.expect(.invalidArguments, "a commit above no checkpoint") { try await trial.removeCommits(upTo: 3) }
            let before = try await trial.cloud.records(in: ConformanceContext.zone, at: 5, notBefore: nil)
            let checkpoint = try await trial.retention.placeCheckpoint(at: 3, in: ConformanceContext.zone)
            try await trial.expect(.invalidArguments, "a commit above a checkpoint that does not count") { try await trial.removeCommits(upTo: 3) }
            let newest = try await trial.publish(naming: checkpoint, after: tokens.last)
            try await trial.removeCommits(upTo: 3)
            try trial.expect(
                try await trial.cloud.records(in: ConformanceContext.zone, at: 5, notBefore: nil).records, is: before.records, "a kept version's records")
            try trial.expect(try await trial.cloud.history(in: ConformanceContext.zone).map(\.token.number), is: [4, 5, 6, 7], "the kept commits")
            try trial.expect(try await trial.cloud.changes(since: nil, in: ConformanceContext.zone).token, is: newest, "a first visit")
            try trial.expect(
                try await trial.cloud.changes(since: tokens[4], in: ConformanceContext.zone).commits.map(\.token.number), is: [6, 7], "what is new")
            try await trial.expect(.changeTokenExpired, "a token whose commit went") {
                _ = try await trial.cloud.changes(since: tokens[1], in: ConformanceContext.zone)
            }
            try await trial.expect(.unknownItem, "a version that went") {
                _ = try await trial.cloud.records(in: ConformanceContext.zone, at: 2, notBefore: nil)
            }
            try await trial.publish([trial.item(9)], after: newest)
        },
        ConformanceCheck("aCommitNamesNoCheckpointThatIsNotThereOrOlder", .retention) { trial in
            try await trial.makeZone()
            guard try await trial.removesVersions() else { return }
            let tokens = try await trial.history(of: 20)
            let older = try await trial.retention.placeCheckpoint(at: 3, in: ConformanceContext.zone)
            try await trial.expect(.invalidArguments, "a checkpoint older than the parent's") { try await trial.publish(naming: older, after: tokens.last) }
            let missing = CheckpointReference(number: 18, sha256: older.sha256)
            try await trial.expect(.unknownItem, "a checkpoint that is not there") { try await trial.publish(naming: missing, after: tokens.last) }
            let later = CheckpointReference(number: 21, sha256: older.sha256)
            try await trial.expect(.invalidArguments, "a checkpoint above the commit") { try await trial.publish(naming: later, after: tokens.last) }
        },
        ConformanceCheck("commitsGoOldestFirst", .retention) { trial in
            try await trial.makeZone()
            guard try await trial.removesVersions() else { return }
            _ = try await trial.history(of: 20)
            let files = try await trial.retention.storedFiles(in: ConformanceContext.zone)
            let second = files.filter { $0.kind == .commit(2) }, newest = files.filter { $0.kind == .commit(20) }
            for wrong in [second, newest] {
                try await trial.expect(.invalidArguments, "a commit that must stay") {
                    try await trial.retention.remove(wrong, by: "writer", in: ConformanceContext.zone)
                }
            }
            try await trial.expect(.invalidArguments, "commits above the checkpoint") { try await trial.removeCommits(upTo: 17) }
            try trial.expect(try await trial.cloud.history(in: ConformanceContext.zone).count, is: 20, "the number of commits")
            try await trial.removeCommits(upTo: 16)
            try await trial.removeCommits(upTo: 16)
            try trial.expect(try await trial.cloud.history(in: ConformanceContext.zone).first?.token.number, is: 17, "the oldest commit")
        },
        ConformanceCheck("whatTheNewestVersionHasIsNotRemoved", .retention) { trial in
            try await trial.makeZone()
            guard try await trial.removesVersions() else { return }
            let named = try await trial.asset(Array("named".utf8), index: Array("[]".utf8)),
                orphan = try await trial.asset(Array("orphan".utf8), index: Array("[]".utf8))
            try await trial.publish([CloudRecord(type: "Item", name: "item", fields: ["files": .list([.asset(named)])])], after: nil)
            let files = try await trial.retention.storedFiles(in: ConformanceContext.zone)
            try trial.expect(Set(files.compactMap(\.assetPath)), is: [named.path, orphan.path], "the assets that are listed")
            try trial.expect(files.filter { $0.assetPath == named.path }.count, is: 2, "an asset and its index")
            for file in files where file.assetPath == named.path {
                try await trial.expect(.invalidArguments, "an asset of the newest version") {
                    try await trial.retention.remove(files, by: "writer", in: ConformanceContext.zone)
                }
                try await trial.expect(.invalidArguments, "its index") { try await trial.retention.remove([file], by: "writer", in: ConformanceContext.zone) }
            }
            try await trial.retention.remove(files.filter { $0.assetPath == orphan.path }, by: "writer", in: ConformanceContext.zone)
            try trial.expect(try await trial.content(of: named), is: Array("named".utf8), "the asset that stays")
            try await trial.expect(.pending, "the asset that went") { _ = try await trial.cloud.openAsset(orphan, in: ConformanceContext.zone) }
        },
        ConformanceCheck("onlyAPublisherRemoves", .retention) { trial in
            try await trial.makeZone(.one)
            guard try await trial.removesVersions() else { return }
            try await trial.publish([trial.item(1)], after: nil)
            let orphan = try await trial.asset(Array("orphan".utf8))
            let files = try await trial.retention.storedFiles(in: ConformanceContext.zone).filter { $0.assetPath == orphan.path }
            try await trial.expect(.notAuthorized, "another device") { try await trial.retention.remove(files, by: "other", in: ConformanceContext.zone) }
            try trial.expect(try await trial.content(of: orphan), is: Array("orphan".utf8), "the asset")
            try await trial.retention.remove(files, by: "writer", in: ConformanceContext.zone)
        },
        ConformanceCheck("aFileIsAsOldAsTheStoresClockSays", .retention) { trial in
            try await trial.makeZone()
            guard try await trial.removesVersions() else { return }
            let before = try await trial.retention.storeClock(in: ConformanceContext.zone)
            _ = try await trial.asset(Array("content".utf8))
            try await trial.publish([trial.item(1)], after: nil)
            let after = try await trial.retention.storeClock(in: ConformanceContext.zone)
            for file in try await trial.retention.storedFiles(in: ConformanceContext.zone) {
                try trial.expect((before...after).contains(file.modified), "\(file.path) was written at \(file.modified), between \(before) and \(after)")
                try trial.expect(file.byteCount > 0, "\(file.path) has a size")
            }
        },
    ]
}

extension ConformanceContext {
    /// Whether the backend lists and removes files at all.
    fileprivate func removesVersions() async throws -> Bool {
        do {
            _ = try await retention.storedFiles(in: ConformanceContext.zone)
            return true
        } catch let error as CloudError where error.code == .invalidArguments {
            return false
        }
    }

    /// Removes the commits up to a number.
    fileprivate func removeCommits(upTo last: Int) async throws {
        let files = try await retention.storedFiles(in: ConformanceContext.zone).filter { file in
            if case .commit(let number) = file.kind { number <= last } else { false }
        }
        try await retention.remove(files, by: "writer", in: ConformanceContext.zone)
    }

    /// Publishes a commit that names a checkpoint.
    @discardableResult
    fileprivate func publish(naming checkpoint: CheckpointReference, after token: ChangeToken?) async throws -> ChangeToken {
        var draft = CommitDraft(device: "writer", saving: [item(0, name: "naming")], clock: .now)
        draft.checkpoint = checkpoint
        return try await cloud.publish(try await cloud.prepare(draft, after: token, in: ConformanceContext.zone))
    }
}
