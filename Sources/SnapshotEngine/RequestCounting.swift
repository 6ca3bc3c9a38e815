package import ObjectCloud

/// A report that carries the number of requests that its run sent to a bucket.
package protocol RequestCounting {
    /// The run's requests and their bytes; nil with a directory or with the application's own backend.
    var requests: RequestUsage? { get set }
}
