import CloudStore
import CommitLog
import StrictText

/// One zone of a bucket as a ``HistoryStore``: each number an object, each put-if-absent a conditional PUT.
///
/// The names are those of a directory, so a tool that copies files converts a cloud in both directions.
struct ObjectZone: HistoryStore {
    let history: HistoryID
    let ends: VerifiedHeadCache
    let client: ObjectClient
    let authority: ZoneAuthority
    let cache: ZoneCache

    /// A path beneath the zone as one beneath the cloud.
    func path(_ beneath: String) -> String { "\(history.zone)/\(beneath)" }

    func commitBytes(_ number: Int) throws -> [UInt8]? {
        let place = path(CloudNames.commits, number)
        let bytes = try client.get(place, limit: CommitDocument.byteLimit)
        if let bytes { cache.remember(bytes, number, at: place, in: history.zone) }
        return bytes
    }

    func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?] {
        try client.sideBySide(
            numbers.map { number in
                { [self] in
                    if let known = cache.takeLook(at: path(CloudNames.commits, number)) { return known }
                    return try commitBytes(number)
                }
            })
    }

    /// Once a commit was found, twice as many are asked for: a request too many costs less than a wait.
    func readWidth(at number: Int, after found: Int) -> Int {
        if found == 0 { return cache.hasLook(at: path(CloudNames.commits, number)) ? 2 : min(cache.firstWidth(in: history.zone), ObjectClient.width) }
        return min(2 * found, ObjectClient.width)
    }

    func recentCommitBytes(_ number: Int) -> [UInt8]? { cache.recentCommit(number, at: path(CloudNames.commits, number), in: history.zone) }

    func commitBytesToPublish(after token: ChangeToken) -> [UInt8]? { cache.commitToPublish(after: token, in: history.zone) }

    func checkpointBytes(_ number: Int) throws -> [UInt8]? { try client.get(path(CloudNames.checkpoints, number), limit: CheckpointDocument.byteLimit) }

    func commitNumbers() throws -> [Int] { try numbers(in: CloudNames.commits) }

    func checkpointNumbers() throws -> [Int] { try numbers(in: CloudNames.checkpoints) }

    var isContended: Bool { cache.isBusy(history.zone) }

    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement {
        try CommitClock.verify(clock, against: client.clock)
        let place = path(CloudNames.commits, number)
        // After a lost race the next attempt has what it begins with.
        let next = path(CloudNames.commits, number + 1)
        let (placement, found) = try client.putOrRead(
            bytes, as: place,
            readingBesides: [
                { [self] in do { cache.keepLook(try client.get(next, limit: CommitDocument.byteLimit), at: next) } catch {} },
                { [self] in do { cache.remember(try listedTickets(), in: history.zone) } catch {} },
            ])
        // What won the race is what the next look begins with. A commit of one's own is the newest one if its parent still stands.
        if let known = placement == .taken ? found : bytes { cache.remember(known, number, at: place, in: history.zone) }
        cache.raced(placement, found, at: place, in: history.zone)
        if placement != .taken { cache.published(ChangeToken(number: number, hash: ContentHash.of(bytes)), in: history.zone) }
        return placement
    }

    func removeCommit(_ number: Int) throws { try client.remove(path(CloudNames.commits, number)) }

    func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement { try client.put(bytes, as: path(CloudNames.checkpoints, number)) }

    func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool {
        var sizes = [(path: self.path(path.path), count: asset.byteCount)]
        if let index = asset.index { sizes.append((self.path(path.indexPath), index.byteCount)) }
        let looks = sizes.filter { !cache.isPlaced($0.path, in: history.zone) }
        return try client.sideBySide(looks.map { one in { [client] in try client.size(of: one.path) == one.count } }).allSatisfy { $0 }
    }

    func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset? {
        // Those of earlier versions were there when those were published, and no prune takes them.
        let areKnown = cache.assetsAreKnown(in: history.zone)
        let looks = assets.filter { !areKnown || $0.path.number >= number }
        let found = try client.sideBySide(looks.map { one in { [self] in try hasAsset(one.asset, at: one.path) } })
        if let missing = zip(looks, found).first(where: { !$0.1 }) { return missing.0.asset }
        if !areKnown { cache.assetsWereSeen(in: history.zone) }
        return nil
    }

    func storedFiles() throws -> [StoredFile] {
        var files: [StoredFile] = []
        for folder in [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.waiting] {
            for object in try client.list(path("\(folder)/")) {
                let beneath = String(object.path.dropFirst(path("").utf8.count))
                guard let kind = Self.kind(of: beneath) else { continue }
                files.append(StoredFile(kind: kind, path: beneath, byteCount: object.byteCount, modified: object.modified))
            }
        }
        for upload in try client.uploads(path("\(CloudNames.assets)/")) {
            let beneath = String(upload.path.dropFirst(path("").utf8.count))
            guard Self.kind(of: beneath) != nil else { continue }
            files.append(StoredFile(kind: .temporary, path: beneath + Self.uploadMark + upload.id, byteCount: 0, modified: upload.begun))
        }
        return files
    }

    /// Stands between the path and the id of an upload that was not finished. No path has it.
    private static let uploadMark = "?uploadId="

    /// The kind of a file by its path beneath the zone; nil for one that this format does not name.
    private static func kind(of path: String) -> StoredFile.Kind? {
        let parts = path.split(separator: "/").map(String.init)
        switch (parts.first, parts.count) {
        case (CloudNames.commits, 2): return CloudNames.number(ofFile: parts[1]).map { .commit($0) }
        case (CloudNames.checkpoints, 2): return CloudNames.number(ofFile: parts[1]).map { .checkpoint($0) }
        case (CloudNames.waiting, 2): return PublishTicket(fileName: parts[1]).map { _ in .temporary }
        case (CloudNames.assets, 3): return StoredFile.Kind(nameInAssets: parts[2], of: parts[1])
        default: return nil
        }
    }

    func clock() throws -> Instant {
        // Any answer has the server's date.
        _ = try client.size(of: path(ZoneMarker.fileName))
        return client.clock
    }

    func removeFile(_ path: String) throws {
        guard let mark = path.firstRange(of: Self.uploadMark) else { return try client.remove(self.path(path)) }
        try client.abandon(String(path[mark.upperBound...]), of: self.path(String(path[..<mark.lowerBound])))
    }

    /// A removal that was answered is durable.
    func synchronizeRemovals(in directory: String) {}

    private func path(_ folder: String, _ number: Int) -> String { path("\(folder)/\(CloudNames.digits(number)).json") }

    private func numbers(in folder: String) throws -> [Int] {
        let prefix = path("\(folder)/")
        return try client.list(prefix).compactMap { CloudNames.number(ofFile: String($0.path.dropFirst(prefix.utf8.count))) }.sorted()
    }
}

