package import CloudStore
package import StrictText

/// One zone of an ``ObjectStore`` as a ``HistoryStore``: each commit and each checkpoint is one object.
///
/// The objects have the same names as the files of a directory cloud, so a tool that copies files converts a cloud in both directions.
package struct ObjectZone: HistoryStore {
    package let history: HistoryID
    package let ends: VerifiedHeadCache
    let store: any ObjectStore
    package let authority: ZoneAuthority

    package init(history: HistoryID, ends: VerifiedHeadCache, store: any ObjectStore, authority: ZoneAuthority) {
        (self.history, self.ends, self.store, self.authority) = (history, ends, store, authority)
    }

    /// Turns a path beneath the zone into a path beneath the cloud.
    func path(_ beneath: String) -> String { "\(history.zone)/\(beneath)" }

    package func commitBytes(_ number: Int) throws -> [UInt8]? { try store.get(path(CloudNames.commits, number), limit: CommitDocument.byteLimit) }

    package func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?] {
        try store.results(of: numbers.map { number in { [self] in try commitBytes(number) } })
    }

    /// After some commits were found, twice as many are requested at once: a superfluous request costs less than another round trip.
    package func readWidth(at number: Int, after found: Int) -> Int { min(max(1, 2 * found), store.width) }

    package func checkpointBytes(_ number: Int) throws -> [UInt8]? { try store.get(path(CloudNames.checkpoints, number), limit: CheckpointDocument.byteLimit) }

    package func commitNumbers() throws -> [Int] { try numbers(in: CloudNames.commits) }

    /// Lists pages here and there: some 20 of a million commits. Whether there are commits after a number decides, so gaps do no harm.
    package func newestCommitNumber() throws -> Int? {
        let folder = path("\(CloudNames.commits)/")
        var low = 0, step = 1000, high: Int?
        while true {
            let after = high.map { $0 - low > 1000 ? low + ($0 - low) / 2 : low } ?? (low == 0 ? 0 : low + step)
            guard let page = try store.listPage(folder, after: path(CloudNames.commits, after)) else { return try commitNumbers().last }
            guard let last = page.objects.last else {
                if after == low { return low > 0 ? low : nil }
                high = after
                continue
            }
            // A store that begins elsewhere, or files of other names, are not searched this way.
            guard let number = CloudNames.number(ofFile: String(last.path.dropFirst(folder.utf8.count))), number > after else {
                return try commitNumbers().last
            }
            if page.isLast { return number }
            (low, step) = (number, 2 * step)
            if let end = high, end <= low { high = nil }
        }
    }

    package func checkpointNumbers() throws -> [Int] { try numbers(in: CloudNames.checkpoints) }

    package func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement {
        try CommitClock.verify(clock, against: store.clock)
        return try store.put(bytes, as: path(CloudNames.commits, number))
    }

    package func removeCommit(_ number: Int) throws { try store.remove(path(CloudNames.commits, number)) }

    package func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement { try store.put(bytes, as: path(CloudNames.checkpoints, number)) }

    package func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool {
        var sizes = [(path: self.path(path.path), count: asset.byteCount)]
        if let index = asset.index { sizes.append((self.path(path.indexPath), index.byteCount)) }
        return try store.results(of: sizes.map { one in { [store] in try store.size(of: one.path) == one.count } }).allSatisfy { $0 }
    }

    package func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset? {
        // The assets of earlier versions were checked when those versions were published, and no prune removes them.
        let own = assets.filter { $0.path.number >= number }
        let found = try store.results(of: own.map { one in { [self] in try hasAsset(one.asset, at: one.path) } })
        return zip(own, found).first { !$0.1 }?.0.asset
    }

    package func storedFiles() throws -> [StoredFile] {
        var files: [StoredFile] = []
        for folder in [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.waiting] {
            for object in try store.list(path("\(folder)/")) {
                let beneath = String(object.path.dropFirst(path("").utf8.count))
                guard let kind = Self.kind(of: beneath) else { continue }
                files.append(StoredFile(kind: kind, path: beneath, byteCount: object.byteCount, modified: object.modified))
            }
        }
        for upload in try store.unfinishedUploads(path("\(CloudNames.assets)/")) {
            let beneath = String(upload.path.dropFirst(path("").utf8.count))
            guard Self.kind(of: beneath) != nil else { continue }
            files.append(StoredFile(kind: .temporary, path: beneath + Self.uploadMark + upload.id, byteCount: 0, modified: upload.begun))
        }
        return files
    }

    /// Separates the path from the id of an unfinished upload. No valid path contains it.
    private static let uploadMark = "?uploadId="

    /// The kind of a file by its path beneath the zone; nil for a path that this format does not define.
    private static func kind(of path: String) -> StoredFile.Kind? {
        let parts = path.exact.split(separator: "/")
        switch (parts.first, parts.count) {
        case (CloudNames.commits, 2): return CloudNames.number(ofFile: parts[1]).map { .commit($0) }
        case (CloudNames.checkpoints, 2): return CloudNames.number(ofFile: parts[1]).map { .checkpoint($0) }
        case (CloudNames.waiting, 2): return PublishTicket(fileName: parts[1]).map { _ in .temporary }
        case (CloudNames.assets, 3): return StoredFile.Kind(nameInAssets: parts[2], of: parts[1])
        default: return nil
        }
    }

    package func clock() throws -> Instant {
        // The store takes its clock from the server's answers, so send any request.
        _ = try store.size(of: path(ZoneMarker.fileName))
        return try store.clock
    }

    package func removeFile(_ path: String) throws {
        guard let mark = path.utf8.firstRange(of: Self.uploadMark.utf8) else { return try store.remove(self.path(path)) }
        try store.abandonUpload(String(path[mark.upperBound...]), of: self.path(String(path[..<mark.lowerBound])))
    }

    package func removeFiles(_ paths: [String]) throws {
        let whole = paths.filter { !$0.exact.contains(Self.uploadMark) }
        for path in paths where path.exact.contains(Self.uploadMark) { try removeFile(path) }
        if !whole.isEmpty { try store.remove(whole.map { self.path($0) }) }
    }

    /// Does nothing: a removal is durable once the server has answered.
    package func synchronizeRemovals(in directory: String) {}

    private func path(_ folder: String, _ number: Int) -> String { path("\(folder)/\(CloudNames.digits(number)).json") }

    private func numbers(in folder: String) throws -> [Int] {
        let prefix = path("\(folder)/")
        return try store.list(prefix).compactMap { CloudNames.number(ofFile: String($0.path.dropFirst(prefix.utf8.count))) }.sorted()
    }
}

