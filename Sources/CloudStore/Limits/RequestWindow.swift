import Synchronization

/// Counts requests in a window that slides, and says how long to wait where there were too many.
final class RequestWindow: Sendable {
    private let rate: CloudLimits.Rate
    private let elapsed: @Sendable () -> Duration
    private let times = Mutex<[Duration]>([])

    /// - Parameter elapsed: a clock that only goes forward, from any beginning.
    init(_ rate: CloudLimits.Rate, elapsed: @escaping @Sendable () -> Duration) {
        self.rate = rate
        self.elapsed = elapsed
    }

    /// Counts one request.
    ///
    /// - Throws: ``CloudError`` with `.requestRateLimited`, whose `retryAfter` is when there is room again. That request does not count.
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
