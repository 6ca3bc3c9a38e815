import StrictText

/// Removes files of a zone's history. It enforces the rules of retention: a policy may remove less, never more.
///
/// Commits are removed oldest first, so a reader that looks in between sees a history that begins later. They are removed only up to a
/// checkpoint that counts. Files that the newest commit's records name are never removed.
package struct HistoryPruner {
    let zone: Zone
    let info: ZoneInfo

    package init(_ zone: Zone, _ info: ZoneInfo) { (self.zone, self.info) = (zone, info) }

    /// Removes the files, or none if one of them must stay. A file that is already gone is not an error.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` for a device that may not publish here, `.invalidArguments` for a file that must stay,
    ///   and the errors of reading the whole zone: a damaged history is not pruned.
    package func remove(_ files: [StoredFile], by device: String) throws {
        if let last = try zone.newestCommitNumber(), let bytes = try zone.commitBytes(last),
            try VerifiedCommit(bytes, number: last, of: zone.history).commit.zoneMove != nil
        {
            return try remove(files, but: last, by: device)
        }
        let log = try HistoryReader(zone).log(at: nil)
        guard let token = log.token else { throw refusal("the zone has no commit") }
        try CommitComposer(history: zone.history, zone: info).authorize(device, number: token.number + 1)

        let commits = files.compactMap { file in if case .commit(let number) = file.kind { number } else { nil } }.sorted()
        try verify(commits, log)
        let named = Set(log.records.flatMap(\.assets).map(\.path))
        for file in files {
            if case .checkpoint(let number) = file.kind, number == log.checkpoint?.number { throw refusal("the newest checkpoint that counts stays") }
            if let asset = file.assetPath, named.contains(asset) { throw refusal("an asset that the newest version has stays") }
        }

        let paths = Dictionary(files.map { ($0.kind, $0.path) }, uniquingKeysWith: { first, _ in first })
        try zone.removeFiles(commits.compactMap { paths[.commit($0)] })
        // Make the removal of the commits durable before removing the assets that they name. Otherwise a power cut could bring back a
        // version without its assets.
        if !commits.isEmpty { try zone.makeRemovalsDurable(in: CloudNames.commits) }
        let others = files.filter { if case .commit = $0.kind { false } else { true } }
        try zone.removeFiles(others.map(\.path))
    }

    /// Removes files of a zone that was moved. Only its last commit must stay, because it names the successor.
    private func remove(_ files: [StoredFile], but last: Int, by device: String) throws {
        try CommitComposer(history: zone.history, zone: info).authorize(device, number: last)
        guard !files.contains(where: { $0.kind == .commit(last) }) else { throw refusal("the commit that says where the zone goes on stays") }
        func number(_ file: StoredFile) -> Int { if case .commit(let number) = file.kind { number } else { .max } }
        try zone.removeFiles(files.sorted { number($0) < number($1) }.map(\.path))
        try zone.makeRemovalsDurable(in: CloudNames.commits)
    }

    private func verify(_ commits: [Int], _ log: ReplayedHistory) throws {
        guard let last = commits.last else { return }
        guard let checkpoint = log.checkpoint, last <= checkpoint.number,
            let bytes = try zone.checkpointBytes(checkpoint.number), ContentHash.of(bytes) == checkpoint.sha256
        else { throw refusal("a commit goes only below a checkpoint that is there and counts") }
        guard try Set(commits).isSuperset(of: zone.commitNumbers().filter { $0 <= last }) else {
            throw refusal("commits go oldest first")
        }
    }

    private func refusal(_ reason: String) -> CloudError {
        CloudError(.invalidArguments, at: zone.history.zone.place, reason)
    }
}
