import StrictText

/// One row of ``ErrorTable``: the meaning of an error, for programs and for people.
public struct ErrorEntry: Hashable, Sendable {
    /// Whether the same request may succeed later, and under which condition.
    public enum Retry: String, Hashable, Sendable, CaseIterable {
        /// Repeating the request does not help.
        case never
        /// The same request may succeed; wait a while first.
        case later
        /// The request succeeds after fetching what is new and rebuilding the request.
        case afterFetching = "after fetching"
        /// The request succeeds after a person has taken the next step.
        case afterAction = "after the next step"
    }

    /// The texts that a user interface shows, in one language, without technical words.
    public struct Text: Hashable, Sendable {
        /// A few words, for an alert's title.
        public let title: String
        /// What happened: one or two sentences.
        public let message: String
        /// What to do next: one or two sentences.
        public let nextStep: String
    }

    /// The error's name for programs and support: a family and a code, such as `cloud.zoneBusy`. It never changes.
    public let identifier: String
    /// The number of the `CKError.Code` with the same meaning; nil for errors of other families than the cloud.
    public let number: Int?
    /// The name of that `CKError.Code`.
    public let name: String?
    /// The meaning, for developers.
    public let meaning: String
    /// Whether a retry helps.
    public let retry: Retry
    /// Whether this library raises the error. The other rows exist because programs for CloudKit handle them.
    package let isRaisedHere: Bool
    private let english: Text
    private let italian: Text

    /// The texts in a language.
    public func text(in language: ErrorLanguage) -> Text {
        switch language {
        case .english: english
        case .italian: italian
        }
    }

    /// Makes a row from the parts of its lines in ``ErrorRows``.
    init(_ parts: [String], english: [String], italian: [String]) {
        let code = parts[1].exact.split(separator: " ")
        (identifier, number, name) = (parts[0], Int(code[0]), code.count == 2 ? code[1] : nil)
        (retry, meaning, isRaisedHere) = (Retry(rawValue: parts[2]) ?? .never, parts[3], parts.count == 4)
        self.english = Text(title: english[0], message: english[1], nextStep: english[2])
        self.italian = Text(title: italian[0], message: italian[1], nextStep: italian[2])
    }
}

extension ErrorEntry {
    /// The row of a `CKError.Code`, by its number; nil if CKError has no such code.
    public init?(number: Int) {
        // If several errors of this library share a number, the first row is the one with CKError's own name.
        guard let entry = ErrorTable.entries.first(where: { $0.number == number }) else { return nil }
        self = entry
    }

    /// The row of an identifier; nil if the table has no such row.
    public init?(identifier: String) {
        guard let entry = ErrorTable.byIdentifier[identifier] else { return nil }
        self = entry
    }

    /// The row of a cloud error's code; the row of `internalError` for an unknown code.
    public init(code: CloudError.Code) {
        self = ErrorEntry(identifier: code.identifier) ?? ErrorTable.entries[0]
    }
}