extension ObjectZone {
    /// Removes an asset and its index, unless a commit names it after all: a publish may have succeeded that reported an error.
    func discard(_ path: AssetPath) throws {
        guard try !HistoryReader(source: self).isNamed(path) else { return }
        let paths = [path.path] + (path.kind == .snapshot ? [path.indexPath] : [])
        _ = try client.sideBySide(paths.map { path in { [self] in try removeFile(path) } })
    }
}

// The mailbox: `messages/<sender>/<32 hex>.json`.
extension ObjectZone {
    /// Puts a message in place if nothing has its name.
    func send(_ message: CloudMessage, clock: Instant) throws {
        let bytes = try MessageDocument.encode(message, of: history, by: history.isSigned ? authority.signer() : nil)
        try CommitClock.verify(clock, against: client.clock)
        let place = path("\(CloudNames.messages)/\(message.sender)/\(message.id).json")
        guard try client.put(bytes, as: place) != .taken else { throw CloudMailbox.takenID(at: place) }
    }

    func mailbox(_ request: MailboxRequest) throws -> CloudMailbox {
        let all = path("\(CloudNames.messages)/")
        if request.sender == nil {
            // Most often nothing waits, and then one small listing says so of messages and of the publish queue.
            let overview = try cache.recentOverview(of: history.zone) ?? overview()
            guard overview.marker != nil else { throw CloudError(.zoneNotFound, at: "\(history.zone)", "the zone is gone", hint: CloudError.damageHint) }
            guard overview.hasMessages else { return CloudMailbox() }
        }
        let listed = try client.list(request.sender.map { "\(all)\($0)/" } ?? all)
        var senders: [(name: String, files: [String])] = []
        // The listing is in the order of the keys, so a sender's objects come one after another.
        for object in listed {
            let parts = object.path.dropFirst(all.utf8.count).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, CloudNames.isName(parts[0]) else { continue }
            if senders.last?.name == parts[0] { senders[senders.count - 1].files.append(parts[1]) } else { senders.append((parts[0], [parts[1]])) }
        }
        var mailbox = CloudMailbox()
        let signers = senders.isEmpty ? nil : try MessageSigners(self, request)
        for sender in senders.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            let folder = "\(all)\(sender.name)"
            mailbox.take(sender.files, of: sender.name, request, in: history, by: signers, at: folder) { name throws(CloudError) in
                try client.get("\(folder)/\(name)", limit: CloudMessage.byteLimit)
            }
        }
        return mailbox
    }

    func remove(_ message: CloudMessageName) throws {
        try CloudNames.verify(message.sender, isNameOf: "device")
        guard CloudNames.isMessageID(message.id) else { return }
        try client.remove(path("\(CloudNames.messages)/\(message.sender)/\(message.id).json"))
    }
}

// The reports of the devices: `devices/<device>/<20-digit counter>.json`, the highest counts.
extension ObjectZone {
    /// The largest report, in bytes.
    private static let reportByteLimit = 64 << 10
    /// How many versions a publisher's report may be behind its commits: so many of them `status` reads to see who made them.
    private static let reportDistance = 64

