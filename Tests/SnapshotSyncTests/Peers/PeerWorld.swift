import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import StrictText
import TestSupport

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// Some peers with real databases, a zone in memory, clocks that are wrong in all ways that clocks are, and beside them the
/// model of what must come of it. The same for the same seed.
final class PeerWorld: @unchecked Sendable {
    // SAFETY: a history runs one step after another; what a cloud calls back, it calls while the step waits.
    /// A device's database, its application and its clock.
    private struct Peer {
        let name: String
        let app: SimulatedApp
        /// How far the clock is off, in milliseconds.
        var skew: Int64 = 0
        /// What the clock goes by, in milliseconds.
        let tick: Int64
        /// Whether its application writes timestamps at all.
        let writesTimestamps: Bool
    }

    let seed: UInt64
    var random: SeededGenerator
    private(set) var model: PeerModel
    private var peers: [Peer] = []
    private let schema: DatasetSchema
    private let scratch: ScratchDirectory
    private let cloud: MemoryCloudDatabase
    private let cloudClock: CloudClock
    private let zone = ZoneID.standard
    private var milliseconds: Int64
    private let keyCount: Int
    private var rule = AssetRule.standard
    private let pad: String
    private var noteCount = 0
    /// What was done, for a history that ends badly.
    private(set) var log: [String] = []

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        let begin = Instant.now.microseconds / 1000
        milliseconds = begin
        scratch = try ScratchDirectory(inMemory: true)
        let cloudClock = CloudClock()
        self.cloudClock = cloudClock
        cloud = MemoryCloudDatabase(now: { Instant(microseconds: cloudClock.microseconds) })
        let hasTimestamp = random.happens(percent: 80)
        // Large notes make several blocks of a few entities.
        let isLarge = random.happens(percent: 15)
        keyCount = isLarge ? 24 : 3 + random.below(7)
        pad = isLarge ? String(repeating: "large ", count: 6000) : ""
        if random.happens(percent: 60) {
            // Change assets, as a large dataset has them, and now and then a snapshot asset.
            rule.smallByteCount = 0
            rule.changeFileCount = 1 + random.below(5)
            rule.changeShare = 10
        }
        // Exports of tables of which every row was written go another way.
        if seed.isMultiple(of: 2) { rule.rewrittenCount = 1 }
        if seed.isMultiple(of: 4) { rule.rewrittenExceptions = 1 }
        // Versions name runs of consecutive entities with one instant.
        if seed.isMultiple(of: 3) { rule.singleInstantBytes = 0 }
        schema = try DatasetSchema(
            name: "things", table: "things", key: "id", timestamp: hasTimestamp ? "changed" : nil,
            columns: [DatasetColumn("id", .text), DatasetColumn("changed", .text, isOptional: true), DatasetColumn("note", .text)])
        let count = 3 + random.below(4)
        model = PeerModel(deviceCount: count, hasTimestamp: hasTimestamp)
        _ = try await cloud.createZone(zone, creator: "peer0", publishers: .many)
        for number in 0..<count { peers.append(try await makePeer(number)) }
        try await agree()
    }

    var deviceCount: Int { peers.count }

    private func path(_ name: String) -> String { scratch.path(name + ".db") }

    private func makePeer(_ number: Int) async throws -> Peer {
        let name = "peer\(number)"
        let app = try SimulatedApp(path: path(name), isWAL: random.happens(percent: 50))
        try app.run("CREATE TABLE things(id TEXT PRIMARY KEY NOT NULL, changed TEXT, note TEXT NOT NULL)\(random.happens(percent: 30) ? " WITHOUT ROWID" : "")")
        let settings = SyncSettings(
            cloud: "/none", cloudUUID: try await cloud.identity().uuid, scope: zone.scope.rawValue, zone: zone.name, role: .peer, device: name,
            datasets: [schema], replacesOwnRows: false)
        try LocalDatabase(path: path(name)).write { transaction in
            try transaction.initialize(settings)
            _ = try transaction.tracking.install([schema])
        }
        return Peer(name: name, app: app, tick: random.happens(percent: 40) ? 1000 : 1, writesTimestamps: random.happens(percent: 75))
    }

    /// One step of a history: an edit, a clock that jumps, or a sync in which something may go wrong.
    func step() async throws {
        milliseconds += Int64(random.below(3000))
        let device = random.below(peers.count)
        switch random.below(20) {
        case 0: jump(device)
        case 1...11: try edit(device)
        default: try await sync(device, mayFail: true)
        }
    }

    private func jump(_ device: Int) {
        // Tombstones are kept for 90 days by the clock of who publishes: nothing here is that old.
        peers[device].skew = [0, -3_600_000, 80 * 86_400_000, -1500, 1500, 86_400_000][random.below(6)]
        log.append("\(peers[device].name): clock off by \(peers[device].skew) ms")
    }

    /// All peers sync until nothing is new to anyone.
    func agree() async throws {
        for _ in 0..<2 { for device in shuffled() { try await sync(device, mayFail: false) } }
    }

    private func shuffled() -> [Int] {
        // Peer 0 makes the first version.
        let rest = Array(1..<peers.count).shuffled(using: &random)
        return model.zone.isEmpty ? [0] + rest : ([0] + rest).shuffled(using: &random)
    }
}

