public import CloudStore

/// Checks whether a store fulfils the contract of an ``ObjectStore``. Run it against your own store.
///
///     let report = await StoreConformance { try MyStore.empty() }.run()
///     print(report)
///     try report.verify()
///
/// Each check gets a new store, and its name states the promise that it checks. Nothing here depends on a test framework; with one, run
/// ``checks`` one by one, so that each is shown as a test.
public struct StoreConformance: Sendable {
    private let makeStore: @Sendable () async throws -> any ObjectStore

    /// - Parameter makeStore: makes a new store at each call, without zones. The objects that the checks store have the paths of a zone's files.
    public init(makeStore: @escaping @Sendable () async throws -> any ObjectStore) { self.makeStore = makeStore }

    /// The checks. An early failure is likely to be the cause of later ones.
    public static let checks: [StoreCheck] = StoreCheck.objects + StoreCheck.listings + StoreCheck.assets

    /// Runs the checks, one after the other, and returns the results.
    public func run() async -> ConformanceReport {
        var failures: [ConformanceFailure] = []
        for check in Self.checks {
            do { try await run(check) } catch { failures.append(error) }
        }
        return ConformanceReport(checkCount: Self.checks.count, failures: failures)
    }

    /// Runs one check on a new store.
    public func run(_ check: StoreCheck) async throws(ConformanceFailure) {
        do {
            let store = try await makeStore()
            try store.makeFolders(of: StoreTest.zone)
            // Some stores make room for a zone when its marker is stored.
            _ = try store.put([1], as: "\(StoreTest.zone)/zone.json")
            try check.body(StoreTest(store: store))
        } catch let broken as BrokenPromise {
            throw ConformanceFailure(check: check.name, reason: broken.reason, line: broken.line)
        } catch {
            throw ConformanceFailure(check: check.name, reason: "an error that should not have come: \(error)", line: nil)
        }
    }
}

/// One promise of the contract, and the code that checks it.
public struct StoreCheck: Sendable, CustomStringConvertible {
    /// The promise as a name: `objectIsNeverReplaced`.
    public let name: String
    let body: @Sendable (StoreTest) throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (StoreTest) throws -> Void) { (self.name, self.body) = (name, body) }

    public var description: String { name }
}

/// The error of a check whose promise is broken.
struct BrokenPromise: Error {
    let reason: String
    let line: Int
}

/// The store of one check.
struct StoreTest: Sendable {
    let store: any ObjectStore
    static let zone = ZoneID("ConformanceZone")

    /// The path of a commit's object.
    func path(_ number: Int) -> String {
        let text = String(number)
        return "\(Self.zone)/commits/\(String(repeating: "0", count: 20 - text.utf8.count))\(text).json"
    }

    /// Fails the check unless the condition holds.
    func expect(_ condition: Bool, _ reason: String, line: Int = #line) throws {
        guard condition else { throw BrokenPromise(reason: reason, line: line) }
    }

    /// Fails the check unless both are equal.
    func expect<T: Equatable>(_ found: T, is expected: T, _ what: String, line: Int = #line) throws {
        try expect(found == expected, "\(what): \(expected) was expected, \(found) came", line: line)
    }
}

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
