import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotModel

/// Hints that a sync has something to do, for one device: commits of other devices, and at a device that publishes messages for it.
struct ZoneHints: AsyncSequence, Sendable {
    typealias Element = Void
    typealias Failure = Never

    let commits: RecordNotifications
    let device: SyncContext
    /// Returns true when it is time to look again, false when the hints are to end.
    let wait: @Sendable () async -> Bool

    func makeAsyncIterator() -> Iterator { Iterator(source: self, commits: commits.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        let source: ZoneHints
        var commits: RecordNotifications.Iterator
        /// Whether the last hint was for messages: they stay until a sync has answered them, so the next look is not at once.
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

    /// Whether a message waits that this device has not answered. What cannot be read now is read at the next look.
    private func hasMessages() async -> Bool {
        do {
            guard let heard = try device.database.read({ try $0.settings.read().role.publishes ? Set($0.inbox.entries().map(\.id)) : nil }) else {
                return false
            }
            let mailbox = try await device.cloud.mailbox(MailboxRequest(known: heard, limit: 1), in: device.zone)
            return !mailbox.messages.isEmpty
        } catch {
            return false
        }
    }
}
