public import Foundation

/// An error as a user interface shows it: an identifiable value, made from any error or from a plain string.
///
///     @State var failure: PresentableError?
///     failure = PresentableError(error, in: .preferred)
///     failure = "The file \(name) is too large."
///     .alert(item: $failure) { … $0.title … $0.message … $0.nextStep … }
///
/// The texts are those of ``ErrorTable``. A `partialFailure` is always unwrapped to its cause. Two values of one error are two: each has
/// an id of its own.
public struct PresentableError: Error, Identifiable, Sendable, CustomStringConvertible {
    /// Tells one showing from the next.
    public let id: UUID
    /// The error's name for programs and support, such as `cloud.zoneBusy`; it never changes. Nil for strings and errors from elsewhere.
    public let identifier: String?
    /// A few words, for the head of an alert.
    public private(set) var title: String
    /// What happened, in a sentence or two; nil if the title says all.
    public private(set) var message: String?
    /// What to do next, in a sentence or two; nil if nothing can be said.
    public private(set) var nextStep: String?
    /// The technical words, in English, for those who ask for details: where, why, and what to do; nil if there are none besides the title.
    public let details: String?
    /// Whether a button *Try again* makes sense.
    public let isRetryable: Bool
    /// How long that button should wait; nil if the cloud did not say.
    public let retryAfter: Duration?

    /// Wraps any error: one of this library in the words of ``ErrorTable``, a localized one in its own, another in its description.
    public init(_ error: any Error, in language: ErrorLanguage = .english) {
        switch error {
        case let error as PresentableError: self = error
        case let error as any PresentableErrorConvertible: self = error.presentable(in: language)
        case is CancellationError: self.init(CloudError.Code.operationCancelled.entry, in: language)
        case let error as any LocalizedError:
            self.init(
                title: error.errorDescription ?? String(describing: error), nextStep: error.recoverySuggestion, details: error.failureReason)
        default: self.init(title: String(describing: error))
        }
    }

    /// Wraps a sentence of the caller's own.
    public init(_ sentence: String) {
        self.init(title: sentence)
    }

    /// Shows a row of the table of errors.
    ///
    /// - Parameters:
    ///   - details: the technical words.
    ///   - isRetryable: whether this very error says that trying again helps; the row may say so, too.
    public init(
        _ entry: ErrorEntry, in language: ErrorLanguage = .english, details: String? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil
    ) {
        let text = entry.text(in: language)
        self.init(
            identifier: entry.identifier, title: text.title, message: text.message, nextStep: text.nextStep, details: details,
            isRetryable: isRetryable || entry.retry == .later, retryAfter: retryAfter)
    }

    /// Shows the row of an identifier; for one that the table does not know, the row of `internalError`.
    package init(identifier: String, in language: ErrorLanguage, details: String, isRetryable: Bool = false, retryAfter: Duration? = nil) {
        self.init(
            ErrorEntry(identifier: identifier) ?? ErrorTable.entries[0], in: language, details: details, isRetryable: isRetryable, retryAfter: retryAfter)
    }

    private init(
        identifier: String? = nil, title: String, message: String? = nil, nextStep: String? = nil, details: String? = nil, isRetryable: Bool = false,
        retryAfter: Duration? = nil
    ) {
        id = UUID()
        self.identifier = identifier
        self.title = title
        self.message = message
        self.nextStep = nextStep
        self.details = details
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
    }

    /// The same showing in another language; unchanged if the texts are not those of ``ErrorTable``.
    public func translated(to language: ErrorLanguage) -> PresentableError {
        guard let text = identifier.flatMap(ErrorEntry.init(identifier:))?.text(in: language) else { return self }
        var translated = self
        (translated.title, translated.message, translated.nextStep) = (text.title, text.message, text.nextStep)
        return translated
    }

    /// The cloud's code; nil for errors from elsewhere.
    public var code: CloudError.Code? {
        guard let identifier, identifier.hasPrefix("cloud.") else { return nil }
        return CloudError.Code(name: String(identifier.dropFirst("cloud.".count)))
    }

    /// Whether somebody cancelled it: there is nothing to show then.
    public var isCancellation: Bool { code == .operationCancelled }

    /// What happened, else the title, and the next step.
    public var description: String { [message ?? title, nextStep].compactMap(\.self).joined(separator: " ") }
}

extension PresentableError: ExpressibleByStringInterpolation {
    /// Wraps a sentence written out in the source.
    public init(stringLiteral sentence: String) {
        self.init(sentence)
    }
}
