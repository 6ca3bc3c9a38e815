public import StrictText

/// An error that provides its own texts for a user interface. The errors of this library conform; an application's errors can too.
public protocol PresentableErrorConvertible: Error {
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
    public func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: "data.badInstant", in: language, details: description)
    }
}

extension JSONFault: PresentableErrorConvertible {
    public func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: "data.badJSON", in: language, details: description)
    }
}
