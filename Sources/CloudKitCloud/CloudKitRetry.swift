import Foundation

/// How often a request to CloudKit is retried, and after which pauses.
package struct CloudKitRetry: Sendable {
    package var attempts = 6
    /// The longest first pause. The limit doubles with each further one.
    package var firstPause = Duration.milliseconds(200)
    package var longestPause = Duration.seconds(10)
    /// The longest pause that CloudKit may ask for. If CloudKit asks for more, the retries are used up early, the run fails, and the next
    /// run continues.
    package var patience = Duration.seconds(60)
    /// Waits. Replaced in tests.
    package var sleep: @Sendable (Duration) -> Void = { Thread.sleep(forTimeInterval: $0 / .seconds(1)) }

    package init() {}

    /// Waits after an attempt, counted from 1, at least as long as CloudKit asks.
    func pause(after attempt: Int, _ wanted: Duration?) {
        let longest = min(longestPause, firstPause * (1 << min(attempt - 1, 16)))
        sleep(max(longest * Double.random(in: 0.5...1), min(wanted ?? .zero, patience)))
    }
}
