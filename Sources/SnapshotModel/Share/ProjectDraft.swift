import StrictText

/// A project and its items as the owner publishes them.
///
/// As JSON it is the file that `snapsync share publish --file` reads, in which unknown keys are refused:
///
/// ```json
/// {"id": "garden", "title": "Garden", "detail": "Before the frost", "closed": false,
///  "items": [{"id": "1", "title": "Dig", "detail": "", "completed": true}]}
/// ```
///
/// `detail`, `closed`, `completed` and `items` are optional. Source: docs/from-cloudkit.md.
public struct ProjectDraft: Hashable, Sendable, Identifiable {
    /// The same for every publication of the project, and unique in the zone.
    public var id: String
    public var title: String
    /// May be empty.
    public var detail: String
    package var isClosed: Bool
    /// The items in display order.
    public var items: [SharedItem]

    /// A project with its items.
    public init(id: String, title: String, detail: String = "", isClosed: Bool = false, items: [SharedItem] = []) {
        (self.id, self.title, self.detail, self.isClosed, self.items) = (id, title, detail, isClosed, items)
    }
}

/// One item of a shared project.
public struct SharedItem: Hashable, Sendable, Identifiable {
    /// Unique in the project.
    public var id: String
    /// May be empty, for an item that has no name yet.
    public var title: String
    /// May be empty.
    public var detail: String
    package var isCompleted: Bool

    /// An item.
    public init(id: String, title: String, detail: String = "", isCompleted: Bool = false) {
        (self.id, self.title, self.detail, self.isCompleted) = (id, title, detail, isCompleted)
    }
}

extension ProjectDraft: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case id, title, detail, isClosed = "closed", items
    }

    public init(from decoder: any Decoder) throws {
        try AnyKey.refuseUnknown(in: decoder, known: Set(CodingKeys.allCases.map(\.rawValue.exact)))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id), title: try container.decode(String.self, forKey: .title),
            detail: try container.decodeIfPresent(String.self, forKey: .detail) ?? "",
            isClosed: try container.decodeIfPresent(Bool.self, forKey: .isClosed) ?? false,
            items: try container.decodeIfPresent([SharedItem].self, forKey: .items) ?? [])
    }
}

extension SharedItem: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case id, title, detail, isCompleted = "completed"
    }

    public init(from decoder: any Decoder) throws {
        try AnyKey.refuseUnknown(in: decoder, known: Set(CodingKeys.allCases.map(\.rawValue.exact)))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id), title: try container.decode(String.self, forKey: .title),
            detail: try container.decodeIfPresent(String.self, forKey: .detail) ?? "",
            isCompleted: try container.decodeIfPresent(Bool.self, forKey: .isCompleted) ?? false)
    }
}
