import CloudStore
import Foundation
import GRDB
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// Every damage of every file of a small zone is found before the first change of the database that would have taken it in.
///
/// The long form (`make torture`) tries every bit, every length and every two pieces; here one in so many. That every bit of each
/// file is found by whatever reads it stands in the tests of the rooms below; here a database looks on.
@Suite(.serialized) struct EveryDamageTests {
    private static let stride = Sample.isWhole ? 1 : 509

    /// A file of the zone and the reader whose import needs it.
    private struct Target {
        let name: String
        let reader: String
        let change: (MemoryCloudDatabase, (inout [UInt8]?) -> Void) throws -> Void

        func bytes(in cloud: MemoryCloudDatabase) throws -> [UInt8] {
            var found: [UInt8]?
            try change(cloud) { found = $0 }
            return found ?? []
        }
    }

    private struct Tally: CustomStringConvertible {
        var damages = 0
        var detected = 0
        /// Those of the detected ones that the import did without, by reading the version whole.
        var healed = 0
        var changed = 0

        mutating func add(_ outcome: DamageWorld.Outcome) {
            damages += 1
            detected += outcome == .refused || outcome == .healed ? 1 : 0
            healed += outcome == .healed ? 1 : 0
            changed += outcome == .wrong ? 1 : 0
        }

        var description: String { "\(damages) damages, \(detected) detected (\(healed) done without), \(changed) changed the database" }
    }

    @Test func noDamageReachesADatabase() async throws {
        let world = try await DamageWorld()
        var lines: [String] = []
        for target in try await targets(world) {
            let good = try target.bytes(in: world.memory)
            #expect(!good.isEmpty, "\(target.name)")
            var tally = Tally()
            for (number, bad) in damages(of: good).enumerated() where number % Self.stride == 0 {
                try target.change(world.memory) { $0 = bad }
                tally.add(try await world.importNewest(target.reader))
            }
            try target.change(world.memory) { $0 = good }
            #expect(tally.detected == tally.damages && tally.changed == 0, "\(target.name): \(tally)")
            lines.append("damage: \(target.name), \(good.count) bytes: \(tally)")
        }
        print(lines.joined(separator: "\n"))
        // With everything put back the same readers take the version in.
        for reader in ["old", "new"] { #expect(try await world.importNewest(reader) == .applied) }
    }

    /// Files of one version in the place of another's, index and all.
    @Test func exchangedFilesAreFound() async throws {
        let world = try await DamageWorld()
        let targets = try await targets(world)
        var damages = 0
        for target in targets {
            let good = try target.bytes(in: world.memory)
            for other in targets where other.name != target.name {
                let bytes = try other.bytes(in: world.memory)
                try target.change(world.memory) { $0 = bytes }
                let outcome = try await world.importNewest(target.reader)
                #expect(outcome == .refused || outcome == .healed, "\(other.name) in the place of \(target.name): \(outcome)")
                try target.change(world.memory) { $0 = good }
                damages += 1
            }
        }
        print("damage: \(damages) exchanges of two files, all detected")
    }

    /// A damaged message is set aside; nothing of it reaches the publisher's rows, and the others are applied.
    @Test func noDamagedMessageReachesADatabase() async throws {
        let mail = try await MailScene(["n1"])
        let memory = try #require(mail.scene.cloud as? MemoryCloudDatabase), zone = mail.scene.zone
        try mail.scene.reader.run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z'")
        try await mail.syncReader()
        let message = try #require(try await mail.waiting().first), name = "\(message.id).json"
        var found: [UInt8]?
        memory.damage("messages/\(message.sender)/\(name)", in: zone) { found = $0 }
        let good = try #require(found)
        var tally = Tally()
        for (number, bad) in damages(of: good).enumerated() where number % Self.stride == 0 {
            memory.damage("messages/\(message.sender)/\(name)", in: zone) { $0 = bad }
            let mailbox = try await memory.mailbox(in: zone)
            tally.damages += 1
            tally.detected += mailbox.messages.isEmpty && mailbox.setAside.count == 1 ? 1 : 0
            // A publisher's look costs more; the mailbox has said already what it would give it.
            guard tally.damages % 8 == 1 else { continue }
            try await mail.syncWriter()
            tally.changed += try mail.value(mail.scene.writer, "readAt", of: "n1") == "-" ? 0 : 1
        }
        #expect(tally.damages > 5 && tally.detected == tally.damages && tally.changed == 0, "\(tally)")
        print("damage: message, \(good.count) bytes: \(tally)")
        memory.damage("messages/\(message.sender)/\(name)", in: zone) { $0 = good }
        try await mail.syncWriter()
        #expect(try mail.value(mail.scene.writer, "readAt", of: "n1") == "2026-11-20T10:00:00Z")
    }

    /// Every flipped bit, every shorter length, a byte more, zeros, and every two pieces of 32 bytes swapped.
    private func damages(of good: [UInt8]) -> [[UInt8]] {
        var all: [[UInt8]] = []
        for bit in 0..<good.count * 8 {
            var bad = good
            bad[bit / 8] ^= 1 << UInt8(bit % 8)
            all.append(bad)
        }
        for length in good.indices { all.append(Array(good.prefix(length))) }
        all += [good + [0], [UInt8](repeating: 0, count: good.count)]
        let size = 32, count = good.count / size
        for first in 0..<count {
            for second in first + 1..<max(first + 1, count) {
                var bad = good
                for offset in 0..<size { bad.swapAt(first * size + offset, second * size + offset) }
                if bad != good { all.append(bad) }
            }
        }
        return all
    }

    private func targets(_ world: DamageWorld) async throws -> [Target] {
        let zone = world.zone
        let newest = try await world.memory.records(in: zone)
        let fields = try #require(newest.record("things_data").flatMap(DatasetRecord.init))
        let change = try #require(fields.step), path = try #require(AssetPath(fields.dataFile.path))
        let last = try #require(newest.token?.number)
        func asset(_ name: String, _ path: String, _ reader: String) -> Target {
            Target(name: name, reader: reader) { $0.damage(path, in: zone, $1) }
        }
        return [
            asset("snapshot asset", fields.dataFile.path, "new"), asset("block index", path.indexPath, "new"), asset("change asset", change.path, "old"),
            Target(name: "newest commit", reader: "old") { $0.damageCommit(last, in: zone, $1) },
            Target(name: "commit before", reader: "old") { $0.damageCommit(last - 1, in: zone, $1) },
            Target(name: "checkpoint", reader: "new") { $0.damage("checkpoints/00000000000000000016.json", in: zone, $1) },
        ]
    }
}

/// A writer, a reader that is one version behind, one that has nothing yet, and a cloud in memory that can be damaged.
struct DamageWorld {
    let scene: DeviceScene
    let memory: MemoryCloudDatabase
    private let before: [String: String]
    private let newest: String

