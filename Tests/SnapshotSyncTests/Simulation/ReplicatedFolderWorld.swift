import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import StrictText

@testable import SnapshotEngine
@testable import SnapshotVersions

/// A writer and one to four readers, each with its own copy of a folder between which a tool carries files in any order, and
/// beside them what must come of it. The same for the same seed.
///
/// Readers mark, delete, and edit buckets; what they tell travels as messages. Of buckets that nobody deletes, and of
/// notifications where nobody marks, the exact model of last write wins says what each device must have at any time.
final class ReplicatedFolderWorld: SimulatedWorld, @unchecked Sendable {
    // SAFETY: a history runs one step after another; what a cloud calls back, it calls while the step waits.
    let zone: SimulatedZone
    private(set) var model: LastWriteModel
    private(set) var tool: SimulatedTool
    let marks: Bool
    private var titleCount = 0
    private var idCount = 0
    /// The writer's rows as each version has them; the first is version 1.
    var published: [[String: SimulatedEntity]] = []
    /// Every state that an entity was given at each device.
    var given: [Int: [String: [LastWriteModel.State]]] = [:]
    /// Who marked which entity as read or unread.
    var markers: [String: Set<Int>] = [:]
    /// Readers whose own version's commit was pruned: answers may be gone with it and those after it.
    var inDoubt: Set<Int> = []
    /// Entities that somebody deleted.
    var deleted: Set<String> = []
    /// Messages that readers wrote down: what they say of which entity.
    var messages: [String: (key: String, state: LastWriteModel.State)] = [:]
    /// Those of them that the writer has heard.
    var heard: Set<String> = []
    /// What messages said with instants that the writer has corrected since; what they are now is in ``given`` as of no device.
    var overruled: [String: [LastWriteModel.State]] = [:]
    /// What the writer applied and no version has yet, of which entity.
    private var unnamed: [(key: String, state: LastWriteModel.State)] = []
    /// What the writer applied, and the version that has it or something later.
    private var applied: [(key: String, state: LastWriteModel.State, version: Int)] = []
    /// What the writer refused, of which entity.
    private var refused: [String: [LastWriteModel.State]] = [:]
    private var isQuiet = false
    /// What the sync that is under way makes of instants from the future, once it gets there.
    private var corrections: [Int: [String: (from: LastWriteModel.State, to: LastWriteModel.State)]] = [:]

    init(seed: UInt64) async throws {
        zone = try SimulatedZone(seed: seed)
        let count = 2 + zone.random.below(4)
        model = LastWriteModel(deviceCount: count)
        marks = zone.random.happens(percent: 60)
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
        let policy = RetentionPolicy(keepLast: 1 + random.below(3), keepWithin: nil)
        // Its commit, which names a checkpoint, saves nothing.
        let attempt = Attempt()
        if let rows = published.last, let states = model.versions[model.newest] { attempt.read = (rows, states) }
        do {
            let report = try await zone.engine(0).prune(policy)
            zone.note("writer: prune, \(report.removedFiles.count) files")
        } catch let error as SyncError {
            zone.note("writer: prune, \(error.code)")
        }
        try noteCommit(attempt)
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
        case 5 where here.kind == .notifications && marks: try mark(here, 0)
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
        default: if marks { try mark(here, device) } else { try delete(here, rows, device) }
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
        try devices[device].app.run("INSERT \(SimulatedEntity.insert(kind))", entity.values, clock: zone.clock(device))
        note(device, "INSERT", entity.key, entity, stamp: entity.updatedAt)
    }

    private func update(_ here: SimulatedEntity, _ device: Int) throws {
        var entity = here
        entity.title = title(device)
        if random.happens(percent: 80) { entity.updatedAt = stamp(device) }
        try devices[device].app.run(SimulatedEntity.update(here.kind), entity.values + [here.id], clock: zone.clock(device))
        note(device, "UPDATE", entity.key, entity, stamp: entity.updatedAt == here.updatedAt ? nil : entity.updatedAt)
    }

