package import ObjectCloud

/// A report that carries the number of requests that its run sent to a bucket.
package protocol RequestCounting {
    /// The run's requests and their bytes; nil with a directory or with the application's own backend.
    var requests: RequestUsage? { get set }
}

extension SyncEngine {
    /// Runs `body` and stores the requests that it sent in its report.
    package func countingRequests<Report: RequestCounting>(_ body: () async throws -> Report) async throws -> Report {
        let before = requests.usage
        var report = try await body()
        report.requests = requests.usage.since(before)
        return report
    }
}
