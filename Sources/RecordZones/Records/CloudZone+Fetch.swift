public import CloudStore

extension CloudZone {
    /// Returns the record of that name in its present state.
    ///
    /// - Parameter desiredKeys: the fields to return. nil returns all; an empty array returns none, which suffices to check that the record
    ///   exists. A record that was fetched in part can be saved: the fields that were not fetched are kept.
    /// - Throws: ``CloudError`` with `.unknownItem`.
    public func record(_ name: String, desiredKeys: [String]? = nil) async throws -> CloudRecord {
        guard let result = try await records([name], desiredKeys: desiredKeys)[name] else { throw missing(name) }
        return try result.get()
    }

    /// Returns the records of those names as of one commit, each with its own result: `unknownItem` for a record that does not exist.
    ///
    /// - Parameter desiredKeys: as in ``record(_:desiredKeys:)``.
    public func records(_ names: [String], desiredKeys: [String]? = nil) async throws -> [String: Result<CloudRecord, CloudError>] {
        let view = try await refreshed(), keys = desiredKeys.map(Set.init)
        return Dictionary(
            names.map { name in (name, view.records[name].map { .success($0.only(keys)) } ?? .failure(missing(name))) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Returns what has changed since `token`: each record once, in its present state. If the token is no longer usable, returns all
    /// records.
    ///
    ///     let changes = try await zone.changes(since: token)
    ///     if changes.isWhole { local.removeAll() }
    ///     local.apply(changes.changed, changes.deleted)
    ///     token = changes.token
    ///
    /// A token expires when its commit is pruned. The call then returns all records once, and the new token works again.
    ///
    /// - Parameter token: nil returns all records.
    /// - Throws: ``CloudError`` with `.rolledBack` for a token that is not part of this zone's history, or that is ahead of it.
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
        let touched = Set(commits.flatMap { $0.saved.map(\.name) + $0.deleted })
        return RecordChanges(touched, in: view, token: commits.last?.token, keys)
    }

    private func missing(_ name: String) -> CloudError {
        CloudError(
            .unknownItem, at: CloudNames.isName(name) ? "\(id)/\(name)" : "\(id)", "there is no such record",
            hint: "it was deleted, or never saved; fetch what is new")
    }
}

/// The changes in a zone since a token.
public struct RecordChanges: Sendable {
    /// The records that were saved, each once, in their present state, sorted by name.
    public let changed: [CloudRecord]
    /// The names of the records that were deleted, sorted. Empty if ``isWhole``.
    public let deleted: [String]
    /// The token for the next request; nil if the zone has no commit yet.
    public let token: ChangeToken?
    /// Whether `changed` holds all records of the zone. The caller must then drop every other record.
    public let isWhole: Bool

    init(changed: [CloudRecord], deleted: [String], token: ChangeToken?, isWhole: Bool) {
        (self.changed, self.deleted, self.token, self.isWhole) = (changed, deleted, token, isWhole)
    }

    /// All records.
    init(whole view: ZoneView, _ keys: Set<String>?) {
        self.init(changed: RecordChanges.ordered(view.records.values, keys), deleted: [], token: view.token, isWhole: true)
    }

    /// The records that commits up to `token` touched, in the state of a view that is not older.
    init(_ touched: Set<String>, in view: ZoneView, token: ChangeToken?, _ keys: Set<String>?) {
        self.init(
            changed: RecordChanges.ordered(touched.compactMap { view.records[$0] }, keys),
            deleted: touched.filter { view.records[$0] == nil }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }, token: token,
            isWhole: false)
    }

    private static func ordered(_ records: some Sequence<CloudRecord>, _ keys: Set<String>?) -> [CloudRecord] {
        records.map { $0.only(keys) }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
