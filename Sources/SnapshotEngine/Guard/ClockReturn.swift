import CloudStore
import LocalStore
import Logging
import SnapshotVersions
import StrictText

extension SyncContext {
    /// Corrects changes that were tracked while the clock ran ahead: their instants are no longer in the future, now that the clock is right.
    ///
    /// Call this after the run knows what this device's last commit contains, and before it sends, merges or publishes anything. If the clock is
    /// not set, or a day off the cloud's clock, nothing changes. If no instant is in the future, this costs two reads of small tables.
    package func correctFutureInstants() async throws {
        let now = now()
        guard ClockGuard.isPlausible(now), try database.read(at: .read, { try $0.futureInstants.exist(of: settings.datasets, now: now) })
        else { return }
        // Not every cloud has a clock. Without one, trust the device's clock.
        if let there = try? await cloud.storeClock(in: zone), (try? CommitClock.verify(now, against: there)) == nil { return }
        try database.write(at: .apply) { try $0.futureInstants.correct(of: settings.datasets, now: now) }
        logger.info("changes had instants in the future of this device's clock; they count as changed now")
    }

    /// Refuses a clock that prevents publishing, before anything changes in the database.
    ///
    /// - Throws: ``SyncError`` with `.refused`: the clock is outside 2000 to 2100, or a day or more off the cloud's own.
    package func verifyClock() async throws {
        let now = now()
        try ClockGuard.verify(now)
        guard let there = try? await cloud.storeClock(in: zone) else { return }
        try SyncError.at(.announce) { try CommitClock.verify(now, against: there) }
    }
}
