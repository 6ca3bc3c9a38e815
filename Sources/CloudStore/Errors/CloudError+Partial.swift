extension CloudError {
    /// The error that explains this one: for a `partialFailure`, the error of the record that made it fail; otherwise the error itself.
    ///
    /// Among several errors it takes the most serious one: an error that retrying does not fix before one that it does; cancellation after
    /// those, and `batchRequestFailed` last. Equally serious errors are ordered by the records' names, so the answer is deterministic.
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

    /// Makes the error of a request in which these records failed, by name; nil if none failed.
    ///
    /// Its reason and whether a retry helps come from the ``cause``.
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
