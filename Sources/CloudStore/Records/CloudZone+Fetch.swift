extension CloudZone {
    /// The record of that name, as it is now.
    ///
    /// - Parameter desiredKeys: the fields to return; nil returns all, an empty array none: enough to know that the record exists.
    ///   A record that was fetched in part can be saved: the fields that it lacks are kept.
    /// - Throws: ``CloudError`` with `.unknownItem`.
    public func record(_ name: String, desiredKeys: [String]? = nil) async throws -> CloudRecord {
        guard let result = try await records([name], desiredKeys: desiredKeys)[name] else { throw missing(name) }
        return try result.get()
    }

    /// The records of those names, as of one commit, each with its own result: `unknownItem` for one that is not there.
    ///
    /// - Parameter desiredKeys: as in ``record(_:desiredKeys:)``.
    public func records(_ names: [String], desiredKeys: [String]? = nil) async throws -> [String: Result<CloudRecord, CloudError>] {
        let view = try await refreshed(), keys = desiredKeys.map(Set.init)
        return Dictionary(
            names.map { name in (name, view.records[name].map { .success($0.only(keys)) } ?? .failure(missing(name))) },
            uniquingKeysWith: { first, _ in first })
    }

    /// What has changed since `token`, each record once, as it is now; all records where the token says nothing any more.
    ///
    ///     let changes = try await zone.changes(since: token)
    ///     if changes.isWhole { local.removeAll() }
    ///     local.apply(changes.changed, changes.deleted)
    ///     token = changes.token
    ///
    /// A token whose commit was pruned has expired: that gives one full refetch, and the new token works again.
    ///
    /// - Parameter token: nil asks for all.
    /// - Throws: ``CloudError`` with `.rolledBack` for a token that this zone never gave, or that is ahead of it.
    public func changes(since token: ChangeToken?, desiredKeys: [String]? = nil) async throws -> RecordChanges {
        let keys = desiredKeys.map(Set.init)
        guard let token else { return RecordChanges(whole: try await refreshed(), keys) }
        let commits: [Commit]
        do {
            commits = try await cloud.changes(since: token, in: id).commits
        } catch let error as CloudError where error.code == .changeTokenExpired {
            return RecordChanges(whole: try await refreshed(), keys)
        }
        guard !commits.isEmpty else { return RecordChanges(changed: [], deleted: [], token: token, isWhole: false) }
        let view = try await refreshed()
        // A zone that was deleted and made anew in between has nothing in common with what the caller holds.
        guard commits.allSatisfy({ $0.zoneDeletion == nil }) else { return RecordChanges(whole: view, keys) }
        let touched = Set(commits.flatMap { $0.saved.map(\.name) + $0.deleted })
        return RecordChanges(touched, in: view, token: commits.last?.token, keys)
    }

    private func missing(_ name: String) -> CloudError {
        CloudError(
            .unknownItem, at: CloudNames.isName(name) ? "\(id)/\(name)" : "\(id)", "there is no such record",
            hint: "it was deleted, or never saved; fetch what is new")
    }
}
