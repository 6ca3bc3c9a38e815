import CloudStore
import LocalStore
import Logging
import SnapshotVersions
import StrictText

extension SyncContext {
    /// Gives changes that were noted while the clock ran ahead instants that are not in the future, now that the clock is right.
    ///
    /// Call after it is known what this device's last commit has, and before anything is sent, merged or published. A clock that is not
    /// set, or is a day off the cloud's, changes nothing. Costs two looks at small tables where no instant is in the future.
    package func correctFutureInstants() async throws {
        let now = now()
        guard ClockGuard.isPlausible(now), try database.read(at: .read, { try $0.futureInstants.exist(of: settings.datasets, now: now) })
        else { return }
        // Not every cloud has a clock; where it has none the device's counts.
        if let there = try? await cloud.storeClock(in: zone), (try? CommitClock.verify(now, against: there)) == nil { return }
        try database.write(at: .apply) { try $0.futureInstants.correct(of: settings.datasets, now: now) }
        logger.info("changes had instants in the future of this device's clock; they count as changed now")
    }

    /// Refuses a clock with which nothing can be published, before anything changes here.
    ///
    /// - Throws: ``SyncError`` with `.refused`: the clock is outside 2000 to 2100, or a day or more off the cloud's own.
    package func verifyClock() async throws {
        let now = now()
        try ClockGuard.verify(now)
        guard let there = try? await cloud.storeClock(in: zone) else { return }
        try SyncError.at(.announce) { try CommitClock.verify(now, against: there) }
    }
}
