import StrictText

/// One zone of a cloud in an ``ObjectStore``: its commits, its checkpoints, and its files. Each is one object.
///
/// The bytes are returned without a check; ``HistoryReader`` checks them. nil means that there is no such object.
package struct Zone {
    package let history: HistoryID
    package let store: any ObjectStore
    /// What this device knows and trusts of a signed zone.
    package let authority: ZoneAuthority
    /// Documents that are read instead of those in the store, by their paths beneath the zone: what `repair` would put there.
    package var mended: [String: [UInt8]] = [:]

    package init(history: HistoryID, store: any ObjectStore, authority: ZoneAuthority = ZoneAuthority()) {
        (self.history, self.store, self.authority) = (history, store, authority)
    }

    /// Turns a path beneath the zone into a path beneath the cloud.
    package func path(_ beneath: String) -> String { "\(history.zone)/\(beneath)" }
    private func path(_ folder: String, _ number: Int) -> String { path(Self.name(folder, number)) }
    private static func name(_ folder: String, _ number: Int) -> String { "\(folder)/\(CloudNames.digits(number)).json" }

    /// The part of an object's path after that of its folder.
    static func name(_ path: String, beneath folder: String) -> String { String(Substring(path.utf8.dropFirst(folder.utf8.count))) }

    // MARK: reading

    package func commitBytes(_ number: Int) throws -> [UInt8]? { try document(CloudNames.commits, number, limit: CommitDocument.byteLimit) }

    package func checkpointBytes(_ number: Int) throws -> [UInt8]? { try document(CloudNames.checkpoints, number, limit: CheckpointDocument.byteLimit) }

    private func document(_ folder: String, _ number: Int, limit: Int) throws -> [UInt8]? {
        try mended[Self.name(folder, number)] ?? store.get(path(folder, number), limit: limit)
    }

    /// The commits of these numbers, read in parallel if the store allows it.
    func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?] {
        try store.results(of: numbers.map { number in { try commitBytes(number) } })
    }

    /// How many commits to request at once from a number on, after `found` commits were found before it. After some were found, twice as many
    /// are requested at once: a superfluous request costs less than another round trip.
    func readWidth(after found: Int) -> Int { min(max(1, 2 * found), store.width) }

    /// Passes the commits from `number` on to `body`, up to the first one that is not there.
    ///
    /// - Parameter last: the last number to request; nil continues to the end.
    /// - Returns: the number after the last one that was found.
    @discardableResult
    func forEachCommit(from number: Int, upTo last: Int? = nil, _ body: ([UInt8]) throws -> Void) throws -> Int {
        var next = number
        while next <= last ?? .max {
            let read = try commitBytes(next...min(next + readWidth(after: next - number) - 1, last ?? .max))
            for bytes in read {
                guard let bytes else { return next }
                try body(bytes)
                next += 1
            }
        }
        return next
    }

    /// The numbers of the commits that are there, ascending.
    package func commitNumbers() throws -> [Int] { try numbers(in: CloudNames.commits) }

    /// The numbers of the checkpoints that are there, ascending.
    package func checkpointNumbers() throws -> [Int] { try numbers(in: CloudNames.checkpoints) }

    private func numbers(in folder: String) throws -> [Int] {
        let replaced = mended.keys.filter { $0.exact.hasPrefix(folder + "/") }.map { Self.name($0, beneath: folder + "/") }
        return Set(try names(in: folder) + replaced).compactMap(CloudNames.number(ofFile:)).sorted()
    }

    /// The names of the objects in a folder of the zone.
    func names(in folder: String) throws(CloudError) -> [String] {
        let prefix = path("\(folder)/")
        return try store.paths(prefix).map { Self.name($0, beneath: prefix) }
    }

    /// The number of the newest commit; nil if there is none. Used on a first visit and to explain a gap.
    package func newestCommitNumber() throws -> Int? { try commitNumbers().last }

    /// Makes the next read of a commit see what other machines have written.
    func refreshCommits() throws { try store.refresh(path("\(CloudNames.commits)/")) }

    /// Makes the commits in the store durable, whichever device wrote them.
    func makeCommitsDurable() throws { try store.makeDurable(path("\(CloudNames.commits)/"), isOwn: false) }

    // MARK: writing

    /// Places the commit's object if its name is free. Refuses a clock that differs from the store's own by a day or more.
    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement {
        try store.put(bytes, as: path(CloudNames.commits, number), clock: clock, in: history.zone)
    }

    /// Removes a commit that was placed just now and turned out to be invalid.
    func removeCommit(_ number: Int) throws {
        try store.remove(path(CloudNames.commits, number))
        try makeRemovalsDurable(in: CloudNames.commits)
    }

    func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement { try store.put(bytes, as: path(CloudNames.checkpoints, number)) }

    /// Whether the asset and its index are there with the right sizes.
    package func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool {
        var sizes = [(path: self.path(path.path), count: asset.byteCount)]
        if let index = asset.index { sizes.append((self.path(path.indexPath), index.byteCount)) }
        return try store.results(of: sizes.map { one in { [store] in try store.size(of: one.path) == one.count } }).allSatisfy { $0 }
    }

    /// Returns the first of commit `number`'s assets that is not there; nil if all are.
    func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset? {
        // The assets of earlier versions were checked when those versions were published, and no prune removes them.
        let own = store.isReplicated ? assets : assets.filter { $0.path.number >= number }
        let found = try store.results(of: own.map { one in { try hasAsset(one.asset, at: one.path) } })
        return zip(own, found).first { !$0.1 }?.0.asset
    }

    /// Removes an asset and its index, unless a commit names it: a publish that reported an error may have succeeded.
    func discard(_ path: AssetPath) throws {
        guard try !HistoryReader(self).isNamed(path) else { return }
        let paths = [path.path] + (path.kind == .snapshot ? [path.indexPath] : [])
        if store.width == 1 { return try store.remove(paths.map { self.path($0) }) }
        _ = try store.results(of: paths.map { path in { [store] in try store.remove(self.path(path)) } })
    }

    // MARK: files

    /// Lists the files of the history and the assets, in no particular order.
    func storedFiles() throws -> [StoredFile] {
        func file(_ object: StoredObject, _ kind: (String) -> StoredFile.Kind?) -> StoredFile? {
            let beneath = Self.name(object.path, beneath: path(""))
            return kind(beneath).map { StoredFile(kind: $0, path: beneath, byteCount: object.byteCount, modified: object.modified) }
        }
        let listed = try [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets].flatMap { try store.list(path("\($0)/")) }
        return listed.compactMap { file($0, Self.kind) } + (try store.leftovers(path("")).compactMap { file($0) { _ in .temporary } })
    }

    /// The kind of a file by its path beneath the zone; nil for a path that this format does not define.
    private static func kind(of path: String) -> StoredFile.Kind? {
        let parts = path.exact.split(separator: "/")
        switch (parts.first, parts.count) {
        case (CloudNames.commits, 2): return CloudNames.number(ofFile: parts[1]).map { .commit($0) }
        case (CloudNames.checkpoints, 2): return CloudNames.number(ofFile: parts[1]).map { .checkpoint($0) }
        case (CloudNames.assets, 3): return StoredFile.Kind(nameInAssets: parts[2], of: parts[1])
        default: return nil
        }
    }

    /// The store's own clock.
    func clock() throws -> Instant {
        // Some stores take their clock from the server's answers, so send any request.
        _ = try store.size(of: path(ZoneMarker.fileName))
        return try store.clock(in: history.zone)
    }

    /// Removes files by their paths beneath the zone, in the given order if the store cannot remove them in one step.
    func removeFiles(_ paths: [String]) throws { if !paths.isEmpty { try store.remove(paths.map { path($0) }) } }

    func makeRemovalsDurable(in folder: String) throws { try store.makeDurable(path("\(folder)/"), isOwn: true) }
}
