import Foundation
import Synchronization

/// Waits for another program's lock, up to a limit, and calls an observer.
final class LockWait: Sendable {
    /// The longest wait in seconds, and after how many seconds the observer is called.
    static let seconds = 10, secondsOfSilence = 1

    private struct State {
        var begin = ContinuousClock.now
        var isReported = false
        var isPatient = true
    }

    private let state = Mutex(State())
    private let tell: @Sendable () -> Void

    /// - Parameter tell: called once for each wait of more than a second.
    init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }

    /// Sets whether the connection waits at all.
    func setPatient(_ isPatient: Bool) { state.withLock { $0.isPatient = isPatient } }

    /// Sleeps briefly before SQLite's next attempt; returns false once the longest wait is over.
    ///
    /// - Parameter tries: how often SQLite has called in this wait; 0 for the first call.
    func goesOn(after tries: Int) -> Bool {
        let (goesOn, tells) = state.withLock { state -> (Bool, Bool) in
            guard state.isPatient else { return (false, false) }
            let now = ContinuousClock.now
            if tries == 0 { (state.begin, state.isReported) = (now, false) }
            let waited = now - state.begin
            guard waited < .seconds(Self.seconds) else { return (false, false) }
            let tells = !state.isReported && waited >= .seconds(Self.secondsOfSilence)
            if tells { state.isReported = true }
            return (true, tells)
        }
        if tells { tell() }
        guard goesOn else { return false }
        // The delays of SQLite's own busy handler, in milliseconds.
        let delays: [UInt32] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100]
        usleep(delays[min(tries, delays.count - 1)] * 1000)
        return true
    }
}
