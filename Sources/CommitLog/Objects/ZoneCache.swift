package import CloudStore
package import Foundation
import StrictText
import Synchronization

/// Caches what this run and earlier ones (``ZoneMemory``) know of the zones of a cloud, to save requests.
package final class ZoneCache: Sendable {
    /// The reports of one device, as of the last listing or the last report made here.
    struct Reports {
        /// In ascending order.
        var counters: [Int]
        var newest: DeviceReport?
    }

    private struct Known {
        var infos: [ZoneID: ZoneInfo] = [:]
        var memories: [ZoneID: ZoneMemory] = [:]
        var reports: [String: Reports] = [:]
        /// The newest commits that were read or published here.
        var seen: [ZoneID: [Int: (bytes: [UInt8], seen: Int64)]] = [:]
        /// The commit that was read last, by its path.
        var commits: [String: (bytes: [UInt8], seen: Int64)] = [:]
        /// What was read after a lost race, by path: the commit that won, and the next one (nil if there is none).
        var looks: [String: [UInt8]?] = [:]
        var lostRaces: Set<ZoneID> = []
        var overviews: [ZoneID: (overview: ZoneOverview, seen: Int64)] = [:]
        /// The tickets of the publish queue, from the overview or a listing.
        var tickets: [ZoneID: (tickets: [PublishTicket], seen: Int64)] = [:]
        var hasSeenTickets: Set<ZoneID> = []
        /// The state of `zone.json` in a listing that was made before `cloud.json` was compared.
        var places: [ZoneID: String] = [:]
        var proven: Set<ZoneID> = []
        /// The paths of assets and indexes that were stored here.
        var placed: Set<String> = []
        var published: [ZoneID: ChangeToken] = [:]
        /// The zones whose memory the device stores between runs, so that it need not ask the store again.
        var remembering: Set<ZoneID> = []
        var publishing: Set<ZoneID> = []
    }

    /// How long a commit that was read counts as present without another request, in microseconds.
    private static let commitAge: Int64 = 10_000_000
    private static let seenLimit = 16
    /// How long an overview is used, in microseconds.
    private static let overviewAge: Int64 = 5_000_000

    private let known = Mutex(Known())
    private let now: @Sendable () -> Int64

    /// - Parameter now: the store's clock, in microseconds, if it can be read without a request.
    package init(now: @escaping @Sendable () -> Int64 = { Instant.now.microseconds }) { self.now = now }

    private func isRecent(_ seen: Int64, _ age: Int64, _ time: Int64) -> Bool { (0..<age).contains(time - seen) }

    // MARK: Earlier runs

    /// Restores what an earlier run has stored about a zone of the cloud with this UUID.
    func recall(_ memory: ZoneMemory, of zone: ZoneID, in cloud: String?) {
        known.withLock { known in
            known.remembering.insert(zone)
            guard memory.cloud == cloud, memory.zone == zone.description else { return }
            known.memories[zone] = memory
            guard let marker = memory.marker else { return }
            known.infos[zone] = try? ZoneMarker.info(of: zone, from: Array(marker), at: "\(zone)/\(ZoneMarker.fileName)")
        }
    }

    /// What the next run should know about a zone of the cloud with this UUID.
    func memory(of zone: ZoneID, in cloud: String?) -> ZoneMemory {
        var memory = known.withLock { $0.memories[zone] } ?? fresh(zone)
        memory.cloud = cloud ?? ""
        return memory
    }

    /// The name of the cloud is added when the memory is stored.
    private func fresh(_ zone: ZoneID) -> ZoneMemory { ZoneMemory(cloud: "", zone: zone) }

    private func change(_ zone: ZoneID, _ body: (inout ZoneMemory) -> Void) { known.withLock { body(&$0.memories[zone, default: fresh(zone)]) } }

    // MARK: Markers and the place

    /// A zone's marker. It is written only once, so the cached copy stays valid.
    func info(of zone: ZoneID) -> ZoneInfo? { known.withLock { $0.infos[zone] } }

    func remember(_ info: ZoneInfo, _ bytes: [UInt8]) {
        known.withLock { known in
            known.infos[info.id] = info
            known.memories[info.id, default: fresh(info.id)].marker = Data(bytes)
        }
    }

    /// Whether the bucket is known to hold the right cloud: `cloud.json` was compared, or `zone.json` is unchanged since that was done.
    func isProven(_ zone: ZoneID) -> Bool { known.withLock { $0.proven.contains(zone) } }

    /// Records that `cloud.json` is the right one.
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
                // If the store does not report an object's state, `cloud.json` is compared in each run.
                guard !place.isEmpty else { return }
                if known.memories[zone]?.place == place { known.proven.insert(zone) }
                known.places[zone] = place
                // `cloud.json` was compared in this run, before the listing.
                if known.proven.contains(zone) { known.memories[zone, default: fresh(zone)].place = place }
            } else {
                // The bucket holds another cloud, or was emptied.
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

    /// Whether there is a recent listing of the tickets that was not used yet.
    func hasTickets(in zone: ZoneID) -> Bool {
        let time = now()
        return known.withLock { known in known.tickets[zone].map { isRecent($0.seen, Self.overviewAge, time) } ?? false }
    }

    /// Whether listing the publish queue in parallel with the overview is worth a request.
    func expectsTickets(in zone: ZoneID) -> Bool { known.withLock { $0.hasSeenTickets.contains(zone) } }

    func expectTickets(in zone: ZoneID) { known.withLock { _ = $0.hasSeenTickets.insert(zone) } }

    /// Keeps the tickets of a listing for the next read of the queue.
    func remember(_ tickets: [PublishTicket], in zone: ZoneID) {
        let time = now()
        known.withLock { known in
            known.tickets[zone] = (tickets, time)
            if !tickets.isEmpty { known.hasSeenTickets.insert(zone) }
        }
    }

    /// The tickets of a listing that was made a moment ago, for a device that is about to publish. They are returned only once.
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

    /// Records whether the following reads of a zone are made to publish after them.
    func setPublishing(_ zone: ZoneID, _ isPublishing: Bool) {
        known.withLock { known in
            if isPublishing { known.publishing.insert(zone) } else { known.publishing.remove(zone) }
        }
    }

    /// The token's commit, if it was seen less than half a day ago and this read is made to publish.
    func commitToPublish(after token: ChangeToken, in zone: ZoneID) -> [UInt8]? {
        let time = now()
        return known.withLock { known in
            guard known.publishing.contains(zone), let bytes = head(of: zone, token.number, known, time) else { return nil }
            return ContentHash.of(bytes) == token.hash ? bytes : nil
        }
    }

    /// A commit as it was read or published here last, however long ago.
    func lastSeen(_ number: Int, in zone: ZoneID) -> [UInt8]? {
        known.withLock { known in
            known.seen[zone]?[number]?.bytes ?? known.memories[zone]?.head.flatMap { $0.number == number ? Array($0.bytes) : nil }
        }
    }

    private func head(of zone: ZoneID, _ number: Int, _ known: Known, _ time: Int64) -> [UInt8]? {
        if let found = known.seen[zone]?[number], isRecent(found.seen, ZoneMemory.age, time) { return found.bytes }
        guard let head = known.memories[zone]?.head, head.number == number, isRecent(head.seen, ZoneMemory.age, time) else { return nil }
        return Array(head.bytes)
    }

    /// A commit that was read here at most 10 seconds ago, or that this publishing run started with.
    func recentCommit(_ number: Int, at path: String, in zone: ZoneID) -> [UInt8]? {
        let time = now()
        return known.withLock { known in
            if let found = known.commits[path], isRecent(found.seen, Self.commitAge, time) { return found.bytes }
            return known.publishing.contains(zone) ? head(of: zone, number, known, time) : nil
        }
    }

    /// Caches a commit that was read or published.
    func remember(_ commit: [UInt8], _ number: Int, at path: String, in zone: ZoneID) {
        let time = now()
        known.withLock { known in
            known.commits = [path: (commit, time)]
            // The highest number is the newest commit, unless an older copy was restored; the token's hash detects that.
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

    /// Records how a race for a number ended, and keeps the commit that won it for the next read.
    func raced(_ placement: Placement, _ winner: [UInt8]?, at path: String, in zone: ZoneID) {
        known.withLock { known in
            guard placement == .taken else { return _ = known.lostRaces.remove(zone) }
            known.lostRaces.insert(zone)
            if let winner { known.looks[path] = winner }
        }
    }

    /// Keeps what requests have just found at the paths of commits, or that they found nothing, for the next reads.
    func keepLooks(_ looks: [String: [UInt8]?]) { known.withLock { $0.looks = looks } }

    /// The commit that a look has found at a path. If it has found none, all looks are forgotten, because they are about to be outdated.
    func foundLook(at path: String) -> [UInt8]? {
        known.withLock { known in
            if let found = known.looks[path], let found { return found }
            known.looks = [:]
            return nil
        }
    }

    /// Keeps what a request has just found at the path of a commit, or that it found nothing, for the next read.
    func keepLook(_ bytes: [UInt8]?, at path: String) { known.withLock { $0.looks = [path: bytes] } }

    /// Whether the last race for a number in this zone was lost, or reads usually find more than one new commit.
    func isBusy(_ zone: ZoneID) -> Bool { known.withLock { $0.lostRaces.contains(zone) || $0.memories[zone]?.found ?? 0 > 1 } }

    func hasLook(at path: String) -> Bool { known.withLock { $0.looks[path] != nil } }

    /// What was found at a commit's path after a lost race; returned only once. nil if that path was not read.
    func takeLook(at path: String) -> [UInt8]?? { known.withLock { $0.looks.removeValue(forKey: path) } }

    /// Records a commit that this device has published.
    func published(_ token: ChangeToken, in zone: ZoneID) { known.withLock { $0.published[zone] = token } }

    /// The last commit that this device has published, if it stores the zone's memory. Such a device need not report this version.
    func lastPublished(in zone: ZoneID) -> ChangeToken? { known.withLock { $0.remembering.contains(zone) ? $0.published[zone] : nil } }

    /// Records how many new commits a read has found. An older maximum decays by half.
    func found(_ count: Int, in zone: ZoneID) { change(zone) { $0.found = max(count, $0.found / 2) } }

    /// How many commits a device that is about to publish requests first: as many as recent reads have found.
    func firstWidth(in zone: ZoneID) -> Int { known.withLock { $0.publishing.contains(zone) ? max(1, $0.memories[zone]?.found ?? 1) : 1 } }

    // MARK: Assets

    package func placed(_ path: String) { known.withLock { _ = $0.placed.insert(path) } }

    /// Whether an object was stored by this run, so that it need not be checked. False if the device does not store the zone's memory.
    func isPlaced(_ path: String, in zone: ZoneID) -> Bool { known.withLock { $0.placed.contains(path) && $0.remembering.contains(zone) } }

    /// Whether the assets of earlier versions were checked within the last day.
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

    /// The bytes of an index that this run or an earlier one has read or written.
    package func index(of path: String, in zone: ZoneID) -> Data? {
        known.withLock { $0.remembering.contains(zone) ? $0.memories[zone]?.indexes[path] : nil }
    }

    /// Caches the index of an asset in place of those of the record's older assets.
    package func remember(index: Data, of path: AssetPath, in zone: ZoneID) {
        guard index.count <= ZoneMemory.indexBytes else { return }
        change(zone) { memory in
            memory.indexes = memory.indexes.filter { AssetPath($0.key)?.record != path.record || (AssetPath($0.key)?.number ?? 0) > path.number }
            guard memory.indexes.values.map(\.count).reduce(index.count, +) <= ZoneMemory.indexBytesInAll else { return }
            memory.indexes[path.path] = index
        }
    }

    // MARK: Reports

    /// The reports in a folder. Another run of the device may have added later ones; the put then finds the counter taken.
    func reports(in folder: String) -> Reports? { known.withLock { $0.reports[folder] } }

    func remember(_ reports: Reports?, in folder: String) { known.withLock { $0.reports[folder] = reports } }

    /// This device's last report, if the store was asked for it within the last day.
    func ownReport(of device: String, in zone: ZoneID) -> ZoneMemory.Report? {
        let time = now()
        return known.withLock { known in
            guard known.remembering.contains(zone), let own = known.memories[zone]?.report, own.report.device == device,
                isRecent(own.seen, 2 * ZoneMemory.age, time)
            else { return nil }
            return own
        }
    }

    /// Caches this device's newest report in the store.
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
