package import CloudStore
import LocalStore
package import Logging

/// Lets devices that keep losing races publish first. One value serves one run of a peer.
///
/// A device that has lost ``lossesForTicket`` races puts a ticket into the zone's publish queue. Before a device publishes, it reads the queue
/// and waits while an earlier ticket is in it. Tickets are hints: an error at the queue is logged and has no other effect, and every wait ends.
package actor PublishTurn {
    private let cloud: CloudDatabase
    private let zone: ZoneID
    private let nonces: NonceSource
    private let logger: Logger
    private let pause: @Sendable (Duration) async throws -> Void
    private let uptime: @Sendable () -> Duration
    private let draw: @Sendable () -> Double
    private let lossesForTicket: Int
    private var ticket: PublishTicket?
    private var firstLost: Int?
    /// Tickets that this run no longer waits for.
    private var ignored: Set<PublishTicket> = []
    /// The total time that this run has waited for others.
    private var waited = Duration.zero
    private var isWaitReported = false
    /// Whether this run waited for another device before its last attempt to publish.
    package private(set) var gaveWay = false
    /// The version that this run imported last and has not reported.
    private(set) var imported: ChangeToken?
    /// The assets of attempts that failed.
    private var discarded: [CloudAsset] = []
    /// The identity to publish under, once this run has checked it.
    private(set) var identity: DeviceIdentity?

    /// The number of lost races after which a device takes a ticket. It is higher in a bucket: there a ticket costs requests and delays others
    /// for longer than a race.
    package static let lossesForTicket = 2, lossesForTicketInBucket = 8
    /// How long a run waits for one ticket before it removes the ticket: its device may have been killed.
    static let ticketPatience = Duration.seconds(10)
    /// How long one run waits in total before it publishes regardless of the queue.
    static let runPatience = Duration.seconds(60)
    /// How long a run waits before it logs that it waits.
    private static let silence = Duration.seconds(1)
    /// A ticket this many commits old is stale: its device has published since or was killed.
    static let staleDistance = 256
    private static let firstPoll = Duration.milliseconds(10), longestPoll = Duration.milliseconds(80)
    /// The next wait is this many times as long as the last read of the queue took, so that slow and costly requests are rare.
    private static let lookRest = 4

    init(device: SyncContext, pause: @escaping @Sendable (Duration) async throws -> Void) {
        self.init(
            in: device.zone, of: device.cloud, nonces: device.nonces, logger: device.logger, pause: pause,
            lossesForTicket: CloudLocation.isBucket(device.settings.cloud) ? Self.lossesForTicketInBucket : Self.lossesForTicket)
    }

    /// Creates a turn from its parts.
    ///
    /// - Parameters:
    ///   - uptime: returns the time since some fixed point, by a clock that cannot be set.
    ///   - draw: returns a number from 0.5 to 1; each wait is multiplied by one.
    ///   - lossesForTicket: the number of lost races after which the device takes a ticket.
    package init(
        in zone: ZoneID, of cloud: CloudDatabase, nonces: NonceSource, logger: Logger, pause: @escaping @Sendable (Duration) async throws -> Void,
        uptime: @escaping @Sendable () -> Duration = { [begin = ContinuousClock.now] in begin.duration(to: .now) },
        draw: @escaping @Sendable () -> Double = { .random(in: 0.5...1) }, lossesForTicket: Int = PublishTurn.lossesForTicket
    ) {
        (self.zone, self.cloud, self.nonces) = (zone, cloud, nonces)
        (self.logger, self.pause, self.uptime, self.draw) = (logger, pause, uptime, draw)
        self.lossesForTicket = lossesForTicket
    }

    func note(imported token: ChangeToken) { imported = token }

    func remember(_ identity: DeviceIdentity) { self.identity = identity }

    /// Waits while devices with earlier tickets have not published.
    ///
    /// - Parameter number: the number that this device is about to publish.
    /// - Returns: whether it waited. If so, the zone probably has new commits.
    package func giveWay(before number: Int) async throws -> Bool {
        var poll = Self.firstPoll, current: PublishTicket?, patience = Self.ticketPatience
        gaveWay = false
        while waited < Self.runPatience {
            let begin = uptime()
            guard let first = await firstTicket(before: number) else { break }
            let look = uptime() - begin
            if first != current { (current, patience) = (first, Self.ticketPatience) }
            guard patience > .zero else {
                ignored.insert(first)
                await remove(first)
                continue
            }
            let delay = min(max(poll, look * Self.lookRest) * draw(), patience)
            try await pause(delay)
            if !isWaitReported, waited + delay >= Self.silence {
                isWaitReported = true
                logger.notice("other devices publish first; waiting for them, up to \(Self.runPatience.components.seconds) s")
            }
            (waited, patience, poll) = (waited + look + delay, patience - look - delay, min(poll * 2, Self.longestPoll))
            gaveWay = true
        }
        return gaveWay
    }

    /// Records that this device lost the race for a number, and takes a ticket after enough losses. `losses` counts the lost races of this run.
    ///
    /// - Returns: whether the device is in the queue now.
    package func lost(_ number: Int, losses: Int) async -> Bool {
        let first = firstLost ?? number
        firstLost = first
        guard losses >= lossesForTicket else { return false }
        let ticket = ticket ?? PublishTicket(number: first, nonces: nonces)
        self.ticket = ticket
        // Enqueue again each time: a device whose wait for the ticket ran out may have removed it.
        return await attempt { [cloud, zone] in
            try await cloud.enqueue(ticket, in: zone)
            return try await cloud.publishQueue(in: zone).contains(ticket)
        } ?? false
    }

    /// Collects assets that no commit names, to be discarded when the run ends.
    package func discardInTheEnd(_ assets: [CloudAsset]) { discarded += assets }

    /// Ends the run: removes the ticket, and discards the collected assets.
    package func ends() async {
        if let ticket { await remove(ticket) }
        if !discarded.isEmpty { await cloud.discard(discarded, in: zone) }
    }

    /// Returns the first ticket that this device must wait for; nil if it is this device's turn.
    private func firstTicket(before number: Int) async -> PublishTicket? {
        let queue = await attempt { [cloud, zone] in try await cloud.publishQueue(in: zone) } ?? []
        for ticket in queue where !ignored.contains(ticket) {
            if let own = self.ticket, ticket >= own { return nil }
            // A ticket with a number that is not reached yet belongs to another history, or to commits that this device has not seen. Leave it in
            // the queue.
            if ticket.number > number { return nil }
            if ticket.number > number - Self.staleDistance { return ticket }
            ignored.insert(ticket)
            await remove(ticket)
        }
        return nil
    }

    private func remove(_ ticket: PublishTicket) async {
        await attempt { [cloud, zone] in try await cloud.dequeue(ticket, in: zone) }
    }

    @discardableResult
    private func attempt<T: Sendable>(_ body: @Sendable () async throws -> T) async -> T? {
        do {
            return try await body()
        } catch {
            logger.debug("the publish queue could not be used", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
