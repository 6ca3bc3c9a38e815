/// How often and after which waits a request that lost a race is built anew.
public struct RetryPolicy: Sendable {
    /// How many times in all, from 1.
    public var attempts: Int
    /// The longest wait after the first lost race; it doubles with each further one.
    public var firstDelay: Duration
    /// Where doubling ends.
    public var longestDelay: Duration
    private let chance: @Sendable () -> Double

    /// A policy of so many attempts.
    ///
    /// - Parameter chance: a number from 0 up to 1; each wait is between a half and all of its length, so that devices that
    ///   collided once do not collide again.
    public init(
        attempts: Int = 30, firstDelay: Duration = .milliseconds(4), longestDelay: Duration = .seconds(1),
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.attempts = max(1, attempts)
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        self.chance = chance
    }

    /// The error when all attempts have lost.
    func exhausted(at zone: ZoneID) -> CloudError {
        CloudError(
            .zoneBusy, at: "\(zone)", "other devices published first, \(attempts) times in a row", hint: "try again in a moment",
            isRetryable: true, retryAfter: longestDelay)
    }

    /// The wait after so many lost races, from 1.
    package func delay(after losses: Int) -> Duration {
        let whole = min(longestDelay, firstDelay * (1 << min(max(losses, 1) - 1, 20)))
        return whole * (0.5 + chance() / 2)
    }
}
