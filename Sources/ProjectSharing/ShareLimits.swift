public import CloudStore
public import SnapshotModel
import StrictText

/// The limits for the texts of a shared project. They are needed because everybody's list shows what a single device has shared.
public enum ShareLimits {
    /// The most bytes of a project's or an item's id, as UTF-8.
    public static let idByteCount = 200
    /// The most bytes of an owner's or a comment author's name.
    public static let nameByteCount = 200
    /// The most bytes of a title.
    public static let titleByteCount = 1000
    /// The most bytes of a detail or of a comment.
    public static let textByteCount = 20_000
    /// The most bytes of a project with its items, as JSON. CloudKit has this limit for a record.
    public static let projectByteCount = 1_000_000

    /// Refuses a project whose texts are missing or too long, or that is too large or has an id twice.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`, without the texts themselves.
    public static func verify(_ draft: ProjectDraft, owner: String) throws(CloudError) {
        try verify(owner, "the owner's name", at: "owner", upTo: nameByteCount)
        try verify(draft.id, "the project's id", at: "project", upTo: idByteCount)
        try verify(draft.title, "the project's title", at: "project", upTo: titleByteCount)
        try verify(draft.detail, "the project's detail", at: "project", upTo: textByteCount, mayBeEmpty: true)
        var ids: Set<String> = []
        for (index, item) in draft.items.enumerated() {
            let place = "item \(index + 1)"
            try verify(item.id, "the id", at: place, upTo: idByteCount)
            try verify(item.title, "the title", at: place, upTo: titleByteCount, mayBeEmpty: true)
            try verify(item.detail, "the detail", at: place, upTo: textByteCount, mayBeEmpty: true)
            // Compare ids as bytes: texts that only look the same are different ids.
            guard ids.insert(ContentHash.of(item.id.utf8)).inserted else {
                throw refusal(place, "another item of the project has the same id", hint: "give each item an id of its own")
            }
        }
        let size = (try? StrictJSON.encode(draft))?.count ?? 0
        guard size <= projectByteCount else {
            throw refusal("project", "the project has \(size) bytes as JSON, at most \(projectByteCount) are shared", hint: "split it into several projects")
        }
    }

    /// Refuses a comment without a text or an author's name, or one that is too long.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    public static func verify(comment text: String, by name: String) throws(CloudError) {
        try verify(text, "the text", at: "comment", upTo: textByteCount)
        try verify(name, "the name", at: "comment", upTo: nameByteCount)
    }

    /// Whether a text is empty or contains only white space.
    public static func isBlank(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    private static func verify(_ text: String, _ what: String, at place: String, upTo limit: Int, mayBeEmpty: Bool = false) throws(CloudError) {
        guard mayBeEmpty || !isBlank(text) else { throw refusal(place, "\(what) is empty", hint: "write something other than white space") }
        guard text.utf8.count <= limit else {
            throw refusal(place, "\(what) has \(text.utf8.count) bytes, at most \(limit) are allowed", hint: "make it shorter")
        }
    }

    private static func refusal(_ place: String, _ reason: String, hint: String) -> CloudError {
        CloudError(.invalidArguments, at: place, reason, hint: hint)
    }
}
