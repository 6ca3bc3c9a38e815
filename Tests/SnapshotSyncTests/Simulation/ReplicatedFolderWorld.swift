import CloudStore
import Foundation
import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// A writer and one to four readers, each with its own copy of a folder between which a tool carries files in any order, and
/// beside them what must come of it. The same for the same seed.
///
/// Readers mark, delete, and edit buckets; what they hand over travels as messages. The judge knows no rule of merging: all devices come to the
/// same, and every title that was ever written is in a row, was replaced by somebody who had seen it, or is in a journal.
final class ReplicatedFolderWorld: SimulatedWorld, @unchecked Sendable {
    // SAFETY: a history runs one step after another; what a cloud calls back, it calls while the step waits.
    let zone: SimulatedZone
    private(set) var tool: SimulatedTool
    private var titleCount = 0
    private var idCount = 0
    private var isQuiet = false

    init(seed: UInt64) async throws {
        zone = try SimulatedZone(seed: seed)
        let count = 2 + zone.random.below(4)
        let roots = (0..<count).map { "/copy\($0)" }
        tool = SimulatedTool(disk: zone.disk, roots: roots)
        let uuid = try await zone.makeCloud(in: roots[0], creator: "writer", publishers: .one)
        for root in roots.dropFirst() { zone.disk.makeRoot(root) }
        for number in 0..<count {
            try zone.addDevice(number == 0 ? "writer" : "reader\(number)", number == 0 ? .writer : .reader, root: roots[number], cloudUUID: uuid)
        }
        for id in ["b0", "b1"] { try insert(.buckets, id, 0) }
        for id in ["n0", "n1", "n2"] { try insert(.notifications, id, 0) }
        try await sync(0, nil)
        tool.settle()
        for device in 1..<count { try await sync(device, nil) }
    }

    /// One step of a history.
    func step() async throws {
        zone.milliseconds += Int64(random.below(3000))
        let device = random.below(devices.count)
        switch random.below(40) {
        case 0:
            devices[device].skew = [0, -3_600_000, 3_600_000, -1500, 70_000_000][random.below(5)]
            zone.note("\(devices[device].name): clock off by \(devices[device].skew) ms")
        case 1:
            zone.milliseconds += Int64(random.below(3)) * 86_400_000
            zone.note("days pass")
        case 2: try await prune()
        case 3, 4: zone.note("tool: at \(devices[device].name), \(tool.misbehave(at: devices[device].root, &random))")
        case 5...12: zone.note("tool: carries \(tool.carry(1 + random.below(6), &random))")
        case 13...26: if device == 0 { try editAtWriter() } else { try editAtReader(device) }
        default: try await sync(device, random.happens(percent: 35) ? fault() : nil)
        }
    }

    /// Nothing fails any longer, the tool has carried everything whenever a device syncs, and clocks are about right.
    func agree() async throws {
        for device in devices { device.skew = random.happens(percent: 50) ? 0 : -3_600_000 }
        isQuiet = true
        for round in 1...2 {
            zone.note("quiet round \(round)")
            for device in Array(1..<devices.count).shuffled(using: &random) + [0] {
                tool.settle()
                try await sync(device, nil)
            }
            tool.settle()
        }
    }

    private func prune() async throws {
        do {
            let report = try await zone.engine(0).versions.prune(RetentionPolicy(keepLast: 1 + random.below(3), keepWithin: nil))
            zone.note("writer: prune, \(report.removedFiles.count) files")
        } catch let error as SyncError {
            zone.note("writer: prune, \(error.code)")
        }
    }

    private func fault() -> SimulatedDisk.Fault {
        let isFatal = random.happens(percent: 60)
        return .init(
            call: random.below(random.happens(percent: 50) ? 60 : 300), isDone: random.happens(percent: 50), isFatal: isFatal,
            number: isFatal ? 5 : [5, 28, 13, 116, 24][random.below(5)])
    }
}

// Edits. A title is never given twice: an edit that changes nothing is no message.
extension ReplicatedFolderWorld {
    private func editAtWriter() throws {
        let rows = try devices[0].rows(), buckets = rows.values.filter { $0.kind == .buckets }.map(\.id).sorted()
        guard let here = some(rows) else { return try insert(.buckets, nextID("b", 0), 0) }
        switch random.below(10) {
        case 0: try insert(.buckets, nextID("b", 0), 0)
        case 1...3: if !buckets.isEmpty { try insert(.notifications, nextID("n", 0), 0) }
        case 4: try delete(here, rows, 0)
        case 5 where here.kind == .notifications: try mark(here, 0)
        default: try update(here, 0)
        }
    }

    private func editAtReader(_ device: Int) throws {
        let rows = try devices[device].rows()
        guard let here = some(rows) else { return }
        switch random.below(10) {
        case 0: try insert(.buckets, nextID("b", device), device)
        case 1, 2: try delete(here, rows, device)
        case _ where here.kind == .buckets: try update(here, device)
        default: try mark(here, device)
        }
    }