    /// Marks as read, or as unread again.
    private func mark(_ here: SimulatedEntity, _ device: Int) throws {
        var entity = here
        entity.readAt = here.readAt == nil || random.happens(percent: 60) ? Instant(microseconds: zone.clock(device) * 1000).description : nil
        guard entity.readAt != here.readAt else { return }
        if random.happens(percent: 50) { entity.updatedAt = stamp(device) }
        try devices[device].app.run(SimulatedEntity.update(here.kind), entity.values + [here.id], clock: zone.clock(device))
        markers[entity.key, default: []].insert(device)
        note(device, "MARK", entity.key, entity, stamp: entity.updatedAt == here.updatedAt ? nil : entity.updatedAt)
    }

    private func delete(_ here: SimulatedEntity, _ rows: [String: SimulatedEntity], _ device: Int) throws {
        if here.kind == .buckets, rows.values.contains(where: { $0.bucket == here.id }) { return try update(here, device) }
        try devices[device].app.run("DELETE FROM \(here.kind.rawValue) WHERE id = ?", [here.id], clock: zone.clock(device))
        deleted.insert(here.key)
        note(device, "DELETE", here.key, nil, stamp: nil)
    }

    private func note(_ device: Int, _ verb: String, _ key: String, _ entity: SimulatedEntity?, stamp: String?) {
        model.change(
            key, at: device, to: entity, stamp: microseconds(stamp), clock: SimulatedApp.clock(of: zone.clock(device)),
            isSent: model.devices[device][key].map { isSent($0, of: key) } == true)
        if let state = model.devices[device][key] { given[device, default: [:]][key, default: []].append(state) }
        zone.note("\(devices[device].name): \(verb) \(key) -> \(model.devices[device][key]?.description ?? "nothing")")
    }
}

// Syncs.
extension ReplicatedFolderWorld {
    private func sync(_ device: Int, _ fault: SimulatedDisk.Fault?) async throws {
        zone.note(
            "\(devices[device].name): sync\(fault.map { ", call \($0.call) \($0.isDone ? "done, then " : "")\($0.isFatal ? "killed" : "fails with \($0.number)")" } ?? "")"
        )
        var failure: SyncError?
        let attempt = Attempt()
        corrections[device] = model.corrections(device, clock: zone.clock(device) * 1000)
        if device > 0, let oldest = zone.commits(in: devices[device].root).min(), oldest > model.applied[device] { inDoubt.insert(device) }
        do {
            try await sync(device, fault, attempt)
        } catch let error as SyncError {
            failure = error
        }
        let wasHit = zone.disk.hasFailed
        zone.disk.set(nil)
        if wasHit, let fault { zone.note("\(devices[device].name): \(fault.isFatal ? "was killed" : "met a failed call")") }
        try noteCommit(attempt, by: device)
        try observe(device)
        if let failure {
            zone.note("\(devices[device].name): \(failure.code) at \(failure.step?.rawValue ?? "no step")")
            let isWaiting = !isQuiet && [.tryAgainLater, .dataRefused, .nothingThere].contains(failure.code)
            guard wasHit || isWaiting else { throw zone.difference(device, ["a sync failed that nothing hindered: \(failure)"]) }
        }
        guard zone.disk.openCount == 0 else { throw zone.difference(device, ["\(zone.disk.openCount) descriptors were left open"]) }
        try check(device)
    }

    private func sync(_ device: Int, _ fault: SimulatedDisk.Fault?, _ attempt: Attempt) async throws {
        let scripted = ScriptedCloud(wrapped: try zone.cloud(of: device))
        scripted.prepared = { [self] in
            // Here the writer has heard its messages, and has read what it is about to publish.
            try observe(device)
            attempt.read = (try devices[device].rows(), model.devices[device])
        }
        if let fault { zone.disk.set(fault) }
        let cloud = scripted
        _ = try await zone.engine(device) { cloud }.sync()
    }

