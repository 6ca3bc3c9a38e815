import Foundation
import Synchronization

/// How long a connection waits for another program's lock, and whom it tells.
final class LockWait: Sendable {
    /// How long a connection waits, in seconds, and after how many it calls the observer.
    static let seconds = 10, secondsOfSilence = 1

    private struct State {
        var begin = ContinuousClock.now
        var isReported = false
        var isPatient = true
    }

    private let state = Mutex(State())
    private let tell: @Sendable () -> Void

    /// - Parameter tell: called once for each wait that lasts for more than a second.
    init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }

    /// Whether the connection waits at all.
    func setPatient(_ isPatient: Bool) { state.withLock { $0.isPatient = isPatient } }

    /// Waits a moment; false once the time is over.
    ///
    /// - Parameter tries: how often SQLite has asked in this wait; 0 begins one.
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
        // SQLite's own delays in milliseconds.
        let delays: [UInt32] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100]
        usleep(delays[min(tries, delays.count - 1)] * 1000)
        return true
    }
}
