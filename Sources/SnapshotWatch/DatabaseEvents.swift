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
    private let handler: @Sendable () -> Void
    private let state = Mutex(State())

    init(database path: String, _ handler: @escaping @Sendable () -> Void) {
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
        let names = Set(["", "-wal", "-journal"].map { file.lastPathComponent + $0 })
        let failure: SystemFault? = state.withLock { state in
            do throws(SystemFault) {
                let events: FileEvents
                if let known = state.events {
                    events = known
                } else {
                    let handler = handler
                    events = try FileEvents { changes in
                        if changes.contains(where: { $0.name.map(names.contains) ?? true }) { handler() }
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
