public import Foundation
public import StrictText

/// An error as a user interface shows it: an identifiable value, made from any error or from a plain string.
///
///     @State var failure: PresentableError?
///     failure = PresentableError(error, in: .preferred)
///     failure = "The file \(name) is too large."
///     .alert(item: $failure) { … $0.title … $0.message … $0.nextStep … }
///
/// The texts come from ``ErrorTable``. A `partialFailure` is always replaced by its cause. Two values made from the same error are
/// different: each has its own id.
public struct PresentableError: Error, Identifiable, Sendable, CustomStringConvertible {
    /// Distinguishes this value from others, for SwiftUI's `alert(item:)`.
    public let id: UUID
    /// The error's name for programs and support, such as `cloud.zoneBusy`; it never changes. Nil for strings and for errors of other
    /// libraries.
    public let identifier: String?
    /// A few words, for an alert's title.
    public let title: String
    /// What happened, in a sentence or two; nil if the title is enough.
    public let message: String?
    /// What to do next, in a sentence or two; nil if there is no advice.
    public let nextStep: String?
    /// The technical text, in English, for people who ask for details: where, why, and what to do; nil if the title says all.
    public let details: String?
    /// Whether a *Try again* button makes sense.
    public let isRetryable: Bool
    /// How long to wait before trying again; nil if the cloud did not say.
    public let retryAfter: Duration?

    /// Wraps any error. An error of this library gets the texts of ``ErrorTable``, a localized error keeps its own, and any other shows its
    /// description.
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

    /// Wraps the caller's own sentence.
    public init(_ sentence: String) {
        self.init(title: sentence)
    }

    /// Shows a row of the error table.
    ///
    /// - Parameters:
    ///   - details: the technical text.
    ///   - isRetryable: whether a retry helps in this particular case, even if the row does not say so.
    public init(
        _ entry: ErrorEntry, in language: ErrorLanguage = .english, details: String? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil
    ) {
        let text = entry.text(in: language)
        self.init(
            identifier: entry.identifier, title: text.title, message: text.message, nextStep: text.nextStep, details: details,
            isRetryable: isRetryable || entry.retry == .later, retryAfter: retryAfter)
    }

    /// Shows the row of an identifier; the row of `internalError` for an unknown identifier.
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

    /// The cloud error's code; nil for all other errors.
    public var code: CloudError.Code? {
        guard let identifier, identifier.exact.hasPrefix("cloud.") else { return nil }
        return CloudError.Code(name: String(identifier.dropFirst("cloud.".count)))
    }

    /// Whether the operation was cancelled; then there is nothing to show.
    public var isCancellation: Bool { code == .operationCancelled }

    /// The message (or else the title), followed by the next step.
    public var description: String { [message ?? title, nextStep].compactMap(\.self).joined(separator: " ") }
}

extension PresentableError: ExpressibleByStringInterpolation {
    /// Wraps a string literal.
    public init(stringLiteral sentence: String) {
        self.init(sentence)
    }
}

/// An error that provides its own texts for a user interface. The errors of this library conform; an application's errors can too.
package protocol PresentableErrorConvertible: Error {
    /// The error as a user interface shows it.
    func presentable(in language: ErrorLanguage) -> PresentableError
}

extension CloudError: PresentableErrorConvertible {
    /// A `partialFailure` is shown as its ``cause``.
    public func presentable(in language: ErrorLanguage) -> PresentableError {
        let cause = cause
        return PresentableError(
            cause.code.entry, in: language, details: cause.description, isRetryable: cause.isRetryable, retryAfter: cause.retryAfter)
    }
}

extension InstantError: PresentableErrorConvertible {
    package func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: "data.badInstant", in: language, details: description)
    }
}

extension JSONFault: PresentableErrorConvertible {
    package func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: "data.badJSON", in: language, details: description)
    }
}
