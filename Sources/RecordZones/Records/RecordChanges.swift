public import CloudStore

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
        self.changed = changed
        self.deleted = deleted
        self.token = token
        self.isWhole = isWhole
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