// Edits.
extension PeerWorld {
    private func edit(_ device: Int) throws {
        if rule.rewrittenCount == 1, random.happens(percent: 10) { return try rewrite(device) }
        let key = "k\(random.below(keyCount))"
        let exists = model.devices[device][key]?.row != nil
        switch random.below(10) {
        case 0 where exists, 1 where exists: try delete(key, device)
        case 2 where exists: try rename(key, to: "k\(random.below(keyCount))", device)
        case 3: try insert(key, "INSERT OR REPLACE", device)
        default: if exists { try update(key, device) } else { try insert(key, "INSERT", device) }
        }
    }

    /// The device's clock in whole ticks, in milliseconds.
    private func clock(_ device: Int) -> Int64 { (milliseconds + peers[device].skew) / peers[device].tick * peers[device].tick }

    /// What the application writes as the time of a change.
    private func stamp(_ device: Int) -> String? {
        guard peers[device].writesTimestamps else { return nil }
        switch random.below(12) {
        case 0: return "9999-12-31T23:59:59Z"
        case 1: return "yesterday"
        case 2: return "2001-02-03T04:05:06+02:00"
        default: return Instant(microseconds: clock(device) * 1000).description
        }
    }

    private func nextNote() -> String {
        noteCount += 1
        // Equal notes on several devices, too.
        return (random.happens(percent: 25) ? "same \(random.below(2))" : "note \(noteCount)") + pad
    }

    private func insert(_ key: String, _ verb: String, _ device: Int) throws {
        let row = PeerModel.Row(changed: stamp(device), note: nextNote()), old = model.devices[device][key]?.row
        try peers[device].app.run("\(verb) INTO things VALUES(?, ?, ?)", [key, row.changed, row.note], clock: clock(device))
        note(device, verb, key, row, stamp: row.changed == old?.changed ? nil : row.changed)
    }

    private func update(_ key: String, _ device: Int) throws {
        guard let old = model.devices[device][key]?.row else { return }
        let changed = peers[device].writesTimestamps && random.happens(percent: 70) ? stamp(device) : old.changed
        // Some put back what was there, and some touch without changing.
        let row = PeerModel.Row(changed: changed, note: random.happens(percent: 15) ? old.note : nextNote())
        try peers[device].app.run("UPDATE things SET changed = ?, note = ? WHERE id = ?", [row.changed, row.note, key], clock: clock(device))
        note(device, "UPDATE", key, row, stamp: row.changed == old.changed ? nil : row.changed)
    }

    /// Writes every row, as an application does that keeps its state elsewhere.
    private func rewrite(_ device: Int) throws {
        let keys = model.devices[device].filter { $0.value.row != nil }.keys.sorted().shuffled(using: &random)
        guard random.happens(percent: 50) else { return try keys.forEach { try update($0, device) } }
        for key in keys { try delete(key, device) }
        for key in keys where random.happens(percent: 90) { try insert(key, "INSERT", device) }
    }

    private func delete(_ key: String, _ device: Int) throws {
        try peers[device].app.run("DELETE FROM things WHERE id = ?", [key], clock: clock(device))
        note(device, "DELETE", key, nil, stamp: nil)
    }

    private func rename(_ key: String, to other: String, _ device: Int) throws {
        guard let old = model.devices[device][key]?.row, model.devices[device][other]?.row == nil else { return }
        try peers[device].app.run("UPDATE things SET id = ? WHERE id = ?", [other, key], clock: clock(device))
        note(device, "UPDATE id of \(key) to", other, old, stamp: nil)
        note(device, "UPDATE id of", key, nil, stamp: nil)
    }

    private func note(_ device: Int, _ verb: String, _ key: String, _ row: PeerModel.Row?, stamp: String?) {
        model.change(key, at: device, to: row, stamp: model.hasTimestamp ? microseconds(stamp) : nil, clock: SimulatedApp.clock(of: clock(device)))
        log.append("\(peers[device].name): \(verb) \(key) -> \(model.devices[device][key]?.description ?? "nothing")")
    }
}

// Syncs.
extension PeerWorld {
    /// What goes wrong in a sync.
    private enum Trouble: CaseIterable { case none, killedBeforeCommit, killedAfterCommit, otherWasFirst, editMeanwhile }

