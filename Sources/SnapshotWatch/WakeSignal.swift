import CloudStore
import DirectoryCloud
import Foundation
import Platform
import Synchronization

/// Wakes the one waiting task: any thread adds events, and the task takes all of them together.
final class WakeSignal: Sendable {
    /// An event since the last call of ``WakeSignal/take()``.
    enum Wake: Hashable, Sendable {
        /// A file of the database was written.
        case database
        /// A file of the database was written in a way that may have ended a transaction.
        case transaction
        case commit(Int)
        case message(from: String)
        case directory
        /// The gate's decision may have changed.
        case gate
    }

    private struct State {
        var wakes: Set<Wake> = []
        /// Whether the wait ends without an event: the time has passed, or the task was cancelled.
        var isPoked = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Adds an event and wakes the waiting task.
    func raise(_ wake: Wake) { change { $0.wakes.insert(wake) } }

    /// Returns all events and removes them.
    func take() -> Set<Wake> {
        state.withLock { state in
            defer { state.wakes = [] }
            return state.wakes
        }
    }

    /// Waits until there is an event, the time has passed, or the task is cancelled. It may also return without a reason.
    func wait(for duration: Duration, on clock: any Clock<Duration>) async {
        let alarm = Task { if (try? await clock.sleep(for: duration)) != nil { poke() } }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    let isDue = state.isPoked || !state.wakes.isEmpty
                    state.isPoked = false
                    if !isDue { state.waiter = continuation }
                    return isDue
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            poke()
        }
        alarm.cancel()
    }

    private func poke() { change { $0.isPoked = true } }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state in
            body(&state)
            if state.waiter != nil { state.isPoked = false }
            return state.waiter.take()
        }
        waiter?.resume()
    }
}

/// Calls a handler when a SQLite database's files are written: the file itself, its write-ahead log, its rollback journal.
///
/// It watches the folder, because these files are created and deleted, and an application may replace the database file.
final class DatabaseEvents: Sendable {
    private struct State {
        var events: FileEvents?
        var watch: Int32?
    }

    private let path: String
    private let handler: @Sendable (_ mayBeCommit: Bool) -> Void
    private let state = Mutex(State())

    /// - Parameter handler: is told whether a transaction may have ended: the write-ahead log was written, or the rollback journal removed.
    ///   A check of the database then gets in no application's way. During a transaction in rollback mode it could: the check's lock can make
    ///   the application's COMMIT fail if that has no busy timeout.
    init(database path: String, _ handler: @escaping @Sendable (_ mayBeCommit: Bool) -> Void) {
        (self.path, self.handler) = (path, handler)
    }

    /// Watches the folder if it exists and is not watched yet.
    ///
    /// - Returns: why events may be missed, as a sentence; nil if they are complete.
    func arm() -> String? {
        // If the path is a symbolic link, SQLite keeps its log and journal beside the link's target.
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = file.deletingLastPathComponent().path
        let name = file.lastPathComponent, log = name + "-wal", journal = name + "-journal"
        let failure: SystemFault? = state.withLock { state in
            do throws(SystemFault) {
                let events: FileEvents
                if let known = state.events {
                    events = known
                } else {
                    let handler = handler
                    events = try FileEvents { changes in
                        let own = changes.filter { $0.name == nil || $0.name == name || $0.name == log || $0.name == journal }
                        if own.isEmpty { return }
                        handler(own.contains { $0.name == log || $0.name == journal && $0.isRemoval })
                    }
                    state.events = events
                }
                let watch = try events.watch(folder, for: .writes)
                if let old = state.watch, old != watch { events.end(old) }
                state.watch = watch
                return nil
            } catch {
                return error
            }
        }
        if let failure, !failure.isPassing { return FileEvents.explain(failure) }
        return RemoteFileSystem.name(ofDirectory: folder).map { "\(folder) is on \($0), which tells nothing of what other machines change" }
    }
}
