import CloudStore
import RecordZones
import LocalStore
import SnapshotEngine
import SnapshotModel

/// Hints that a device has something to sync: commits of other devices and, on a publishing device, messages.
struct ZoneHints: AsyncSequence, Sendable {
    typealias Element = Void
    typealias Failure = Never

    let commits: RecordNotifications
    let device: SyncContext
    /// Returns true when it is time to check again, false to end the hints.
    let wait: @Sendable () async -> Bool

    func makeAsyncIterator() -> Iterator { Iterator(source: self, commits: commits.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        let source: ZoneHints
        var commits: RecordNotifications.Iterator
        /// Whether the last hint was for messages. They remain until a sync has answered them, so wait before the next check.
        private var mustWait = false

        init(source: ZoneHints, commits: RecordNotifications.Iterator) {
            self.source = source
            self.commits = commits
        }

        mutating func next() async -> Void? {
            while true {
                if mustWait {
                    mustWait = false
                    guard await source.wait() else { return nil }
                }
                while let hint = await commits.next() {
                    if source.concerns(hint) { return () }
                }
                guard !Task.isCancelled else { return nil }
                mustWait = true
                if await source.hasMessages() { return () }
            }
        }
    }

    private func concerns(_ hint: RecordNotification) -> Bool {
        guard let name = hint.recordName else { return true }
        return device.settings.datasets.contains { $0.recordName == name }
    }

    /// Whether there is an edit of a reader that this device has not decided. If the mailbox cannot be read, the next check reads it.
    private func hasMessages() async -> Bool {
        do {
            guard try device.database.read({ try $0.settings.read().role.publishes }) else { return false }
            return try await !device.undecidedEdits().isEmpty
        } catch {
            return false
        }
    }
}
