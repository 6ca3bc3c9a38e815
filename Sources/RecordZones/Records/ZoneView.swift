import CloudStore

/// A zone's live records as one device has read them, with the metadata that follows from the order of the commits.
struct ZoneView: Sendable {
    private(set) var records: RecordTable
    /// The last commit that was read; nil before the first.
    private(set) var token: ChangeToken?

    /// Makes the view of a zone that was read completely.
    init(_ state: ZoneState) {
        records = RecordTable(state.records)
        token = state.token
    }

    /// Applies the next commit. Returns the records that it saved, with their creation events.
    @discardableResult
    mutating func apply(_ commit: Commit) -> [CloudRecord] {
        if commit.zoneDeletion != nil { records = RecordTable() }
        for record in commit.saved { records.save(record) }
        let saved = commit.saved.compactMap { records[$0.name] }
        for name in commit.deleted { records[name] = nil }
        token = commit.token
        return saved
    }

    /// The number that the next commit must have.
    var nextNumber: Int { (token?.number ?? 0) + 1 }
}