    private final class Attempt: @unchecked Sendable {
        // SAFETY: as for the world.
        var read: (rows: [String: SimulatedEntity], states: LastWriteModel.States)?
    }

    /// If the commit that was under way is there, its version is what was read for it, whatever the device was told.
    private func noteCommit(_ attempt: Attempt, by device: Int? = nil) throws {
        let number = String(model.newest + 1)
        guard let read = attempt.read, zone.commits(in: devices[0].root).contains(model.newest + 1) else { return }
        attempt.read = nil
        published.append(read.rows)
        model.publish(read.states)
        if let device {
            model.note(read.states, by: device)
            applied += unnamed.map { ($0.key, $0.state, model.newest) }
            unnamed = []
        }
        zone.note("version \(number)")
    }

    /// Lets the model take in what the device has taken in by now.
    private func observe(_ device: Int) throws {
        try noteCorrected(device)
        if device == 0 { return try hear() }
        let version = try devices[device].applied()
        guard version >= model.applied[device] else { throw zone.difference(device, ["it has gone back from version \(model.applied[device]) to \(version)"]) }
        guard version <= model.newest else { throw zone.difference(device, ["it has version \(version), which nobody published"]) }
        if version > model.applied[device] { model.merge(version, into: device, publishes: false) }
        try noteRevived(device)
        try noteAnswered(device)
        try noteTakenBack(device)
        try noteRefused(device)
        for entry in try devices[device].database.read({ try $0.outbox.entries(onlyMessages: true) }) {
            guard let id = entry.id, messages[id] == nil, let body = entry.body, let dataset = entry.dataset, case .text(let bytes)? = entry.key else {
                continue
            }
            let key = "\(dataset)/\(String(decoding: bytes, as: UTF8.self))"
            let message = try StrictJSON.decode(SyncUpdateMessage.self, from: body), instant = microseconds(message.timestamp)
            guard let state = given[device]?[key]?.first(where: { $0.at == instant }) else {
                throw zone.difference(device, ["a message about \(key) tells of a change at \(instant ?? 0), which nobody made"])
            }
            messages[id] = (key, state)
            zone.note(
                "\(devices[device].name): tells \(message.type.rawValue) of \(key) at \(state.at)" + (message.newReadAt.map { ", read \($0)" } ?? "")
                    + (message.basedOnReadAt.map { ", was \($0)" } ?? ""))
        }
    }

    /// Instants from the future were set back if the run came that far, except those that a message has told.
    private func noteCorrected(_ device: Int) throws {
        guard let expected = corrections[device], !expected.isEmpty else { return }
        let tracked = try devices[device].tracked()
        for (key, change) in expected.sorted(by: { $0.key < $1.key }) where model.devices[device][key] == change.from {
            // Another instant is that of a bucket that came back: 1 us after its deletion, which was corrected unless it was sent.
            if let found = tracked[key], found == nil || found == change.from.at { continue }
            if isSent(change.from, of: key), tracked[key] != change.to.at, tracked[key] != change.to.at + 1 { continue }
            // What was sent before it counts as published.
            let found = tracked[key].flatMap { $0 },
                sent = found.flatMap { at in messages.values.first { $0.key == key && $0.state.at + 1 == at }.map { _ in at } }
            let corrected = LastWriteModel.State(at: max(change.to.at, sent ?? change.to.at), entity: change.to.entity)
            model.devices[device][key] = corrected
            let isOwn = given[device]?[key]?.contains(change.from) == true
            // What it replaced was neither published nor sent: nobody else has seen it, and it is later than nothing.
            given[device]?[key]?.removeAll { $0.at > corrected.at && (found == corrected.at || !isSent($0, of: key)) }
            if isOwn {
                given[device, default: [:]][key, default: []].append(corrected)
            } else {
                // A message said it.
                overruled[key, default: []].append(change.from)
                given[-1, default: [:]][key, default: []].append(corrected)
            }
            zone.note("\(devices[device].name): \(key) is of \(corrected.at), not of \(change.from.at)")
        }
    }

