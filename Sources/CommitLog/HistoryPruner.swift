package import CloudStore
import StrictText

/// Removes files of a zone's history by the rules, on any ``HistoryStore``: a policy may ask for less, never for more.
///
/// Commits go oldest first, so that whoever looks in between finds a history that begins later, and only where a checkpoint
/// that counts stands above them. What the newest commit's records name is never removed.
package struct HistoryPruner<Store: HistoryStore> {
    let store: Store
    let zone: ZoneInfo

    package init(store: Store, zone: ZoneInfo) {
        (self.store, self.zone) = (store, zone)
    }

    /// Removes the files, or none if one of them must stay. A file that is gone already is no error.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` for a device that does not publish here, `.invalidArguments` for a file that
    ///   must stay, and whatever reading the zone whole throws: a damaged history is not pruned.
    package func remove(_ files: [StoredFile], by device: String) throws {
        if let last = try store.commitNumbers().last, let bytes = try store.commitBytes(last),
            try VerifiedCommit(bytes, number: last, of: store.history).commit.zoneDeletion?.successor != nil
        {
            return try remove(files, but: last, by: device)
        }
        let log = try HistoryReader(source: store).log(at: nil)
        guard let token = log.token else { throw refusal("the zone has no commit") }
        try CommitComposer(history: store.history, zone: zone).authorize(device, number: token.number + 1)

        let commits = files.compactMap { file in if case .commit(let number) = file.kind { number } else { nil } }.sorted()
        try verify(commits, log)
        let named = Set(log.records.flatMap(\.assets).map(\.path))
        for file in files {
            if case .checkpoint(let number) = file.kind, number == log.checkpoint?.number { throw refusal("the newest checkpoint that counts stays") }
            if let asset = file.assetPath, named.contains(asset) { throw refusal("an asset that the newest version has stays") }
        }

        let paths = Dictionary(files.map { ($0.kind, $0.path) }, uniquingKeysWith: { first, _ in first })
        try store.removeFiles(commits.compactMap { paths[.commit($0)] })
        // Gone for good before what they name goes: a power cut must not bring back a version whose assets are missing.
        if !commits.isEmpty { try store.synchronizeRemovals(in: CloudNames.commits) }
        let others = files.filter { if case .commit = $0.kind { false } else { true } }
        try store.removeFiles(others.map(\.path))
    }

    /// Removes files of a zone that goes on elsewhere: its last commit alone says so.
    private func remove(_ files: [StoredFile], but last: Int, by device: String) throws {
        try CommitComposer(history: store.history, zone: zone).authorize(device, number: last)
        guard !files.contains(where: { $0.kind == .commit(last) }) else { throw refusal("the commit that says where the zone goes on stays") }
        func number(_ file: StoredFile) -> Int { if case .commit(let number) = file.kind { number } else { .max } }
        for file in files.sorted(by: { number($0) < number($1) }) { try store.removeFile(file.path) }
        try store.synchronizeRemovals(in: CloudNames.commits)
    }

    private func verify(_ commits: [Int], _ log: ReplayedHistory) throws {
        guard let last = commits.last else { return }
        guard let checkpoint = log.checkpoint, last <= checkpoint.number,
            let bytes = try store.checkpointBytes(checkpoint.number), ContentHash.of(bytes) == checkpoint.sha256
        else { throw refusal("a commit goes only below a checkpoint that is there and counts") }
        guard try Set(commits).isSuperset(of: store.commitNumbers().filter { $0 <= last }) else {
            throw refusal("commits go oldest first")
        }
    }

    private func refusal(_ reason: String) -> CloudError {
        CloudError(.invalidArguments, at: "\(store.history.zone)", reason)
    }
}
