public import CloudStore

/// Shows whether a cloud keeps the contract: run it against a backend of your own.
///
///     let report = await CloudConformance { try MyCloud.empty() }.run()
///     print(report)
///     try report.verify()
///
/// Each check gets a cloud of its own; its name says which promise it checks. Nothing here depends on a test framework;
/// with one, run ``checks`` one by one so that each shows as a test.
public struct CloudConformance: Sendable {
    private let makeContext: @Sendable () async throws -> ConformanceContext

    /// Checks the clouds that a closure makes.
    ///
    /// - Parameter makeCloud: makes a new, empty cloud without zones, on each call another one. A cloud that is a ``MailboxDatabase`` or a
    ///   ``RetentionDatabase``, too, is checked as such.
    public init(makeCloud: @escaping @Sendable () async throws -> any RecordDatabase) {
        makeContext = { ConformanceContext(try await makeCloud()) }
    }

    /// Checks the clouds that a closure makes, and how they meet damage of what they have stored.
    ///
    /// - Parameter makeCloud: makes a new, empty cloud without zones, on each call another one. It is kept until its check ends.
    public init(damaging makeCloud: @escaping @Sendable () async throws -> any DamageableCloud) {
        makeContext = { ConformanceContext(try await makeCloud()) }
    }

    /// The checks of all parts, in the order in which they are run: what fails first is most likely the cause of what fails later.
    public static let checks: [ConformanceCheck] =
        ConformanceCheck.zones + ConformanceCheck.commits + ConformanceCheck.changes + ConformanceCheck.assets + ConformanceCheck.values
        + ConformanceCheck.saving + ConformanceCheck.batches + ConformanceCheck.fetching + ConformanceCheck.queries
        + ConformanceCheck.subscriptions + ConformanceCheck.deletion + ConformanceCheck.mailbox + ConformanceCheck.reports
        + ConformanceCheck.retention + ConformanceCheck.history + ConformanceCheck.storedFiles

    /// The checks of some parts.
    public static func checks(of parts: Set<ConformancePart>) -> [ConformanceCheck] { checks.filter { parts.contains($0.part) } }

    /// Runs the checks of all parts that the cloud offers, one after the other, and returns what they found.
    public func run() async -> ConformanceReport {
        // A cloud that cannot be made fails each check.
        let context = try? await makeContext()
        let parts = Set(ConformancePart.allCases.filter { context?.offers($0) ?? true })
        let checks = Self.checks(of: parts)
        var failures: [ConformanceFailure] = []
        for check in checks {
            do { try await run(check) } catch { failures.append(error) }
        }
        return ConformanceReport(checkCount: checks.count, skipped: ConformancePart.allCases.filter { !parts.contains($0) }, failures: failures)
    }

    /// Runs one check on a new cloud. It fails if the cloud does not offer the check's part.
    public func run(_ check: ConformanceCheck) async throws(ConformanceFailure) {
        do {
            try await check.body(try await makeContext())
        } catch let broken as BrokenPromise {
            throw ConformanceFailure(check: check.name, reason: broken.reason, line: broken.line)
        } catch {
            throw ConformanceFailure(check: check.name, reason: "an error that should not have come: \(error)", line: nil)
        }
    }
}