    private func sync(_ device: Int, mayFail: Bool) async throws {
        let trouble = mayFail && random.happens(percent: 40) ? Trouble.allCases[random.below(Trouble.allCases.count)] : .none
        log.append("\(peers[device].name): sync, \(trouble)")
        do {
            try await sync(device, trouble)
        } catch let error as SyncError where error.reason.contains("Crash") {
            log.append("\(peers[device].name): killed")
        }
        try check(device)
    }

    private func sync(_ device: Int, _ trouble: Trouble) async throws {
        let attempts = Attempts()
        let clock = SimulatedApp.clock(of: clock(device)), before = cloudClock.microseconds
        cloudClock.microseconds = clock
        defer { cloudClock.microseconds = before }
        // What an earlier run had published without noting it is found before anything else.
        model.correct(device, clock: clock)
        let scripted = ScriptedCloud(wrapped: cloud)
        scripted.prepared = { [self] in
            // Here the device has imported the zone's newest version, and has read what it is about to publish.
            model.merge(into: device)
            attempts.read = model.devices[device]
        }
        scripted.publishing = { [self] in
            attempts.count += 1
            switch trouble {
            case .killedBeforeCommit: throw ScriptedCloud.Crash()
            case .otherWasFirst where attempts.count == 1: try await sync((device + 1) % peers.count, .none)
            case .editMeanwhile where attempts.count == 1:
                model.applied[device] = attempts.read
                for _ in 0..<3 { try edit(device) }
            default: break
            }
        }
        scripted.published = { [self] in
            model.zone = attempts.read
            model.applied[device] = attempts.read
            attempts.hasPublished = true
            if trouble == .killedAfterCommit { throw ScriptedCloud.Crash() }
        }
        let cloud = scripted
        let engine = try SyncEngine(
            database: path(peers[device].name), now: { Instant(microseconds: clock) }, pause: { _ in }, assetRule: rule
        ) { _ in cloud }
        _ = try await engine.sync()
        if !attempts.hasPublished { model.merge(into: device) }
    }

    /// The cloud's clock: that of whoever syncs, however wrong it is.
    private final class CloudClock: @unchecked Sendable {
        // SAFETY: as for the world.
        var microseconds = Instant.now.microseconds
    }

    private final class Attempts: @unchecked Sendable {
        // SAFETY: as for the world.
        var count = 0
        var hasPublished = false
        var read: PeerModel.States = [:]
    }
}

// What must be so.
extension PeerWorld {
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    /// Compares a device's rows with the model's.
    private func check(_ device: Int) throws {
        let found = try peers[device].app.rows(), expected = model.devices[device].compactMapValues(\.row)
        guard found != expected else { return }
        let keys = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
        throw difference(
            device,
            keys.map {
                "\($0): has \(found[$0].map { "'\($0.note.prefix(12))' (\($0.changed ?? "no time"))" } ?? "nothing"), must be \(model.devices[device][$0]?.description ?? "nothing")"
            })
    }

    /// Compares all devices, their instants and their tombstones with the state that must have won.
    func checkAgreement() throws {
        for device in peers.indices {
            guard model.devices[device] == model.zone else { throw difference(device, ["the model itself has not come to rest"]) }
            try check(device)
            try LocalDatabase(path: path(peers[device].name)).read { transaction in
                let rows = model.devices[device]
                for (key, state) in rows {
                    let entity = EntityKey.text(Array(key.utf8))
                    let found =
                        state.row == nil
                        ? try transaction.tombstonesAndInstants.tombstone(of: entity, in: schema)?.microseconds
                        : try transaction.tombstonesAndInstants.appliedInstant(of: entity, in: schema)?.microseconds
                            ?? (model.hasTimestamp ? microseconds(state.row?.changed) : nil)
                    guard found == state.at else { throw difference(device, ["\(key): its instant is \(found.map(String.init) ?? "none"), must be \(state)"]) }
                }
                guard try transaction.changeLog.summary(of: schema).count == 0 else {
                    throw difference(device, ["changes are tracked although all was published"])
                }
            }
        }
    }

    /// `verify --local` at every device, and `verify --all` once.
    func verify() async throws {
        for device in peers.indices {
            let cloud = cloud
            let engine = try SyncEngine(database: path(peers[device].name), assetRule: rule) { _ in cloud }
            let problems = try await engine.inspector().verify(all: device == 0, local: true).problems
            guard problems.isEmpty else { throw difference(device, problems) }
        }
    }

    private func difference(_ device: Int, _ what: [String]) -> Difference {
        Difference(description: "seed \(seed), \(peers[device].name): \(what.joined(separator: "; "))\nhistory:\n  " + log.suffix(60).joined(separator: "\n  "))
    }
}
