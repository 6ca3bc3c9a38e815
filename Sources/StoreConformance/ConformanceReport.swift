/// The results of a run of all checks.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The number of checks that were run.
    public let checkCount: Int
    /// The promises that are broken, in the order of the checks.
    public let failures: [ConformanceFailure]

    /// Whether every promise was kept.
    public var isPassed: Bool { failures.isEmpty }

    /// Throws the first failure, if there is one.
    public func verify() throws(ConformanceFailure) {
        if let first = failures.first { throw first }
    }

    /// One line for each failure, and a summary.
    public var description: String {
        (failures.map { "failed  \($0)" } + ["\(checkCount - failures.count) of \(checkCount) promises kept"]).joined(separator: "\n")
    }
}

/// A promise that a store does not keep.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The check's name.
    public let check: String
    /// The expected and the actual behaviour.
    public let reason: String
    /// The line of the failed expectation in the check's source file, if known.
    public let line: Int?

    public var description: String { "\(check): \(reason)" + (line.map { " (line \($0))" } ?? "") }
}
