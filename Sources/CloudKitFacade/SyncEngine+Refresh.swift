import CloudStore
import LocalStore
import Logging
import RecordZones
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

extension SyncEngine {
    /// Imports the newest version again, even if it is already applied. Every block of a reader's rows is compared with the version.
    ///
    /// For a reader whose rows may be wrong. Local changes in the log are kept, as in every import. On a publishing device this is the same
    /// as ``importNewest(progress:)``: there the device's own rows count.
    public func importAnew(progress: ProgressHandler? = nil) async throws -> ImportReport {
        try await locked {
            let device = try device()
            var run = ImportRun(device: device, progress: progress)
            run.comparesAll = device.settings.role == .reader
            return try await run.importNewest()
        }
    }

    /// Returns a stream of hints that another device has published, or has sent a message that this device must publish. Sync at each hint.
    /// The hints end with the task that iterates.
    ///
    /// Only records of this database's datasets cause a hint. The hints continue if the cloud is unreachable for a while. They end if the
    /// database can no longer be read, and the log says why.
    ///
    /// - Parameter interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``). A cloud with
    ///   events is checked at each event, and every 30 s in addition.
    public func hints(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await gate.enter()
        let device = try device()
        // The gate is an event source too, so that opening it starts a check at once.
        let wait = ZoneWait(for: device.zone, of: device.cloud, every: interval, or: gate.changes()), gate = gate, logger = logger
        let zone = CloudZone(device.zone, of: device.cloud, as: device.settings.device, now: now)
        // The subscription itself does not wait, since the hints wait between two checks.
        let commits = try await SyncError.at(.fetch) { try await zone.subscribe(RecordSubscription("snapshots")) { false } }
        return ZoneHints(commits: commits, device: device) {
            // While the gate is closed, the cloud is not checked.
            while await wait.next() {
                do {
                    if try gate.standing() == .open { return true }
                } catch {
                    let error = SyncError(error, step: .read)
                    if error.isRetryable { continue }
                    logger.error("news of the zone is no longer listened for", metadata: ["error": "\(error)"])
                    return false
                }
            }
            return false
        }
    }
}

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

        init(source: ZoneHints, commits: RecordNotifications.Iterator) { (self.source, self.commits) = (source, commits) }

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
