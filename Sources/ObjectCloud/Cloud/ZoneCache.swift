import CloudStore
import CommitLog
import Foundation
import StrictText
import Synchronization

/// What is known of the zones of a cloud, so that it is not asked for again: of this run, and of earlier ones (``ZoneMemory``).
final class ZoneCache: Sendable {
    /// The reports of one device, as a listing or the last report made here left them.
    struct Reports {
        /// Ascending.
        var counters: [Int]
        var newest: DeviceReport?
    }

    private struct Known {
        var infos: [ZoneID: ZoneInfo] = [:]
        var memories: [ZoneID: ZoneMemory] = [:]
        var reports: [String: Reports] = [:]
        /// The newest commits that were read or put in place here.
        var seen: [ZoneID: [Int: (bytes: [UInt8], seen: Int64)]] = [:]
        /// The commit that was read last, by its path.
        var commits: [String: (bytes: [UInt8], seen: Int64)] = [:]
        /// What a lost race has shown: the commit that won it, and whether another one follows.
        var looks: [String: [UInt8]?] = [:]
        var lostRaces: Set<ZoneID> = []
        var overviews: [ZoneID: (overview: ZoneOverview, seen: Int64)] = [:]
        /// The tickets of the publish queue, listed together with the overview.
        var tickets: [ZoneID: (tickets: [PublishTicket], seen: Int64)] = [:]
        var hasSeenTickets: Set<ZoneID> = []
        /// What a listing said of `zone.json` before `cloud.json` was compared.
        var places: [ZoneID: String] = [:]
        var proven: Set<ZoneID> = []
        /// Paths of assets and indexes that were put in place here.
        var placed: Set<String> = []
        var published: [ZoneID: ChangeToken] = [:]
        /// The zones of which the device keeps what is known, and need not ask again.
        var remembering: Set<ZoneID> = []
        var publishing: Set<ZoneID> = []
    }

    /// How long a commit that was read counts as there without another look, in microseconds.
    private static let commitAge: Int64 = 10_000_000
    private static let seenLimit = 16
    /// How long an overview serves, in microseconds.
    private static let overviewAge: Int64 = 5_000_000

    private let known = Mutex(Known())
    private let now: @Sendable () -> Int64
    private let cloud: @Sendable () -> String

    /// - Parameters:
    ///   - cloud: the UUID of the cloud as far as it is known.
    ///   - now: the store's clock, in microseconds.
    init(cloud: @escaping @Sendable () -> String, now: @escaping @Sendable () -> Int64) {
        self.cloud = cloud
        self.now = now
    }

    private func isRecent(_ seen: Int64, _ age: Int64, _ time: Int64) -> Bool { (0..<age).contains(time - seen) }

    // MARK: Earlier runs

    /// Takes what an earlier run has kept.
    func recall(_ memory: ZoneMemory, of zone: ZoneID) {
        known.withLock { known in
            known.remembering.insert(zone)
            guard memory.cloud == cloud(), memory.zone == zone.description else { return }
            known.memories[zone] = memory
            guard let marker = memory.marker else { return }
            known.infos[zone] = try? ZoneMarker.info(of: zone, from: Array(marker), at: "\(zone)/\(ZoneMarker.fileName)")
        }
    }

    /// What the next run is to know.
    func memory(of zone: ZoneID) -> ZoneMemory { known.withLock { $0.memories[zone] ?? fresh(zone) } }

    private func fresh(_ zone: ZoneID) -> ZoneMemory { ZoneMemory(cloud: cloud(), zone: zone) }

    private func change(_ zone: ZoneID, _ body: (inout ZoneMemory) -> Void) { known.withLock { body(&$0.memories[zone, default: fresh(zone)]) } }

    // MARK: Markers and the place

    /// A zone's marker. A marker is written once, so what was read stays true.
    func info(of zone: ZoneID) -> ZoneInfo? { known.withLock { $0.infos[zone] } }

    func remember(_ info: ZoneInfo, _ bytes: [UInt8]) {
        known.withLock { known in
            known.infos[info.id] = info
            known.memories[info.id, default: fresh(info.id)].marker = Data(bytes)
        }
    }

    /// Whether the bucket was seen to be the cloud that it must be: `cloud.json` was compared, or `zone.json` is the object that it was then.
    func isProven(_ zone: ZoneID) -> Bool { known.withLock { $0.proven.contains(zone) } }

    /// Notes that `cloud.json` is the right one.
    func prove(_ zone: ZoneID) {
        known.withLock { known in
            known.proven.insert(zone)
            if let place = known.places[zone] { known.memories[zone, default: fresh(zone)].place = place }
        }
    }

    // MARK: Overviews