    func add(_ report: DeviceReport) throws {
        try report.verify()
        let bytes = try report.bytes(of: history, by: history.isSigned ? authority.signer() : nil)
        let folder = path("\(CloudNames.devices)/\(report.device)/")
        // Another run of the same device may count up at the same time: look again, then.
        for _ in 0..<8 {
            let own = cache.ownReport(of: report.device, in: history.zone)
            let known =
                try cache.reports(in: folder) ?? own.map { ZoneCache.Reports(counters: [$0.counter], newest: $0.report) }
                ?? reports(of: report.device, in: folder)
            if let last = known.newest, !report.isNews(after: last) || isSaid(report, after: last) { return }
            let last = known.counters.last ?? 0
            let next = last < CloudNames.largestNumber ? last + 1 : (1...).first { !known.counters.contains($0) } ?? 1
            cache.remember(nil, in: folder)
            cache.forgetReport(in: history.zone)
            guard try client.put(bytes, as: "\(folder)\(CloudNames.digits(next)).json") != .taken else { continue }
            cache.remember(own: report, next, in: history.zone, isLook: own == nil)
            // A device without the right to delete leaves the older ones, which no longer count.
            for old in known.counters where try !removes("\(folder)\(CloudNames.digits(old)).json") { return }
            cache.remember(ZoneCache.Reports(counters: [next], newest: report), in: folder)
            return
        }
        throw CloudError(.inputOutput, at: folder, "other runs of this device keep reporting", hint: "run one sync at a time", isRetryable: true)
    }

    /// Removes every report under a device's name.
    func removeReports(of device: String) throws {
        let folder = path("\(CloudNames.devices)/\(device)/")
        cache.remember(nil, in: folder)
        cache.forgetReport(in: history.zone)
        for counter in try counters(in: folder) { try client.remove("\(folder)\(CloudNames.digits(counter)).json") }
    }

    /// Removes an object. Returns false if the credentials may not.
    private func removes(_ path: String) throws(CloudError) -> Bool {
        do throws(CloudError) {
            try client.remove(path)
            return true
        } catch {
            guard error.code == .permissionFailure else { throw error }
            return false
        }
    }

    func newestReport(of device: String) throws -> DeviceReport? {
        let folder = path("\(CloudNames.devices)/\(device)/")
        if let own = cache.ownReport(of: device, in: history.zone) { return own.report }
        let found = try reports(of: device, in: folder)
        cache.remember(found, in: folder)
        if let newest = found.newest, let counter = found.counters.last { cache.remember(own: newest, counter, in: history.zone, isLook: true) }
        return found.newest
    }

    /// Whether a commit of this device's own says what the report would. A report less than a day and ``reportDistance`` versions old suffices then.
    private func isSaid(_ report: DeviceReport, after last: DeviceReport) -> Bool {
        guard let token = report.token, token == cache.lastPublished(in: history.zone), let before = last.token, report.role == last.role else { return false }
        return token.number - before.number < Self.reportDistance
            && abs(report.clock.microseconds - last.clock.microseconds) < CommitClock.dayInMicroseconds
    }

    private func reports(of device: String, in folder: String) throws -> ZoneCache.Reports {
        let counters = try counters(in: folder)
        return ZoneCache.Reports(counters: counters, newest: newest(of: device, counters, in: folder, ReportReader(self)))
    }

    func newestReports() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try reportsByDevice { name, counters, folder in newest(of: name, counters, in: folder, reader) }
    }

    /// The newest report of each device that asks to be a member of a signed zone, in the order of their names.
    func requests() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try reportsByDevice { name, counters, folder in reader.request(of: name, counters) { try read($0, in: folder) } }
    }

    private func reportsByDevice(_ choose: (_ device: String, _ counters: [Int], _ folder: String) -> DeviceReport?) throws -> [DeviceReport] {
        let all = path("\(CloudNames.devices)/")
        var devices: [String: [Int]] = [:]
        for object in try client.list(all) {
            let parts = object.path.dropFirst(all.utf8.count).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, CloudNames.isName(parts[0]), let counter = CloudNames.number(ofFile: parts[1]) else { continue }
            devices[parts[0], default: []].append(counter)
        }
        return devices.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.compactMap { name, counters in
            choose(name, counters, "\(all)\(name)/")
        }
    }

    private func counters(in folder: String) throws(CloudError) -> [Int] {
        try client.list(folder).compactMap { CloudNames.number(ofFile: String($0.path.dropFirst(folder.utf8.count))) }.sorted()
    }

    /// Reports are hints for people: one that is damaged, or removed by its author just now, gives way to the next older one.
    private func newest(of device: String, _ counters: [Int], in folder: String, _ reader: ReportReader) -> DeviceReport? {
        reader.newest(of: device, counters) { try read($0, in: folder) }
    }

    private func read(_ counter: Int, in folder: String) throws -> (bytes: [UInt8], place: String)? {
        let name = "\(folder)\(CloudNames.digits(counter)).json"
        return try client.get(name, limit: Self.reportByteLimit).map { ($0, name) }
    }
}