    private func some(_ rows: [String: SimulatedEntity]) -> SimulatedEntity? {
        let keys = rows.keys.sorted()
        return keys.isEmpty ? nil : rows[keys[random.below(keys.count)]]
    }

    private func nextID(_ letter: String, _ device: Int) -> String {
        idCount += 1
        return "\(letter)\(device)x\(idCount)"
    }

    private func title(_ device: Int) -> String {
        titleCount += 1
        return "by \(device), \(titleCount)" + zone.pad
    }

    private func stamp(_ device: Int) -> String {
        random.happens(percent: 10)
            ? ["9999-12-31T23:59:59Z", "yesterday", "2001-02-03T04:05:06+02:00"][random.below(3)] : Instant(microseconds: zone.clock(device) * 1000).description
    }

    private func insert(_ kind: SimulatedEntity.Kind, _ id: String, _ device: Int) throws {
        var entity = SimulatedEntity(kind: kind, id: id, title: title(device), updatedAt: stamp(device))
        if kind == .notifications {
            let buckets = try devices[device].rows().values.filter { $0.kind == .buckets }.map(\.id).sorted()
            entity.bucket = buckets[random.below(buckets.count)]
        }
        try zone.write(device, "INSERT", "INSERT \(SimulatedEntity.insert(kind))", entity, over: nil)
    }

    private func update(_ here: SimulatedEntity, _ device: Int) throws {
        var entity = here
        entity.title = title(device)
        if random.happens(percent: 80) { entity.updatedAt = stamp(device) }
        try zone.write(device, "UPDATE", SimulatedEntity.update(here.kind), entity, over: here)
    }

    /// Marks as read, or as unread again.
    private func mark(_ here: SimulatedEntity, _ device: Int) throws {
        var entity = here
        entity.readAt = here.readAt == nil || random.happens(percent: 60) ? Instant(microseconds: zone.clock(device) * 1000).description : nil
        guard entity.readAt != here.readAt else { return }
        if random.happens(percent: 50) { entity.updatedAt = stamp(device) }
        try zone.write(device, "MARK", SimulatedEntity.update(here.kind), entity, over: here)
    }

    private func delete(_ here: SimulatedEntity, _ rows: [String: SimulatedEntity], _ device: Int) throws {
        if here.kind == .buckets, rows.values.contains(where: { $0.bucket == here.id }) { return try update(here, device) }
        try zone.write(device, "DELETE", "DELETE FROM \(here.kind.rawValue) WHERE id = ?", nil, over: here)
    }
}

// Syncs.
extension ReplicatedFolderWorld {
    private func sync(_ device: Int, _ fault: SimulatedDisk.Fault?) async throws {
        let name = devices[device].name
        zone.note(
            "\(name): sync\(fault.map { ", call \($0.call) \($0.isDone ? "done, then " : "")\($0.isFatal ? "killed" : "fails with \($0.number)")" } ?? "")")
        var failure: SyncError?
        do {
            let engine = try zone.engine(device)
            if let fault { zone.disk.set(fault) }
            let report = try await engine.sync()
            if let sent = report.messages?.sent, sent > 0 { zone.note("\(name): tells \(sent)") }
            if let count = report.exported?.messagesApplied, count > 0 { zone.note("writer: applied \(count)") }
            if let count = report.exported?.messagesRefused, count > 0 { zone.note("writer: refused \(count)") }
        } catch let error as SyncError {
            failure = error
        }
        try zone.ended(device, failure, fault) { !isQuiet && [.tryAgainLater, .dataRefused, .nothingThere].contains($0.code) }
    }

    /// All devices have what the writer has, every edit was decided, and no title is gone without a word.
    func checkAgreement() async throws {
        let rows = try devices[0].rows()
        for (number, device) in devices.enumerated() {
            let found = try device.rows()
            try zone.check(found, is: rows, number, as: "the writer")
            let problems = try await zone.engine(number).inspector().verify(all: number < 2, local: true).problems
            guard problems.isEmpty else { throw zone.difference(number, problems) }
            let open = try device.database.read { (try $0.sentEdits.all().count, try DatasetSchema.builtIn.flatMap($0.sentEdits.kept).count) }
            guard open == (0, 0) || number == 0 else { throw zone.difference(number, ["\(open.0) edits are not decided, \(open.1) changes stay"]) }
            guard
                !zone.disk.files(in: device.root).keys.contains(where: {
                    $0.contains("/messages/") && !tool.wereGone.contains($0) && !$0.lowercased().contains("conflict") && !$0.contains("/.")
                })
            else { throw zone.difference(number, ["a message whose edits are decided lies in the mailbox"]) }
        }
        try zone.titles.verify(rows, zone)
    }
}
