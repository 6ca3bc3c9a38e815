public import CloudStore

/// Shows whether a ``CloudDatabase`` keeps the contract: run it against a backend of your own.
///
///     let report = await CloudConformance { try MyCloud.empty() }.run()
///     print(report)
///     try report.verify()
///
/// Each check gets a cloud of its own and says in its name which promise it looks at. Nothing here depends on a test framework;
/// with one, run ``checks`` one by one so that each shows as a test.
public struct CloudConformance: Sendable {
    private let makeCloud: @Sendable () async throws -> any CloudDatabase

    /// Checks the clouds that a closure makes.
    ///
    /// - Parameter makeCloud: makes a new, empty cloud without zones, on each call another one.
    public init(makeCloud: @escaping @Sendable () async throws -> any CloudDatabase) {
        self.makeCloud = makeCloud
    }

    /// All checks, in the order in which they are run: what fails first is most likely the cause of what fails later.
    public static let checks: [ConformanceCheck] =
        ConformanceCheck.zones + ConformanceCheck.commits + ConformanceCheck.changes + ConformanceCheck.assets + ConformanceCheck.values
        + ConformanceCheck.saving + ConformanceCheck.batches + ConformanceCheck.fetching + ConformanceCheck.queries
        + ConformanceCheck.subscriptions + ConformanceCheck.mailbox + ConformanceCheck.deletion + ConformanceCheck.retention

    /// Runs all checks, one after the other, and returns what they found.
    public func run() async -> ConformanceReport {
        var failures: [ConformanceFailure] = []
        for check in Self.checks {
            do { try await run(check) } catch { failures.append(error) }
        }
        return ConformanceReport(checkCount: Self.checks.count, failures: failures)
    }

    /// Runs one check on a new cloud.
    public func run(_ check: ConformanceCheck) async throws(ConformanceFailure) {
        do {
            try await check.body(ConformanceContext(cloud: try await makeCloud()))
        } catch let broken as BrokenPromise {
            throw ConformanceFailure(check: check.name, reason: broken.reason, line: broken.line)
        } catch {
            throw ConformanceFailure(check: check.name, reason: "an error that should not have come: \(error)", line: nil)
        }
    }
}
