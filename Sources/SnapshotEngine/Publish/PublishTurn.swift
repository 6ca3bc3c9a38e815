package import CloudStore
import LocalStore
package import Logging

/// Lets devices that keep losing races publish first. One value serves one run of a peer.
///
/// A device that has lost ``lossesForTicket`` races puts a ticket into the zone's publish queue. Whoever is about to publish looks at the
/// queue and waits while an earlier ticket is there. Tickets are hints: an error at the queue is logged and changes nothing else, and
/// every wait ends.
package actor PublishTurn {
    private let cloud: any CloudDatabase
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
    /// How long this run has waited for others in all.
    private var waited = Duration.zero
    private var isWaitReported = false
    /// Whether this run waited for another device the last time that it was about to publish.
    package private(set) var gaveWay = false
    /// The version that this run has imported last and not reported.
    private(set) var imported: ChangeToken?
    /// The assets of attempts that failed.
    private var discarded: [CloudAsset] = []
    /// The publisher, once this run has seen that it is who it says it is.
    private(set) var identity: DeviceIdentity?

    /// How many lost races are worth a ticket, and how many in a bucket: there a ticket costs requests, and its turn lasts longer than a race.
    package static let lossesForTicket = 2, lossesForTicketInBucket = 4
    /// How long one ticket is waited for before it is removed: its device may have been killed.
    static let ticketPatience = Duration.seconds(10)
    /// How long one run waits in all before it publishes regardless of the queue.
    static let runPatience = Duration.seconds(60)
    /// After how long a wait is worth a word.
    private static let silence = Duration.seconds(1)
    /// A ticket so many commits old is stale: in that time its device has published or was killed.
    static let staleDistance = 256
    private static let firstPoll = Duration.milliseconds(10), longestPoll = Duration.milliseconds(80)
    /// How many times as long as a look takes, the next one waits: where a look is a request that costs time and money, there are few.
    private static let lookRest = 4

    init(device: SyncContext, pause: @escaping @Sendable (Duration) async throws -> Void) {
        self.init(
            in: device.zone, of: device.cloud, nonces: device.nonces, logger: device.logger, pause: pause,
            lossesForTicket: CloudLocation.isBucket(device.settings.cloud) ? Self.lossesForTicketInBucket : Self.lossesForTicket)
    }

    /// The turn of a device of which no more is known.
    ///
    /// - Parameters:
    ///   - uptime: the time since some point, by a clock that is never set.
    ///   - draw: a number from 0.5 to 1, by which a wait is multiplied.
    ///   - lossesForTicket: how many lost races are worth a ticket.
    package init(
        in zone: ZoneID, of cloud: any CloudDatabase, nonces: NonceSource, logger: Logger, pause: @escaping @Sendable (Duration) async throws -> Void,
        uptime: @escaping @Sendable () -> Duration = { [begin = ContinuousClock.now] in begin.duration(to: .now) },
        draw: @escaping @Sendable () -> Double = { .random(in: 0.5...1) }, lossesForTicket: Int = PublishTurn.lossesForTicket
    ) {
        (self.zone, self.cloud, self.nonces) = (zone, cloud, nonces)
        (self.logger, self.pause, self.uptime, self.draw) = (logger, pause, uptime, draw)
        self.lossesForTicket = lossesForTicket
    }

    func note(imported token: ChangeToken) { imported = token }

    func remember(_ identity: DeviceIdentity) { self.identity = identity }

    /// Waits while devices with earlier tickets are to publish.
    ///
    /// - Parameter number: the number that this device is about to publish.
    /// - Returns: whether it waited; then the zone has probably moved on.
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

    /// This device lost the race for a number, for the `losses`th time in this run.
    ///
    /// - Returns: whether it has a place in the queue now.
    package func lost(_ number: Int, losses: Int) async -> Bool {
        let first = firstLost ?? number
        firstLost = first
        guard losses >= lossesForTicket else { return false }
        let ticket = ticket ?? PublishTicket(number: first, nonces: nonces)
        self.ticket = ticket
        // Put in place again each time: a device that waited in vain may have removed it.
        return await attempt { [cloud, zone] in
            try await cloud.enqueue(ticket, in: zone)
            return try await cloud.publishQueue(in: zone).contains(ticket)
        } ?? false
    }

    /// Removes assets that no commit names, when the run ends.
    package func discardInTheEnd(_ assets: [CloudAsset]) { discarded += assets }

    /// The run ends: the ticket goes, and what was made for nothing.
    package func ends() async {
        if let ticket { await remove(ticket) }
        if !discarded.isEmpty { await cloud.discard(discarded, in: zone) }
    }

    /// The first ticket in the queue that this device waits for; nil if it is this device's turn.
    private func firstTicket(before number: Int) async -> PublishTicket? {
        let queue = await attempt { [cloud, zone] in try await cloud.publishQueue(in: zone) } ?? []
        for ticket in queue where !ignored.contains(ticket) {
            if let own = self.ticket, ticket >= own { return nil }
            // A number that is not reached yet is one of another history, or of one that this device has not seen; it is not ours to remove.
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