    func remember(_ overview: ZoneOverview, of zone: ZoneID) {
        let time = now()
        known.withLock { known in
            known.overviews[zone] = (overview, time)
            if !overview.hasTickets { known.tickets[zone] = ([], time) }
            if let place = overview.marker {
                // A store that does not say how an object stands is asked for cloud.json each time.
                guard !place.isEmpty else { return }
                if known.memories[zone]?.place == place { known.proven.insert(zone) }
                known.places[zone] = place
                // Compared before this listing, in this run.
                if known.proven.contains(zone) { known.memories[zone, default: fresh(zone)].place = place }
            } else {
                // Another place, or an emptied one.
                known.infos[zone] = nil
                known.memories[zone] = nil
                known.proven.remove(zone)
            }
        }
    }

    /// An overview that was made a moment ago, for a device that is about to publish.
    func recentOverview(of zone: ZoneID) -> ZoneOverview? {
        let time = now()
        return known.withLock { known in
            guard known.publishing.contains(zone), let found = known.overviews[zone], isRecent(found.seen, Self.overviewAge, time) else { return nil }
            return found.overview
        }
    }

    /// Whether tickets were listed that were not taken yet.
    func hasTickets(in zone: ZoneID) -> Bool {
        let time = now()
        return known.withLock { known in known.tickets[zone].map { isRecent($0.seen, Self.overviewAge, time) } ?? false }
    }

    /// Whether the publish queue is worth a listing beside the overview.
    func expectsTickets(in zone: ZoneID) -> Bool { known.withLock { $0.hasSeenTickets.contains(zone) } }

    func expectTickets(in zone: ZoneID) { known.withLock { _ = $0.hasSeenTickets.insert(zone) } }

    /// Keeps the tickets of a listing for the next look at the queue.
    func remember(_ tickets: [PublishTicket], in zone: ZoneID) {
        let time = now()
        known.withLock { known in
            known.tickets[zone] = (tickets, time)
            if !tickets.isEmpty { known.hasSeenTickets.insert(zone) }
        }
    }

    /// The tickets of a listing that was made a moment ago, for a device that is about to publish; they serve once.
    func takeTickets(in zone: ZoneID) -> [PublishTicket]? {
        let time = now()
        return known.withLock { known in
            guard let found = known.tickets.removeValue(forKey: zone), known.publishing.contains(zone), isRecent(found.seen, Self.overviewAge, time) else {
                return nil
            }
            return found.tickets
        }
    }

    // MARK: Commits

    /// Notes whether the looks at a zone that follow are made to publish after them.
    func setPublishing(_ zone: ZoneID, _ isPublishing: Bool) {
        known.withLock { known in
            if isPublishing { known.publishing.insert(zone) } else { known.publishing.remove(zone) }
        }
    }

    /// The token's commit, if it was seen less than half a day ago and this look is made to publish.
    func commitToPublish(after token: ChangeToken, in zone: ZoneID) -> [UInt8]? {
        let time = now()
        return known.withLock { known in
            guard known.publishing.contains(zone), let bytes = head(of: zone, token.number, known, time) else { return nil }
            return ContentHash.of(bytes) == token.hash ? bytes : nil
        }
    }

    private func head(of zone: ZoneID, _ number: Int, _ known: Known, _ time: Int64) -> [UInt8]? {
        if let found = known.seen[zone]?[number], isRecent(found.seen, ZoneMemory.age, time) { return found.bytes }
        guard let head = known.memories[zone]?.head, head.number == number, isRecent(head.seen, ZoneMemory.age, time) else { return nil }
        return Array(head.bytes)
    }

    /// A commit that was read here a moment ago, or that this look was begun with.
    func recentCommit(_ number: Int, at path: String, in zone: ZoneID) -> [UInt8]? {
        let time = now()
        return known.withLock { known in
            if let found = known.commits[path], isRecent(found.seen, Self.commitAge, time) { return found.bytes }
            return known.publishing.contains(zone) ? head(of: zone, number, known, time) : nil
        }
    }

    /// Keeps a commit that was read or put in place.
    func remember(_ commit: [UInt8], _ number: Int, at path: String, in zone: ZoneID) {
        let time = now()
        known.withLock { known in
            known.commits = [path: (commit, time)]
            // The highest number is the newest, but where an older copy was put back, and then the token's hash says so.
            guard commit.count <= ZoneMemory.headBytes else { return }
            known.seen[zone, default: [:]][number] = (commit, time)
            if known.seen[zone]!.count > 2 * Self.seenLimit {
                let newest = known.seen[zone]!.keys.sorted().suffix(Self.seenLimit)
                known.seen[zone] = known.seen[zone]!.filter { newest.contains($0.key) }
            }
            guard number >= known.memories[zone]?.head?.number ?? 0 else { return }
            known.memories[zone, default: fresh(zone)].head = ZoneMemory.Head(number: number, bytes: Data(commit), seen: time)
        }
    }

