public import CloudStore
public import SnapshotModel

/// How long the texts of a shared project may be: everybody's list shows what one device put there.
public enum ShareLimits {
    /// The bytes of a project's or an item's id, as UTF-8.
    public static let idByteCount = 200
    /// The bytes of an owner's or a commentator's name.
    public static let nameByteCount = 200
    /// The bytes of a title.
    public static let titleByteCount = 1000
    /// The bytes of a detail or of a comment.
    public static let textByteCount = 20_000
    /// How many items a project may have.
    public static let itemCount = 10_000

    /// Refuses a project that nobody could show.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`, without the texts themselves.
    public static func verify(_ draft: ProjectDraft, owner: String) throws(CloudError) {
        try verify(owner, "the owner's name", at: "owner", upTo: nameByteCount)
        try verify(draft.id, "the project's id", at: "project", upTo: idByteCount)
        try verify(draft.title, "the project's title", at: "project", upTo: titleByteCount)
        try verify(draft.detail, "the project's detail", at: "project", upTo: textByteCount, mayBeEmpty: true)
        guard draft.items.count <= itemCount else {
            throw refusal("project", "the project has \(draft.items.count) items, at most \(itemCount) are shared", "split it into several projects")
        }
        var ids: Set<String> = []
        for (index, item) in draft.items.enumerated() {
            let place = "item \(index + 1)"
            try verify(item.id, "the id", at: place, upTo: idByteCount)
            try verify(item.title, "the title", at: place, upTo: titleByteCount, mayBeEmpty: true)
            try verify(item.detail, "the detail", at: place, upTo: textByteCount, mayBeEmpty: true)
            // By bytes: two texts that only look alike are two ids.
            guard ids.insert(ContentHash.of(item.id.utf8)).inserted else {
                throw refusal(place, "another item of the project has the same id", "give each item an id of its own")
            }
        }
    }

    /// Refuses a comment that says nothing, or that nobody says.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    public static func verify(comment text: String, by name: String) throws(CloudError) {
        try verify(text, "the text", at: "comment", upTo: textByteCount)
        try verify(name, "the name", at: "comment", upTo: nameByteCount)
    }

    /// Whether a text says nothing: it is empty or white space.
    public static func isBlank(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    private static func verify(_ text: String, _ what: String, at place: String, upTo limit: Int, mayBeEmpty: Bool = false) throws(CloudError) {
        guard mayBeEmpty || !isBlank(text) else { throw refusal(place, "\(what) is empty", "write something other than white space") }
        guard text.utf8.count <= limit else {
            throw refusal(place, "\(what) has \(text.utf8.count) bytes, at most \(limit) are allowed", "make it shorter")
        }
    }

    private static func refusal(_ place: String, _ reason: String, _ hint: String) -> CloudError {
        CloudError(.invalidArguments, at: place, reason, hint: hint)
    }
}
