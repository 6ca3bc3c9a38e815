import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// Applies the ``ShrinkGuard``: for a publisher before its commit, for a reader before its import.
struct ShrinkCheck: Sendable {
    let device: SyncContext
    let allowed: ShrinkApproval

    /// Returns the approvals that a commit after `token` must carry for the entity counts that it is about to save.
    ///
    /// - Throws: ``SyncError`` with `.refused` for a dataset that shrinks without approval.
    func approvals(for counts: [(schema: DatasetSchema, count: Int)], after token: ChangeToken?) async throws -> [String] {
        try refuseUnknownNames()
        let before = try countsHere()
        // A dataset that lost nothing is no smaller than a version that the guard let pass, so older commits need not be read.
        guard let token, allowed != .none || counts.contains(where: { $0.count < before[$0.schema.recordName] ?? 0 }) else { return [] }
        let known = try await guardian(upTo: token)
        let shrunk = counts.compactMap { schema, count in
            known.judge(count, of: schema.recordName, number: token.number + 1).map { (schema: schema, shrinkage: $0) }
        }
        let refused = shrunk.filter { !allowed.covers($0.schema.name) }
        if let (first, shrinkage) = refused.first {
            let names = refused.map(\.schema.name).joined(separator: ",")
            let error = SyncError(
                .refused, step: .announce, at: "\(device.database.path), table \(first.table)",
                "it has \(shrinkage.count) of the \(shrinkage.largest) entities that dataset \(first.name) had; nothing was published",
                hint:
                    "if they were meant to go: snapsync sync --allow-shrink \(names); else bring them back first (snapsync cat \(first.name) shows the last version)"
            )
            throw error.with(
                details: refused.dropFirst().map { schema, shrinkage in
                    "table \(schema.table): it has \(shrinkage.count) of the \(shrinkage.largest) entities that dataset \(schema.name) had"
                })
        }
        return shrunk.map { ShrinkApproval.text(ofRecord: $0.schema.recordName) }
    }

    /// Refuses commits that shrink a dataset of this device without approval. An approval in a later commit counts as well.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func verify(_ changes: ZoneChanges, after token: ChangeToken?) async throws {
        try refuseUnknownNames()
        // On a first visit the device has no applied version to lose. The first import decides about its own rows.
        guard let token, try hasLosses(changes) else { return }
        var known = changes.base.isEmpty ? try await guardian(upTo: token) : ShrinkGuard()
        known.accept()
        known.begin(at: changes.base)
        for commit in changes.commits { known.take(commit) }
        let refused = known.unapproved.compactMap { shrinkage in
            device.settings.datasets.first { $0.recordName == shrinkage.record && !allowed.covers($0.name) }.map { (name: $0.name, shrinkage: shrinkage) }
        }
        guard let (name, shrinkage) = refused.first else { return }
        let names = refused.map(\.name).joined(separator: ",")
        let error = SyncError(
            .refused, step: .verify, at: "\(name)@\(shrinkage.number)",
            "it has \(shrinkage.count) of the \(shrinkage.largest) entities that the dataset had, without approval; nothing was changed here",
            hint:
                "if that is meant, on the device that publishes: snapsync sync --allow-shrink \(names); or take it here alone: snapsync import --allow-shrink \(names)"
        )
        throw error.with(
            details: refused.dropFirst().map { name, shrinkage in
                "\(name)@\(shrinkage.number): it has \(shrinkage.count) of the \(shrinkage.largest) entities that the dataset had"
            })
    }

    /// Whether a dataset has fewer entities after one of the commits than before it.
    private func hasLosses(_ changes: ZoneChanges) throws -> Bool {
        guard changes.base.isEmpty else { return true }
        var counts = try countsHere()
        for commit in changes.commits {
            if !commit.deleted.isEmpty || commit.zoneDeletion != nil { return true }
            for record in commit.saved {
                guard let count = ShrinkGuard.count(record) else { continue }
                if count < counts[record.name] ?? 0 { return true }
                counts[record.name] = count
            }
        }
        return false
    }

    /// Returns the number of entities in the applied version, by record name.
    private func countsHere() throws -> [String: Int] {
        let states = try device.database.read(at: .read) { try $0.datasetStates.all() }
        return Dictionary(
            uniqueKeysWithValues: device.settings.datasets.compactMap { schema in
                states.first { $0.name == schema.name }.map { (schema.recordName, $0.recordCount) }
            })
    }

    private func guardian(upTo token: ChangeToken) async throws -> ShrinkGuard {
        var known = ShrinkGuard()
        for commit in try await device.cloud.at(.fetch).commits(upTo: token, count: ShrinkGuard.window, in: device.zone) {
            known.take(commit)
        }
        return known
    }

    private func refuseUnknownNames() throws {
        let unknown = allowed.unknownNames(among: device.settings.datasets.map(\.name))
        guard !unknown.isEmpty else { return }
        throw SyncError(
            .refused, step: .open, at: "--allow-shrink", "this database has no dataset \(unknown.joined(separator: ", "))",
            hint: "its datasets are \(device.settings.datasets.map(\.name).joined(separator: ", ")); all stands for every one"
        ).asSlip
    }
}