    /// Notes how a race for a number ended, and keeps the commit that won it for the next look.
    func raced(_ placement: Placement, _ winner: [UInt8]?, at path: String, in zone: ZoneID) {
        known.withLock { known in
            guard placement == .taken else { return _ = known.lostRaces.remove(zone) }
            known.lostRaces.insert(zone)
            if let winner { known.looks[path] = winner }
        }
    }

    /// Keeps what is, or is not, at the path of a commit, as a request has shown just now, for the next look.
    func keepLook(_ bytes: [UInt8]?, at path: String) { known.withLock { $0.looks = [path: bytes] } }

    /// Whether the last race for a number in this zone was lost, or looks find more than one new commit.
    func isBusy(_ zone: ZoneID) -> Bool { known.withLock { $0.lostRaces.contains(zone) || $0.memories[zone]?.found ?? 0 > 1 } }

    func hasLook(at path: String) -> Bool { known.withLock { $0.looks[path] != nil } }

    /// What a lost race has shown of a commit, once; nil if it has shown nothing.
    func takeLook(at path: String) -> [UInt8]?? { known.withLock { $0.looks.removeValue(forKey: path) } }

    /// A commit of this device that was put in place.
    func published(_ token: ChangeToken, in zone: ZoneID) { known.withLock { $0.published[zone] = token } }

    /// The last of them, for a device that need not report it.
    func lastPublished(in zone: ZoneID) -> ChangeToken? { known.withLock { $0.remembering.contains(zone) ? $0.published[zone] : nil } }

    /// Notes how many new commits a look has found.
    func found(_ count: Int, in zone: ZoneID) { change(zone) { $0.found = max(count, $0.found / 2) } }

    /// How many commits to ask for at first where a device is about to publish: as many as looks have found of late.
    func firstWidth(in zone: ZoneID) -> Int { known.withLock { $0.publishing.contains(zone) ? max(1, $0.memories[zone]?.found ?? 1) : 1 } }

    // MARK: Assets

    func placed(_ path: String) { known.withLock { _ = $0.placed.insert(path) } }

    /// Whether an object was put in place here, by a device that need not look again.
    func isPlaced(_ path: String, in zone: ZoneID) -> Bool { known.withLock { $0.placed.contains(path) && $0.remembering.contains(zone) } }

    /// Whether the assets of earlier versions were looked at today.
    func assetsAreKnown(in zone: ZoneID) -> Bool {
        let time = now()
        return known.withLock { known in
            guard known.remembering.contains(zone), let seen = known.memories[zone]?.assetsSeen else { return false }
            return isRecent(seen, 2 * ZoneMemory.age, time)
        }
    }

    func assetsWereSeen(in zone: ZoneID) {
        let time = now()
        change(zone) { $0.assetsSeen = time }
    }

    /// The bytes of an index that an earlier run or this one has read or written.
    func index(of path: String, in zone: ZoneID) -> Data? {
        known.withLock { $0.remembering.contains(zone) ? $0.memories[zone]?.indexes[path] : nil }
    }

    /// Keeps the index of an asset in place of those of the record's older ones.
    func remember(index: Data, of path: AssetPath, in zone: ZoneID) {
        guard index.count <= ZoneMemory.indexBytes else { return }
        change(zone) { memory in
            memory.indexes = memory.indexes.filter { AssetPath($0.key)?.record != path.record || (AssetPath($0.key)?.number ?? 0) > path.number }
            guard memory.indexes.values.map(\.count).reduce(index.count, +) <= ZoneMemory.indexBytesInAll else { return }
            memory.indexes[path.path] = index
        }
    }

    // MARK: Reports

    /// The reports in a folder. Another run of the device may have made later ones, whose names are taken then.
    func reports(in folder: String) -> Reports? { known.withLock { $0.reports[folder] } }

    func remember(_ reports: Reports?, in folder: String) { known.withLock { $0.reports[folder] = reports } }

    /// This device's last report, if the store was asked for it today.
    func ownReport(of device: String, in zone: ZoneID) -> ZoneMemory.Report? {
        let time = now()
        return known.withLock { known in
            guard known.remembering.contains(zone), let own = known.memories[zone]?.report, own.report.device == device,
                isRecent(own.seen, 2 * ZoneMemory.age, time)
            else { return nil }
            return own
        }
    }

    /// Keeps what the store has of this device's reports.
    ///
    /// - Parameter isLook: whether the store was asked just now.
    func remember(own report: DeviceReport, _ counter: Int, in zone: ZoneID, isLook: Bool) {
        let time = now()
        change(zone) { memory in
            let seen = isLook ? time : memory.report?.seen ?? time
            memory.report = ZoneMemory.Report(report, counter: counter, seen: seen)
        }
    }

    func forgetReport(in zone: ZoneID) { change(zone) { $0.report = nil } }
}
