import CloudStore
import Synchronization

/// Counts requests in a sliding window. If there were too many, says how long to wait.
final class RequestWindow: Sendable {
    private let rate: CloudLimits.Rate
    private let elapsed: @Sendable () -> Duration
    private let times = Mutex<[Duration]>([])

    /// - Parameter elapsed: a monotonic clock, counted from any start.
    init(_ rate: CloudLimits.Rate, elapsed: @escaping @Sendable () -> Duration) {
        self.rate = rate
        self.elapsed = elapsed
    }

    /// Counts one request.
    ///
    /// - Throws: ``CloudError`` with `.requestRateLimited`. Its `retryAfter` is the time until the next request is allowed. The refused
    ///   request is not counted.
    func admit(at place: String) throws(CloudError) {
        let now = elapsed()
        let wait: Duration? = times.withLock { times in
            times.removeAll { $0 + rate.window <= now }
            guard times.count >= rate.requests, let first = times.first else {
                times.append(now)
                return nil
            }
            return first + rate.window - now
        }
        guard let wait else { return }
        throw CloudError(
            .requestRateLimited, at: place, "more than \(rate.requests) requests in \(rate.window)", hint: "wait, then send the same request again",
            isRetryable: true, retryAfter: wait)
    }
}
