import Foundation

/// How often a request that lost a race, or failed in passing, is tried again, and after which waits.
public struct RetryPolicy: Sendable {
    /// The number of attempts in total, at least 1.
    public var attempts: Int
    /// The longest wait after the first failure. It doubles with each further one.
    public var firstDelay: Duration
    /// The upper limit of the doubling.
    public var longestDelay: Duration
    private let chance: @Sendable () -> Double
    /// Waits. Replaced in tests.
    package var sleep: @Sendable (Duration) -> Void = { Thread.sleep(forTimeInterval: $0 / .seconds(1)) }

    /// Makes a policy.
    ///
    /// - Parameter chance: returns a random number from 0 up to 1. Each wait is between a half and all of its full length, so that devices
    ///   which collided once do not collide again.
    public init(
        attempts: Int = 30, firstDelay: Duration = .milliseconds(4), longestDelay: Duration = .seconds(1),
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.attempts = max(1, attempts)
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        self.chance = chance
    }

    /// The error after all attempts were lost.
    package func exhausted(at zone: ZoneID) -> CloudError {
        CloudError(
            .zoneBusy, at: zone.place, "other devices published first, \(attempts) times in a row", hint: "try again in a moment",
            isRetryable: true, retryAfter: longestDelay)
    }

    /// Waits after a number of failures, counted from 1, at least as long as the server asks, but for a minute at most. If it asks for more, the
    /// attempts are used up early, the run fails, and the next run continues.
    package func pause(after failures: Int, _ wanted: Duration?) { sleep(max(delay(after: failures), min(wanted ?? .zero, .seconds(60)))) }

    /// The wait after a number of lost races, counted from 1.
    package func delay(after losses: Int) -> Duration {
        let whole = min(longestDelay, firstDelay * (1 << min(max(losses, 1) - 1, 20)))
        return whole * (0.5 + chance() / 2)
    }
}
