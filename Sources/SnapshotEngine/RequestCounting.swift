package import ObjectCloud

/// A report that says how many requests its run has sent to a bucket.
package protocol RequestCounting {
    /// The requests of the run and their bytes; nil with a directory, and with a backend of the application's own.
    var requests: RequestUsage? { get set }
}

extension SyncEngine {
    /// Says in a run's report how many requests the run has sent.
    package func countingRequests<Report: RequestCounting>(_ body: () async throws -> Report) async throws -> Report {
        let before = requests.usage
        var report = try await body()
        report.requests = requests.usage.since(before)
        return report
    }
}
