import CloudStore
import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// Peers and a reader on one file system, whose calls fail and under which processes are killed. The same for the same seed.
final class SharedFolderWorld: SimulatedWorld, @unchecked Sendable {
    // SAFETY: a history runs one step after another; what a cloud calls back, it calls while the step waits.
    let zone: SimulatedZone
    private let writesTimestamps: [Bool]
    private var titleCount = 0
    private static let root = "/shared"

    init(seed: UInt64) async throws {
        zone = try SimulatedZone(seed: seed)
        let count = 3 + zone.random.below(3)
        var writes: [Bool] = []
        for _ in 0..<count { writes.append(zone.random.happens(percent: 80)) }
        writesTimestamps = writes
        let uuid = try await zone.makeCloud(in: Self.root, creator: "peer0", publishers: .many)
        for number in 0..<count {
            let isReader = number == count - 1
            try zone.addDevice(isReader ? "reader" : "peer\(number)", isReader ? .reader : .peer, root: Self.root, cloudUUID: uuid)
        }
        try insert(.buckets, "b0", "INSERT", 0)
        for device in 0..<count { try await sync(device, .none) }
    }

    /// One step of a history: an edit, a clock that jumps, days that pass, a prune, or a sync in which something may go wrong.
    func step() async throws {
        zone.milliseconds += Int64(random.below(3000))
        let device = random.below(devices.count)
        switch random.below(40) {
        case 0: jump(device)
        case 1:
            zone.milliseconds += Int64(random.below(3)) * 86_400_000
            zone.note("days pass")
        case 2: try await prune(device)
        case 3...22 where devices[device].role == .peer: try edit(device)
        default: try await sync(device, random.happens(percent: 45) ? Trouble.random(&random) : .none)
        }
    }

    private func jump(_ device: Int) {
        devices[device].skew = [0, -3_600_000, 365 * 86_400_000, -1500, 1500, 80_000_000][random.below(6)]
        zone.note("\(devices[device].name): clock off by \(devices[device].skew) ms")
    }

    /// Clocks are set, nothing fails any longer, and all devices sync twice, in any order.
    func agree() async throws {
        for device in devices { device.skew = random.happens(percent: 50) ? 0 : -3_600_000 }
        zone.note("quiet")
        for _ in 0..<2 { for device in Array(devices.indices).shuffled(using: &random) { try await sync(device, .none) } }
    }

    private func prune(_ device: Int) async throws {
        guard devices[device].role == .peer else { return }
        let policy = RetentionPolicy(keepLast: 1 + random.below(3), keepWithin: nil)
        do {
            let report = try await zone.engine(device).versions.prune(policy)
            zone.note("\(devices[device].name): prune, \(report.removedFiles.count) files")
        } catch let error as SyncError {
            zone.note("\(devices[device].name): prune, \(error.code)")
        }
    }
}

// Edits.
extension SharedFolderWorld {
    private func edit(_ device: Int) throws {
        let rows = try devices[device].rows()
        let bucket = "b\(random.below(5))", notification = "n\(random.below(9))"
        if random.happens(percent: 35) {
            guard let here = rows["buckets/\(bucket)"] else { return try insert(.buckets, bucket, "INSERT", device) }
            guard random.happens(percent: 30) else { return try update(here, device) }
            for child in rows.values.filter({ $0.bucket == bucket }).sorted(by: { $0.id < $1.id }) { try delete(child, device) }
            return try delete(here, device)
        }
        guard rows.values.contains(where: { $0.kind == .buckets }) else { return }
        guard let here = rows["notifications/\(notification)"] else {
            return try insert(.notifications, notification, random.happens(percent: 20) ? "INSERT OR IGNORE" : "INSERT", device)
        }
        switch random.below(8) {
        case 0, 1: try delete(here, device)
        case 2: try insert(.notifications, notification, "INSERT OR REPLACE", device)
        case 3:
            let other = "n\(random.below(9))"
            if rows["notifications/\(other)"] == nil { try rename(here, to: other, device) }
        default: try update(here, device)
        }
    }

    /// What the application writes as the time of a change.
    private func stamp(_ device: Int) -> String {
        guard writesTimestamps[device] else { return SimulatedEntity.created }
        switch random.below(12) {
        case 0: return "9999-12-31T23:59:59Z"
        case 1: return "yesterday"
        case 2: return "2001-02-03T04:05:06+02:00"
        default: return Instant(microseconds: zone.clock(device) * 1000).description
        }
    }

    private func title() -> String {
        titleCount += 1
        return "title \(titleCount)" + zone.pad
    }

    private func someBucket(_ device: Int) throws -> String? {
        let ids = try devices[device].rows().values.filter { $0.kind == .buckets }.map(\.id).sorted()
        return ids.isEmpty ? nil : ids[random.below(ids.count)]
    }