extension ObjectZone {
    /// Removes an asset and its index, unless a commit names it: a publish that reported an error may have succeeded.
    func discard(_ path: AssetPath) throws {
        guard try !HistoryReader(source: self).isNamed(path) else { return }
        let paths = [path.path] + (path.kind == .snapshot ? [path.indexPath] : [])
        if store.width == 1 { return try removeFiles(paths) }
        _ = try store.results(of: paths.map { path in { [self] in try removeFile(path) } })
    }
}

// The mailbox: `messages/<sender>/<32 hex>.json`.
extension ObjectZone {
    /// Stores a message if its name is free.
    func send(_ message: CloudMessage, clock: Instant) throws {
        let bytes = try MessageDocument.encode(message, of: history, by: history.isSigned ? authority.signer() : nil)
        try CommitClock.verify(clock, against: store.clock)
        let place = path("\(CloudNames.messages)/\(message.sender)/\(message.id).json")
        guard try store.put(bytes, as: place) != .taken else { throw CloudMailbox.takenID(at: place) }
    }

    func mailbox(_ request: MailboxRequest) throws -> CloudMailbox {
        let all = path("\(CloudNames.messages)/")
        let listed = try store.list(request.sender.map { "\(all)\($0)/" } ?? all)
        var senders: [(name: String, files: [String])] = []
        // The listing is sorted by path, so the objects of one sender are adjacent.
        for object in listed {
            let parts = object.path.dropFirst(all.utf8.count).exact.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, CloudNames.isName(parts[0]) else { continue }
            if senders.last?.name == parts[0] { senders[senders.count - 1].files.append(parts[1]) } else { senders.append((parts[0], [parts[1]])) }
        }
        var mailbox = CloudMailbox()
        let signers = senders.isEmpty ? nil : try MessageSigners(self, request)
        for sender in senders.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            let folder = "\(all)\(sender.name)"
            mailbox.take(sender.files, of: sender.name, request, in: history, by: signers, at: folder) { name throws(CloudError) in
                try store.get("\(folder)/\(name)", limit: CloudMessage.byteLimit)
            }
        }
        return mailbox
    }

    func remove(_ message: CloudMessageName) throws {
        try CloudNames.verify(message.sender, isNameOf: "device")
        guard CloudNames.isMessageID(message.id) else { return }
        try store.remove(path("\(CloudNames.messages)/\(message.sender)/\(message.id).json"))
    }
}

