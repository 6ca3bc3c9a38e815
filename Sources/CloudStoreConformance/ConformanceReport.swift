/// What a run of all checks found.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// How many checks were run.
    public let checkCount: Int
    /// The parts whose checks were left out because the cloud does not offer them.
    public let skipped: [ConformancePart]
    /// The promises that were not kept, in the order of the checks.
    public let failures: [ConformanceFailure]

    /// Whether every promise was kept.
    public var isPassed: Bool { failures.isEmpty }

    /// Throws the first failure, if there is one.
    public func verify() throws(ConformanceFailure) {
        if let first = failures.first { throw first }
    }

    /// One line for each failure and for each part left out, and a sum.
    public var description: String {
        (failures.map { "failed  \($0)" } + skipped.map { "skipped \($0)" } + ["\(checkCount - failures.count) of \(checkCount) promises kept"]).joined(
            separator: "\n")
    }
}

/// A promise that a backend does not keep.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The check's name.
    public let check: String
    /// What was expected and what came.
    public let reason: String
    /// The line of the check's source file that says so, if one does.
    public let line: Int?

    public var description: String { "\(check): \(reason)" + (line.map { " (line \($0))" } ?? "") }
}
