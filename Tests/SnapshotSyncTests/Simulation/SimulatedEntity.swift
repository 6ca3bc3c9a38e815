/// A row of `buckets` or `notifications` as simulated applications write it: the columns that histories play with.
struct SimulatedEntity: Hashable, CustomStringConvertible {
    enum Kind: String { case buckets, notifications }

    let kind: Kind
    var id: String
    /// A bucket's name or a notification's title.
    var title: String
    var updatedAt: String
    /// Of a bucket.
    var isOrphan = false
    /// Of a notification.
    var readAt: String?
    /// Of a notification.
    var bucket: String?

    static let created = "2026-01-01T00:00:00Z"

    /// The same row under another id.
    func renamed(_ id: String) -> SimulatedEntity {
        var other = self
        other.id = id
        return other
    }

    /// Dataset and id: one text for each entity.
    var key: String { "\(kind.rawValue)/\(id)" }

    /// The canonical JSON.
    var json: String {
        switch kind {
        case .buckets:
            "{\"id\":\"\(id)\",\"name\":\"\(title)\",\"createdAt\":\"\(Self.created)\",\"updatedAt\":\"\(updatedAt)\"\(isOrphan ? ",\"isOrphan\":true" : "")}"
        case .notifications:
            "{\"id\":\"\(id)\",\"title\":\"\(title)\"\(readAt.map { ",\"readAt\":\"\($0)\"" } ?? ""),\"createdAt\":\"\(Self.created)\",\"updatedAt\":\"\(updatedAt)\""
                + ",\"bucketId\":\"\(bucket ?? "")\",\"attachments\":[],\"actions\":[]}"
        }
    }

    /// What a statement's parameters are bound to.
    var values: [String?] {
        switch kind {
        case .buckets: [id, title, Self.created, updatedAt, isOrphan ? "1" : nil]
        case .notifications: [id, title, readAt, Self.created, updatedAt, bucket]
        }
    }

    static func insert(_ kind: Kind) -> String {
        switch kind {
        case .buckets: "INTO buckets(id, name, createdAt, updatedAt, isOrphan) VALUES(?, ?, ?, ?, CAST(? AS INTEGER))"
        case .notifications: "INTO notifications(id, title, readAt, createdAt, updatedAt, bucketId) VALUES(?, ?, ?, ?, ?, ?)"
        }
    }

    static func update(_ kind: Kind) -> String {
        switch kind {
        case .buckets: "UPDATE buckets SET id = ?1, name = ?2, createdAt = ?3, updatedAt = ?4, isOrphan = CAST(?5 AS INTEGER) WHERE id = ?6"
        case .notifications: "UPDATE notifications SET id = ?1, title = ?2, readAt = ?3, createdAt = ?4, updatedAt = ?5, bucketId = ?6 WHERE id = ?7"
        }
    }

    var description: String {
        "'\(title.prefix(14))' of \(updatedAt)\(isOrphan ? " orphan" : "")\(readAt.map { " read \($0)" } ?? "")\(bucket.map { " in \($0)" } ?? "")"
    }
}