    private func isSent(_ state: LastWriteModel.State, of key: String) -> Bool { messages.values.contains { $0.key == key && $0.state == state } }

    /// What a message told ends with the version that has it, whatever instant the writer gave it.
    private func noteAnswered(_ device: Int) throws {
        let states = model.versions[model.applied[device]] ?? [:], open = try openKeys(device)
        for (key, mine) in model.devices[device] where !open.contains(key) && isSent(mine, of: key) {
            guard let state = states[key], state != mine else { continue }
            // Where the writer has applied it, the version has it or something later.
            guard state.entity == mine.entity || applied.contains(where: { $0.key == key && $0.state == mine && $0.version <= model.applied[device] }) else {
                continue
            }
            model.devices[device][key] = state
        }
    }

    /// A bucket that was deleted and that a notification still needs comes back, which takes the deletion back and nothing else.
    private func noteRevived(_ device: Int) throws {
        for (key, entity) in try devices[device].rows().sorted(by: { $0.key < $1.key }) where entity.isOrphan && model.devices[device][key]?.entity == nil {
            guard let deleted = model.devices[device][key], let instant = try devices[device].instant(of: entity), instant == deleted.at + 1 else { continue }
            let state = LastWriteModel.State(at: instant, entity: entity)
            model.devices[device][key] = state
            given[device, default: [:]][key, default: []].append(state)
            zone.note("\(devices[device].name): \(key) came back at \(instant)")
        }
    }

    /// A mark that was taken back before it was told was never made: what is there is the version's, its instant as well.
    private func noteTakenBack(_ device: Int) throws {
        guard marks, model.applied[device] > 0 else { return }
        let version = published[model.applied[device] - 1], states = model.versions[model.applied[device]] ?? [:]
        let open = try openKeys(device)
        for (key, row) in try devices[device].rows().sorted(by: { $0.key < $1.key })
        where row.kind == .notifications && row == version[key] && !open.contains(key) {
            guard let mine = model.devices[device][key]?.entity, let state = states[key], mine.title == row.title, mine.readAt == row.readAt,
                model.devices[device][key] != state
            else { continue }
            model.devices[device][key] = state
            zone.note("\(devices[device].name): \(key) is the version's again, of \(state.at)")
        }
    }

    /// A deletion that the writer refused was never made: what is there is the version's, its instant as well.
    private func noteRefused(_ device: Int) throws {
        guard model.applied[device] > 0 else { return }
        let version = published[model.applied[device] - 1], states = model.versions[model.applied[device]] ?? [:]
        let open = try openKeys(device), rows = try devices[device].rows()
        for (key, all) in refused.sorted(by: { $0.key < $1.key }) where rows[key] != nil && rows[key] == version[key] && !open.contains(key) {
            guard let mine = model.devices[device][key], mine.entity == nil, all.contains(mine), let state = states[key] else { continue }
            model.devices[device][key] = state
            zone.note("\(devices[device].name): \(key) is there again, of \(state.at)")
        }
    }

    /// The writer takes in what it applied of the mailbox.
    private func hear() throws {
        for entry in try devices[0].database.read({ try $0.inbox.entries() }) where heard.insert(entry.id).inserted {
            guard let (key, state) = messages[entry.id] else { throw zone.difference(0, ["it has heard a message that nobody wrote"]) }
            zone.note("writer: \(entry.isApplied ? "applied" : "refused (\(entry.reason ?? ""))") \(entry.type) of \(entry.sender) about \(key) at \(state.at)")
            guard entry.isApplied else {
                refused[key, default: []].append(state)
                continue
            }
            unnamed.append((key, state))
            let own = model.devices[0][key]
            if let own, !state.wins(over: own) { continue }
            // Not later than the writer's clock, unless what it replaces is.
            let latest = max(zone.clock(0) * 1000, own.map { $0.at + 1 } ?? .min)
            model.devices[0][key] = LastWriteModel.State(at: min(state.at, latest), entity: state.entity)
        }
    }
}
