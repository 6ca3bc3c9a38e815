/// A project as its owner has it, with its items: what is shared with everybody.
///
/// As JSON it is the file that `snapsync share publish --file` takes, in which an unknown key is refused:
///
/// ```json
/// {"id": "garden", "title": "Garden", "detail": "Before the frost", "closed": false,
///  "items": [{"id": "1", "title": "Dig", "detail": "", "completed": true}]}
/// ```
///
/// `detail`, `closed`, `completed` and `items` may be left out. Source: docs/sharing.md.
public struct ProjectDraft: Hashable, Sendable, Identifiable {
    /// The same for every publication of the project, the only one of that id in a zone.
    public var id: String
    public var title: String
    /// Empty if there is nothing to say.
    public var detail: String
    public var isClosed: Bool
    /// In the order in which they are shown.
    public var items: [SharedItem]

    /// A project with its items.
    public init(id: String, title: String, detail: String = "", isClosed: Bool = false, items: [SharedItem] = []) {
        self.id = id
        self.title = title
        self.detail = detail
        self.isClosed = isClosed
        self.items = items
    }
}

/// One item of a shared project.
public struct SharedItem: Hashable, Sendable, Identifiable {
    /// The only one of that id in its project.
    public var id: String
    /// May be empty: an item that nobody has named yet.
    public var title: String
    /// Empty if there is nothing to say.
    public var detail: String
    public var isCompleted: Bool

    /// An item.
    public init(id: String, title: String, detail: String = "", isCompleted: Bool = false) {
        self.id = id
        self.title = title
        self.detail = detail
        self.isCompleted = isCompleted
    }
}

extension ProjectDraft: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case id, title, detail, isClosed = "closed", items
    }

    public init(from decoder: any Decoder) throws {
        try AnyKey.refuseUnknown(in: decoder, known: Set(CodingKeys.allCases.map(\.rawValue)))
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
        try AnyKey.refuseUnknown(in: decoder, known: Set(CodingKeys.allCases.map(\.rawValue)))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id), title: try container.decode(String.self, forKey: .title),
            detail: try container.decodeIfPresent(String.self, forKey: .detail) ?? "",
            isCompleted: try container.decodeIfPresent(Bool.self, forKey: .isCompleted) ?? false)
    }
}
