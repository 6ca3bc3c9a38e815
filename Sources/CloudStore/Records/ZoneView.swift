/// A zone's live records as one device has read them, with the metadata that only the order of commits tells.
struct ZoneView: Sendable {
    private(set) var records: [String: CloudRecord]
    /// The last commit that was read; nil before the first.
    private(set) var token: ChangeToken?

    /// A zone read whole.
    init(_ state: ZoneState) {
        records = Dictionary(state.records.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
        token = state.token
    }

    /// Goes on by the commit that follows, and returns what it saved, with the records' creation.
    @discardableResult
    mutating func apply(_ commit: Commit) -> [CloudRecord] {
        if commit.zoneDeletion != nil { records = [:] }
        let saved = commit.saved.map { $0.following(records[$0.name]) }
        for record in saved { records[record.name] = record }
        for name in commit.deleted { records[name] = nil }
        token = commit.token
        return saved
    }

    /// The number that the next commit has.
    var nextNumber: Int { (token?.number ?? 0) + 1 }
}