// The reports of the devices: `devices/<device>/<20-digit counter>.json`. The highest counter counts.
extension ObjectZone {
    /// The largest report, in bytes.
    private static let reportByteLimit = 64 << 10

    func add(_ report: DeviceReport) throws {
        try report.verify()
        let bytes = try report.bytes(of: history, by: history.isSigned ? authority.signer() : nil)
        let folder = path("\(CloudNames.devices)/\(report.device)/")
        // Another run of the same device may take the next counter at the same time. Then try again.
        var taken = 0
        for _ in 0..<8 {
            let known = try reports(of: report.device, in: folder)
            if let last = known.newest, !report.isNews(after: last) { return }
            // A listing may lag behind and miss a counter that was taken just now.
            let last = max(known.counters.last ?? 0, taken)
            let next = last < CloudNames.largestNumber ? last + 1 : (1...).first { !known.counters.contains($0) } ?? 1
            guard try store.put(bytes, as: "\(folder)\(CloudNames.digits(next)).json") != .taken else {
                taken = next
                continue
            }
            // A device that may not delete leaves its older reports, which no longer count.
            let replaced = ReportReader(self, knowsOwn: true).replaced(of: report.device, known.counters) { try read($0, in: folder) }
            for old in replaced where try !removes("\(folder)\(CloudNames.digits(old)).json") { return }
            return
        }
        throw CloudError(.inputOutput, at: folder, "other runs of this device keep reporting", hint: "run one sync at a time", isRetryable: true)
    }

    /// Removes every report under a device's name.
    func removeReports(of device: String) throws {
        let folder = path("\(CloudNames.devices)/\(device)/")
        for counter in try counters(in: folder) { try store.remove("\(folder)\(CloudNames.digits(counter)).json") }
    }

    /// Removes an object. Returns false if the credentials do not allow deletion.
    private func removes(_ path: String) throws(CloudError) -> Bool {
        do throws(CloudError) {
            try store.remove(path)
            return true
        } catch {
            guard error.code == .permissionFailure else { throw error }
            return false
        }
    }

    func newestReport(of device: String) throws -> DeviceReport? {
        let folder = path("\(CloudNames.devices)/\(device)/")
        return try reports(of: device, in: folder).newest
    }

    /// The counters of a device's reports in ascending order, and the newest readable report.
    private func reports(of device: String, in folder: String) throws -> (counters: [Int], newest: DeviceReport?) {
        let counters = try counters(in: folder)
        return (counters, newest(of: device, counters, in: folder, ReportReader(self, knowsOwn: true)))
    }

    func newestReports() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try reportsByDevice { name, counters, folder in newest(of: name, counters, in: folder, reader) }
    }

    /// The newest report of each device that requests membership of a signed zone, sorted by device name.
    func requests() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try reportsByDevice { name, counters, folder in reader.request(of: name, counters) { try read($0, in: folder) } }
    }

    private func reportsByDevice(_ choose: (_ device: String, _ counters: [Int], _ folder: String) -> DeviceReport?) throws -> [DeviceReport] {
        let all = path("\(CloudNames.devices)/")
        var devices: [String: [Int]] = [:]
        for object in try store.list(all) {
            let parts = object.path.dropFirst(all.utf8.count).exact.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, CloudNames.isName(parts[0]), let counter = CloudNames.number(ofFile: parts[1]) else { continue }
            devices[parts[0], default: []].append(counter)
        }
        return devices.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.compactMap { name, counters in
            choose(name, counters, "\(all)\(name)/")
        }
    }

    private func counters(in folder: String) throws(CloudError) -> [Int] {
        try store.list(folder).compactMap { CloudNames.number(ofFile: String($0.path.dropFirst(folder.utf8.count))) }.sorted()
    }

    /// Reports are only information for people: if one is damaged, or its device has just removed it, the next older one counts.
    private func newest(of device: String, _ counters: [Int], in folder: String, _ reader: ReportReader) -> DeviceReport? {
        reader.newest(of: device, counters) { try read($0, in: folder) }
    }

    private func read(_ counter: Int, in folder: String) throws -> (bytes: [UInt8], place: String)? {
        let name = "\(folder)\(CloudNames.digits(counter)).json"
        return try store.get(name, limit: Self.reportByteLimit).map { ($0, name) }
    }
}
