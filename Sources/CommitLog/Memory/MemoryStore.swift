import CloudStore
import StrictText
import Synchronization

/// One zone's files in memory, by number or path.
struct MemoryFiles {
    var commits: [Int: [UInt8]] = [:]
    var checkpoints: [Int: [UInt8]] = [:]
    /// Assets and indexes by their paths beneath the zone.
    var assets: [String: [UInt8]] = [:]
    /// The newest report of each device, as its file would be. In a signed zone there is one for each key, so that no device replaces
    /// another's report under the same name.
    var reports: [String: [Report]] = [:]

    /// A report's file and the key that signed it; the key is nil in an unsigned zone.
    struct Report: Sendable {
        let bytes: [UInt8]
        let key: String?
    }
    /// When each file was written, by its path beneath the zone.
    var written: [String: Instant] = [:]
    /// The messages of each sender, by their files' names.
    var messages: [String: [String: [UInt8]]] = [:]
}

/// One zone in memory. The lock is held only while looking up or changing files, never during other work.
final class MemoryZone: Sendable {
    let info: ZoneInfo
    /// The store's own clock.
    let now: @Sendable () -> Instant
    private let contents = Mutex(MemoryFiles())

    init(info: ZoneInfo, now: @escaping @Sendable () -> Instant) {
        self.info = info
        self.now = now
    }

    /// The files as they are now.
    var files: MemoryFiles { contents.withLock { $0 } }

    /// Changes the files in one step.
    func change<T: Sendable>(_ body: (inout MemoryFiles) throws -> T) rethrows -> T {
        try contents.withLock { try body(&$0) }
    }
}

/// A zone in memory as a ``HistoryStore``.
struct MemoryStore: HistoryStore {
    let history: HistoryID
    let ends: VerifiedHeadCache
    let authority: ZoneAuthority
    let zone: MemoryZone
    let now: @Sendable () -> Instant

    func commitBytes(_ number: Int) -> [UInt8]? { zone.files.commits[number] }
    func checkpointBytes(_ number: Int) -> [UInt8]? { zone.files.checkpoints[number] }
    func commitNumbers() -> [Int] { zone.files.commits.keys.sorted() }
    func checkpointNumbers() -> [Int] { zone.files.checkpoints.keys.sorted() }

    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement {
        try CommitClock.verify(clock, against: now())
        return put(bytes, at: number, in: \.commits, named: CloudNames.commits)
    }

    func removeCommit(_ number: Int) { zone.change { $0.commits[number] = nil } }

    func placeCheckpoint(_ bytes: [UInt8], number: Int) -> Placement {
        put(bytes, at: number, in: \.checkpoints, named: CloudNames.checkpoints)
    }

    func hasAsset(_ asset: CloudAsset, at path: AssetPath) -> Bool {
        let assets = zone.files.assets
        guard assets[path.path]?.count == asset.byteCount else { return false }
        guard let index = asset.index else { return true }
        return assets[path.indexPath]?.count == index.byteCount
    }

    private func put(_ bytes: [UInt8], at number: Int, in folder: WritableKeyPath<MemoryFiles, [Int: [UInt8]]>, named name: String) -> Placement {
        let now = now()
        return zone.change { files in
            if let found = files[keyPath: folder][number] { return found == bytes ? .wasThere : .taken }
            files[keyPath: folder][number] = bytes
            files.written["\(name)/\(CloudNames.digits(number)).json"] = now
            return .placed
        }
    }
}
