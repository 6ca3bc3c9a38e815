public import CloudStore

/// Checks whether a cloud fulfils the contract. Run it against your own backend.
///
///     let report = await CloudConformance { try MyCloud.empty() }.run()
///     print(report)
///     try report.verify()
///
/// Each check gets a new cloud, and its name states the promise that it checks. Nothing here depends on a test framework; with one, run
/// ``checks`` one by one, so that each is shown as a test.
public struct CloudConformance: Sendable {
    private let makeContext: @Sendable () async throws -> ConformanceContext

    /// Checks the clouds that a closure makes.
    ///
    /// - Parameter makeCloud: makes a new, empty cloud without zones at each call. If it is also a ``MailboxDatabase`` or a
    ///   ``RetentionDatabase``, these parts are checked too.
    public init(makeCloud: @escaping @Sendable () async throws -> any RecordDatabase) {
        makeContext = { ConformanceContext(try await makeCloud()) }
    }

    /// Checks the clouds that a closure makes, including how they handle damage of their stored files.
    ///
    /// - Parameter makeCloud: makes a new, empty cloud without zones at each call. The cloud is retained until its check ends.
    public init(damaging makeCloud: @escaping @Sendable () async throws -> any DamageableCloud) {
        makeContext = { ConformanceContext(try await makeCloud()) }
    }

    /// The checks of all parts, in the order in which they run. An early failure is likely to be the cause of later ones.
    public static let checks: [ConformanceCheck] =
        ConformanceCheck.zones + ConformanceCheck.commits + ConformanceCheck.changes + ConformanceCheck.assets + ConformanceCheck.values
        + ConformanceCheck.saving + ConformanceCheck.batches + ConformanceCheck.fetching + ConformanceCheck.queries
        + ConformanceCheck.subscriptions + ConformanceCheck.deletion + ConformanceCheck.mailbox + ConformanceCheck.reports
        + ConformanceCheck.retention + ConformanceCheck.history + ConformanceCheck.storedFiles

    /// The checks of some parts.
    public static func checks(of parts: Set<ConformancePart>) -> [ConformanceCheck] { checks.filter { parts.contains($0.part) } }

    /// Runs the checks of all parts that the cloud offers, one after the other, and returns the results.
    public func run() async -> ConformanceReport {
        // If no cloud can be made, every check fails.
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
