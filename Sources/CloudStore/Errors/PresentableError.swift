public import Foundation

/// An error as a user interface shows it: an identifiable value, made from any error or from a plain string.
///
///     @State var failure: PresentableError?
///     failure = PresentableError(error)
///     failure = "The file \(name) is too large."
///     .alert(item: $failure) { … $0.title … $0.nextStep … }
///
/// A `partialFailure` is always unwrapped to its cause. Two values of one error are two: each has an id of its own.
public struct PresentableError: Error, Identifiable, Sendable, CustomStringConvertible {
    /// Tells one showing from the next.
    public let id: UUID
    /// One sentence for people.
    public let title: String
    /// What to do next; nil if nothing can be said.
    public let nextStep: String?
    /// The technical words, for those who ask for details; nil if there are none besides the title.
    public let details: String?
    /// Whether a button *Try again* makes sense.
    public let isRetryable: Bool
    /// How long that button should wait; nil if the cloud did not say.
    public let retryAfter: Duration?
    /// Whether somebody cancelled it: there is nothing to show then.
    public let isCancellation: Bool
    /// The cloud's code; nil for errors from elsewhere.
    public let code: CloudError.Code?

    /// Wraps any error: a ``CloudError`` in the words of ``CloudErrorTable``, a localized one in its own, another in its description.
    public init(_ error: any Error) {
        switch error {
        case let error as PresentableError: self = error
        case let error as CloudError: self.init(error.cause)
        case is CancellationError: self.init(CloudError(.operationCancelled, at: "task", "the task was cancelled"))
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

    private init(_ error: CloudError) {
        let entry = error.code.entry
        self.init(
            title: entry.sentence, nextStep: error.hint ?? entry.nextStep, details: error.description,
            isRetryable: error.isRetryable || entry.retry == .later, retryAfter: error.retryAfter, code: error.code)
    }

    private init(
        title: String, nextStep: String? = nil, details: String? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil,
        code: CloudError.Code? = nil
    ) {
        id = UUID()
        self.title = title
        self.nextStep = nextStep
        self.details = details
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
        isCancellation = code == .operationCancelled
        self.code = code
    }

    /// The title and the next step.
    public var description: String { title + (nextStep.map { " \($0.prefix(1).uppercased())\($0.dropFirst())." } ?? "") }
}

extension PresentableError: ExpressibleByStringInterpolation {
    /// Wraps a sentence written out in the source.
    public init(stringLiteral sentence: String) {
        self.init(sentence)
    }
}
