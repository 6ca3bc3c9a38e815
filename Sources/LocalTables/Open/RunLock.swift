import Foundation
import Platform
package import StrictText
import Synchronization

/// Prevents two runs on one database at the same time. This only saves work: correctness never depends on it.
///
/// It is a lock on `FILE.snapsync-lock`, which the kernel releases when the process ends in any way. The file is empty. Its modification time is
/// when the last successful run that had nothing to do began, so that such a run need not write to the database.
package final class RunLock: Sendable {
    private let lock: FileLock

    /// The lock file of a database. If `database` is a link, the lock file is beside the link's target, so that all names of one database share
    /// one lock.
    ///
    /// Only a link in the last path component matters: a folder has the same lock file by whatever name it is reached.
    package static func path(for database: String) -> String { (System.destination(ofLink: database) ?? database) + ".snapsync-lock" }

    /// Takes the lock of `database`, or fails at once.
    ///
    /// - Throws: ``SyncError`` with `.running` if another run holds it.
    package init(database: String) throws {
        let path = Self.path(for: database), isNew = FileTimes(ofFile: path) == nil
        do throws(FileLock.Failure) {
            lock = try FileLock(path)
            // A new file tells of no run.
            if isNew { _ = FileTimes.set(0, ofFile: path) }
        } catch {
            switch error {
            case .held:
                throw SyncError(
                    database: .running, at: database, "another run of snapsync works on this database", hint: "let it finish; the next run does what is left")
            case .unopened(let fault):
                throw SyncError(
                    database: fault.isForbidden ? .permissionDenied : .inputOutput, at: path, "the lock file cannot be opened: \(fault.words)",
                    hint: fault.isForbidden && !isNew
                        ? "another user's run has left it, with sudo perhaps: remove it, or chown it" : "check that the database's folder can be written")
            case .unlockable(let fault):
                throw SyncError(database: .inputOutput, at: path, "the lock file cannot be locked: \(fault.words)")
            }
        }
    }

    /// When the last successful run that had nothing to do began; nil if there is no lock file.
    package static func lastIdleRun(of database: String) -> Instant? { FileTimes(ofFile: path(for: database)).map { Instant(microseconds: $0.modified) } }

    /// Records when a successful run began that had nothing to do. Returns whether that was possible: only the file's owner may set its time.
    package static func setLastIdleRun(_ began: Instant, of database: String) -> Bool { FileTimes.set(began.microseconds, ofFile: path(for: database)) }
}

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
