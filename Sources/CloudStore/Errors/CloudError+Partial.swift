extension CloudError {
    /// The error that explains this one: of a `partialFailure`, that of the record that made it fail; else the error itself.
    ///
    /// Among several the gravest is taken: one that no repetition heals before one that it does, `batchRequestFailed` last.
    /// Equal ones go by the records' names, so that the answer is always the same.
    public var cause: CloudError {
        guard code == .partialFailure else { return self }
        let causes = partialErrors.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map(\.value.cause)
        return causes.min { $0.leniency < $1.leniency } ?? self
    }

    private var leniency: Int {
        if code == .batchRequestFailed { return 3 }
        if code == .operationCancelled { return 2 }
        return isRetryable ? 1 : 0
    }

    /// The failure of a request of which these records failed, by name; nil if none did.
    ///
    /// Its words, its hint and whether trying again helps are those of the ``cause``.
    public static func partial(_ errors: [String: CloudError], at place: String) -> CloudError? {
        guard !errors.isEmpty else { return nil }
        let cause = CloudError(.partialFailure, at: place, "", partialErrors: errors).cause
        let innocent = errors.values.count { $0.code == .batchRequestFailed }
        let failed = errors.count - innocent
        var reason = "\(failed) of the records failed, the first because: \(cause)"
        if failed <= 1 { reason = "a record failed because: \(cause)" }
        if innocent > 0 { reason += "; nothing was saved" }
        return CloudError(
            .partialFailure, at: place, reason, isRetryable: cause.isRetryable,
            retryAfter: errors.values.compactMap(\.retryAfter).max(), partialErrors: errors)
    }
}