    private func insert(_ kind: SimulatedEntity.Kind, _ id: String, _ verb: String, _ device: Int) throws {
        var entity = SimulatedEntity(kind: kind, id: id, title: title(), updatedAt: stamp(device))
        if kind == .notifications { entity.bucket = try someBucket(device) }
        try zone.write(device, verb, "\(verb) \(SimulatedEntity.insert(kind))", entity, over: devices[device].rows()[entity.key])
    }

    private func update(_ here: SimulatedEntity, _ device: Int) throws {
        var entity = here
        if random.happens(percent: 70) { entity.updatedAt = stamp(device) }
        // Some put back what was there, and some touch without changing.
        if random.happens(percent: 85) { entity.title = title() }
        if here.kind == .notifications {
            if random.happens(percent: 30) { entity.readAt = random.happens(percent: 70) ? Instant(microseconds: zone.clock(device) * 1000).description : nil }
            if random.happens(percent: 20) { entity.bucket = try someBucket(device) }
        }
        try zone.write(device, "UPDATE", SimulatedEntity.update(here.kind), entity, over: here)
    }

    private func delete(_ here: SimulatedEntity, _ device: Int) throws {
        try zone.write(device, "DELETE", "DELETE FROM \(here.kind.rawValue) WHERE id = ?", nil, over: here)
    }

    private func rename(_ here: SimulatedEntity, to id: String, _ device: Int) throws {
        try zone.write(device, "UPDATE id of \(here.id) to", SimulatedEntity.update(here.kind), here.renamed(id), over: here)
    }
}

// Syncs.
extension SharedFolderWorld {
    /// What goes wrong in a sync.
    private enum Trouble: CustomStringConvertible {
        case none, otherWasFirst, editMeanwhile
        case fault(SimulatedDisk.Fault)

        static func random(_ random: inout SeededGenerator) -> Trouble {
            switch random.below(8) {
            case 0: .otherWasFirst
            case 1, 2: .editMeanwhile
            case 3...5: .fault(.init(call: random.below(random.happens(percent: 50) ? 60 : 300), isDone: random.happens(percent: 50), isFatal: true, number: 5))
            default: .fault(.init(call: random.below(250), isDone: random.happens(percent: 50), isFatal: false, number: [5, 28, 13, 116, 24][random.below(5)]))
            }
        }

        var description: String {
            switch self {
            case .none: ""
            case .otherWasFirst: ", another is first"
            case .editMeanwhile: ", edits meanwhile"
            case .fault(let fault): ", call \(fault.call) \(fault.isDone ? "done, then " : "")\(fault.isFatal ? "killed" : "fails with \(fault.number)")"
            }
        }
    }

    private func sync(_ device: Int, _ trouble: Trouble) async throws {
        zone.note("\(devices[device].name): sync\(trouble)")
        var failure: SyncError?
        do {
            try await run(device, trouble)
        } catch let error as SyncError {
            failure = error
        }
        var fault: SimulatedDisk.Fault?
        if case .fault(let one) = trouble { fault = one }
        try zone.ended(device, failure, fault) { $0.code == .refused && abs(devices[device].skew) >= 80_000_000 }
    }

    private func run(_ device: Int, _ trouble: Trouble) async throws {
        let scripted = ScriptedCloud(wrapped: try zone.cloud(of: device))
        let attempts = Attempts()
        scripted.publishing = { [self] in
            attempts.count += 1
            guard attempts.count == 1 else { return }
            switch trouble {
            case .otherWasFirst:
                zone.note("\(devices[device].name): is overtaken")
                try await sync((device + 1) % (devices.count - 1), .none)
            case .editMeanwhile:
                zone.note("\(devices[device].name): is edited while it publishes")
                for _ in 0..<3 { try edit(device) }
            case .none, .fault: break
            }
        }
        if case .fault(let fault) = trouble { zone.disk.set(fault) }
        let cloud = scripted
        _ = try await zone.engine(device) { cloud }.sync()
    }

    private final class Attempts: @unchecked Sendable {
        // SAFETY: as for the world.
        var count = 0
    }

    /// All devices have the same, and no title is gone without a word.
    func checkAgreement() async throws {
        let rows = try devices[0].rows()
        for (number, device) in devices.enumerated() {
            let found = try device.rows()
            try zone.check(found, is: rows, number, as: "peer0")
            try device.database.read { transaction in
                for schema in DatasetSchema.builtIn where try transaction.changeLog.summary(of: schema).count != 0 {
                    throw zone.difference(number, ["changes of \(schema.name) are tracked although all was published"])
                }
            }
            let problems = try await zone.engine(number).inspector().verify(all: number == 0, local: true).problems
            guard problems.isEmpty else { throw zone.difference(number, problems) }
        }
        try zone.titles.verify(rows, zone)
    }
}