    /// What became of an import.
    enum Outcome {
        /// It said no, and the database is as it was.
        case refused
        /// It told of the damage and did without the file: the database has the very version that was published.
        case healed
        /// It took the version in and told of nothing.
        case applied
        /// The database has what nobody published.
        case wrong
    }

    var zone: ZoneID { scene.zone }

    init() async throws {
        let schema = try DatasetSchema.everyKind()
        let scene = try await DeviceScene([schema], publishers: .one, changesOnly: true)
        self.scene = scene
        memory = try #require(scene.cloud as? MemoryCloudDatabase)
        let table = DatasetSchema.everyKindTable()
        try await scene.add("one", .writer, table + ";" + DatasetSchema.manyRows(6))
        for reader in ["old", "new"] { try await scene.add(reader, .reader, table) }
        // Past the first checkpoint, and the old reader one version behind.
        for version in 1...20 {
            if version > 1 { try scene.run("one", "UPDATE things SET count = \(version * 100) WHERE id = (SELECT min(id) FROM things)") }
            try await scene.export("one", allowing: .all)
            if version == 19 { try await scene.importNewest("old") }
        }
        before = try Dictionary(uniqueKeysWithValues: ["old", "new"].map { ($0, try Self.rows(scene, $0)) })
        newest = try Self.rows(scene, "one")
        for reader in ["old", "new"] { try scene.run(reader, "VACUUM INTO '\(reader).kept'") }
    }

    private static func rows(_ scene: DeviceScene, _ name: String) throws -> String {
        try DatabaseQueue(path: scene.scratch.path(name)).read { db in
            try String.fetchOne(
                db,
                sql:
                    "SELECT group_concat(id || ' ' || coalesce(changed, '-') || ' ' || coalesce(count, '-') || ' ' || coalesce(tags, '-') || ' ' || coalesce(hex(image), '-'), ';') FROM (SELECT * FROM things ORDER BY id)"
            ) ?? "none"
        }
    }

    /// Imports, and makes the reader what it was again.
    func importNewest(_ reader: String) async throws -> Outcome {
        var told: Bool?
        do {
            told = try await !scene.importNewest(reader).warnings.isEmpty
        } catch let error as SyncError where error.code == .dataRefused || error.code == .tryAgainLater {
            // It says no.
        }
        let rows = try Self.rows(scene, reader)
        guard let told else { return rows == before[reader] ? .refused : .wrong }
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: scene.scratch.path(reader + ending)) }
        try FileManager.default.copyItem(atPath: scene.scratch.path("\(reader).kept"), toPath: scene.scratch.path(reader))
        return rows == newest ? (told ? .healed : .applied) : .wrong
    }
}
