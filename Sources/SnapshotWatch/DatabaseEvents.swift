import CloudStore
import DirectoryCloud
import Foundation
import Platform
import Synchronization

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
        self.path = path
        self.handler = handler
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
