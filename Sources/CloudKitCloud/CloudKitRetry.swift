import Foundation

/// How often and how patiently a request to CloudKit is repeated.
package struct CloudKitRetry: Sendable {
    package var attempts = 6
    /// The longest first pause; each further one may be twice as long.
    package var firstPause = Duration.milliseconds(200)
    package var longestPause = Duration.seconds(10)
    /// CloudKit may ask for more patience than anybody has: the run fails then, and the next one goes on.
    package var patience = Duration.seconds(60)
    /// Waits. Replaced in tests.
    package var sleep: @Sendable (Duration) -> Void = { Thread.sleep(forTimeInterval: $0 / .seconds(1)) }

    package init() {}

    /// Waits after an attempt, from 1, at least as long as CloudKit wants.
    func pause(after attempt: Int, _ wanted: Duration?) {
        let longest = min(longestPause, firstPause * (1 << min(attempt - 1, 16)))
        sleep(max(longest * Double.random(in: 0.5...1), min(wanted ?? .zero, patience)))
    }
}
