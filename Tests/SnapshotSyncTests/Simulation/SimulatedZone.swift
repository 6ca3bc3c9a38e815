import CloudStore
import DirectoryCloud
import Foundation
import Logging
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport

@testable import SnapshotEngine
@testable import SnapshotVersions

/// What every simulated history has: a disk, a clock, random numbers, devices, and an account of what was done.
final class SimulatedZone: @unchecked Sendable {
    // SAFETY: a history runs one step after another; what a cloud calls back, it calls while the step waits.
    let seed: UInt64
    var random: SeededGenerator
    let disk: SimulatedDisk
    let zone = ZoneID.standard
    private(set) var devices: [SimulatedDevice] = []
    /// The newest version that each device has had.
    private(set) var applied: [Int] = []
    var titles = TitleJudge()
    var rule = AssetRule.standard
    /// What makes every title long, so that a few rows are several blocks.
    let pad: String
    private let time: SimulatedTime
    private let scratch: ScratchDirectory
    private let nonces: NonceSource
    /// What was done and what came of it.
    private(set) var log: [String] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        // Fixed: a history must be the same whenever it runs.
        let time = SimulatedTime(milliseconds: 1_790_000_000_000)
        self.time = time
        disk = SimulatedDisk(clock: { Instant(microseconds: time.milliseconds * 1000) })
        scratch = try ScratchDirectory(inMemory: true)
        nonces = .seeded(seed)
        pad = random.happens(percent: 10) ? String(repeating: "large ", count: 6000) : ""
        if random.happens(percent: 60) {
            // Change assets, as a large dataset has them, and now and then a snapshot asset.
            rule.smallByteCount = 0
            rule.changeFileCount = 1 + random.below(5)
            rule.changeShare = 10
        }
        if seed.isMultiple(of: 3) { rule.singleInstants = 0 }
    }

    /// The world's clock, in milliseconds; the disk's, too.
    var milliseconds: Int64 {
        get { time.milliseconds }
        set { time.milliseconds = newValue }
    }

    /// Makes the cloud and its zone in a folder.
    func makeCloud(in root: String, creator: String, publishers: PublisherRule) async throws -> String {
        disk.makeRoot(root)
        let cloud = try DirectoryCloud.create(at: root, container: "iCloud.org.example", calls: disk, nonces: nonces)
        _ = try await cloud.createZone(zone, creator: creator, publishers: publishers)
        return try await cloud.identity().uuid
    }

    func addDevice(_ name: String, _ role: SyncRole, root: String, cloudUUID: String) throws {
        let device = try SimulatedDevice(
            name, role, root: root, path: scratch.path(name + ".db"), isWAL: random.happens(percent: 50),
            tick: random.happens(percent: 30) ? 1000 : 1, shift: Int64(devices.count))
        try device.initialize(zone: zone, cloudUUID: cloudUUID)
        devices.append(device)
        applied.append(0)
    }

    func cloud(of device: Int) throws -> DirectoryCloud { try DirectoryCloud(path: devices[device].root, expecting: nil, calls: disk, nonces: nonces) }

    func engine(_ device: Int, _ open: @escaping @Sendable () throws -> CloudDatabase) throws -> SyncEngine {
        let now: @Sendable () -> Instant = { [self] in Instant(microseconds: clock(device) * 1000) }
        // What is only logged is not what histories are about.
        let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        var options = EngineOptions(now: now, assetRule: rule, nonces: nonces) { _ in try open() }
        options.logger = logger
        return try SyncEngine(database: devices[device].path, options: options)
    }

    func engine(_ device: Int) throws -> SyncEngine { try engine(device) { [self] in try cloud(of: device) } }

    /// A device's clock in whole ticks, in milliseconds.
    func clock(_ device: Int) -> Int64 { devices[device].clock(milliseconds) }

    func note(_ text: String) { log.append(text) }

    /// All that was done, and what every device has now.
    func trace() throws -> [String] { try log + devices.flatMap { try $0.rows().values.map(\.json).sorted() } }

    /// Has the application of a device write a row, or delete the one that was `here`.
    func write(_ device: Int, _ verb: String, _ sql: String, _ entity: SimulatedEntity?, over here: SimulatedEntity?) throws {
        try devices[device].app.run(sql, (entity?.values ?? []) + (verb.hasPrefix("INSERT") ? [] : [here?.id]), clock: clock(device))
        titles.note(here, entity)
        note("\(devices[device].name): \(verb) \(entity?.key ?? here?.key ?? "") -> \(entity?.description ?? "nothing")")
    }

    /// Sees what a sync has left that may have failed, and throws if it failed for no reason.
    func ended(_ device: Int, _ failure: SyncError?, _ fault: SimulatedDisk.Fault?, isExcused: (SyncError) -> Bool) throws {
        let name = devices[device].name, wasHit = disk.hasFailed
        disk.set(nil)
        if wasHit, let fault { note("\(name): \(fault.isFatal ? "was killed" : "met a failed call")") }
        let version = try devices[device].applied()
        guard version >= applied[device] else { throw difference(device, ["it has gone back from version \(applied[device]) to \(version)"]) }
        if version > applied.max() ?? 0 { note("version \(version)") }
        applied[device] = version
        if let failure {
            note("\(name): \(failure.code) at \(failure.step?.rawValue ?? "no step")")
            guard wasHit || isExcused(failure) else { throw difference(device, ["a sync failed that nothing hindered: \(failure)"]) }
        }
        guard disk.openCount == 0 else { throw difference(device, ["\(disk.openCount) descriptors were left open"]) }
        let rows = try devices[device].rows()
        let dangling = rows.values.filter { one in one.bucket.map { rows["buckets/\($0)"] == nil } ?? false }.map { "\($0.key) has no bucket" }
        guard dangling.isEmpty else { throw difference(device, dangling.sorted()) }
    }

    /// An error that says what is not as it must be, and how it came to it.
    func difference(_ device: Int?, _ what: [String]) -> Difference {
        Difference(
            description: "seed \(seed)\(device.map { ", \(devices[$0].name)" } ?? ""): \(what.joined(separator: "; "))\nhistory:\n  "
                + log.suffix(70).joined(separator: "\n  "))
    }

    /// Throws if a device's rows after the quiet rounds are not those of the first device.
    func check(_ found: [String: SimulatedEntity], is rows: [String: SimulatedEntity], _ device: Int, as first: String) throws {
        guard found != rows else { return }
        let keys = Set(found.keys).union(rows.keys).filter { found[$0] != rows[$0] }.sorted()
        throw difference(
            device,
            keys.map { "after two quiet rounds \($0) is \(found[$0]?.description ?? "nothing"), at \(first) \(rows[$0]?.description ?? "nothing")" })
    }

    struct Difference: Error, CustomStringConvertible {
        let description: String
    }
}

/// The world's clock.
final class SimulatedTime: @unchecked Sendable {
    // SAFETY: set between the steps of a history only.
    var milliseconds: Int64
    init(milliseconds: Int64) { self.milliseconds = milliseconds }
}

extension NonceSource {
    /// The same names for the same seed.
    static func seeded(_ seed: UInt64) -> NonceSource {
        let generator = SeededBytes(SeededGenerator(seed: seed ^ 0x5eed))
        return NonceSource { count in generator.next(count) }
    }
}

/// Random bytes, drawn by one thread at a time.
private final class SeededBytes: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private var generator: SeededGenerator
    private let lock = NSLock()

    init(_ generator: SeededGenerator) { self.generator = generator }

    func next(_ count: Int) -> [UInt8] { lock.withLock { (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) } } }
}
