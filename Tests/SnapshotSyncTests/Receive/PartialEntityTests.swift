import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools

/// Random columns of random rows travel as partial entities, to peers and readers with edits of their own, in a zone that is sealed or not. Each
/// version is what its author's table was, by change assets and as a whole.
@Suite struct PartialEntityTests {
    @Test(arguments: Sample.of(UInt64(1)...24, oneIn: 4)) func everyVersionIsTheTable(seed: UInt64) async throws {
        var story = try await PartialStory(seed: seed)
        for _ in 0..<14 { try await story.step() }
        try await story.finish()
        #expect(story.partialCount > 0, "seed \(seed)")
    }

    /// A reader's edit that waits for its answer stays where the import writes other columns of the row. If it has some of them, and others, the import
    /// needs the whole version.
    @Test func anEditOfAnotherColumnStays() async throws {
        let schema = try PartialStory.schema()
        let scene = try await DeviceScene([schema], publishers: .one, changesOnly: true)
        try await scene.add("one", .writer, PartialStory.table + ";" + PartialStory.rows(20))
        try await scene.add("reader", .reader, PartialStory.table)
        try await scene.export("one")
        try await scene.importNewest("reader")
        for (row, own, isWhole) in [(3, "a = 'own'", false), (4, "b = 'own'", false), (5, "a = 'own', b = 'own'", true)] {
            try scene.run("reader", "UPDATE pairs SET \(own) WHERE number = \(row)")
            try scene.run("one", "UPDATE pairs SET a = a || '+' WHERE number IN (\(row), \(row) + 10)")
            try await scene.export("one")
            let imported = try await scene.importNewest("reader")
            #expect(imported.datasets.first.map { $0.blocks != nil } == isWhole, "\(own)")
            #expect(imported.warnings == [])
            #expect(try await scene.verify("reader") == [])
        }
        #expect(try scene.run("reader", "SELECT b FROM pairs WHERE number IN (4, 5)") == "own\nown\n")
    }
}

/// Three devices on one table with a key of two columns.
private struct PartialStory {
    private static let devices = ["one", "two", "three"]
    static let table = "CREATE TABLE pairs(name TEXT COLLATE NOCASE, number INTEGER, a, b, c TEXT, at TEXT, u UNIQUE, PRIMARY KEY(name, number))"

    static func schema() throws -> DatasetSchema {
        try DatasetSchema(
            name: "pairs", table: "pairs", keys: ["name", "number"], timestamp: "at",
            columns: [
                DatasetColumn("name", .text, collation: .nocase), DatasetColumn("number", .integer), DatasetColumn("a"), DatasetColumn("b"),
                DatasetColumn("c", .json, isOptional: true), DatasetColumn("at", .text, isOptional: true), DatasetColumn("u"),
            ])
    }

    static func rows(_ count: Int) -> String {
        """
        INSERT INTO pairs WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(count))
        SELECT 'k' || n % 7, n, n, NULL, '[' || n || ']', '2020-01-01T00:00:00Z', n FROM numbers
        """
    }

    private let seed: UInt64
    private var random: SeededGenerator
    private let scene: DeviceScene
    private let cloud: CloudDatabase
    private let isPeers: Bool
    private let schema: DatasetSchema
    private var containers: [Int: [UInt8]] = [:]
    private(set) var partialCount = 0

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        isPeers = seed % 2 == 0
        schema = try Self.schema()
        var rule = AssetRule()
        (rule.smallByteCount, rule.changeShare, rule.changeFileCount) = (0, 1000, 2 + random.below(8))
        scene = try await DeviceScene([schema], publishers: isPeers ? .many : .one, rule: rule)
        cloud = seed % 3 == 0 ? SealedTestCloud(wrapped: scene.cloud) : scene.cloud
        for (number, name) in Self.devices.enumerated() {
            try await scene.add(name, isPeers ? .peer : number == 0 ? .writer : .reader, Self.table + (number == 0 ? ";" + Self.rows(60) : ""))
        }
        for name in Self.devices { try await sync(name) }
    }

    private func engine(_ name: String) throws -> SyncEngine { try scene.engine(name, through: cloud) }

    private mutating func statement() -> String {
        let row = "number = \(random.below(66))"
        func some(_ random: inout SeededGenerator) -> String {
            ["NULL", "\(random.below(9))", "\(random.below(9)).5", "'t\(random.below(9))'", "x'000\(random.below(9))'", "a", "b", "''"][random.below(8)]
        }
        switch random.below(14) {
        case 0...3: return "UPDATE pairs SET a = \(some(&random)) WHERE \(row)"
        case 4, 5: return "UPDATE pairs SET b = \(some(&random)), at = strftime('%Y-%m-%dT%H:%M:%fZ') WHERE number % 9 = \(random.below(9))"
        case 6, 7: return "UPDATE pairs SET c = \(["NULL", "'null'", "'{}'", "' [1] '"][random.below(4)]) WHERE number % 11 = \(random.below(11))"
        case 8: return "UPDATE pairs SET name = upper(name) WHERE \(row)"
        case 9: return "UPDATE pairs SET u = u + 1000 WHERE u < 4; UPDATE pairs SET u = (u - 999) % 4 WHERE u >= 1000 AND u < 1004"
        case 10: return "DELETE FROM pairs WHERE \(row)"
        case 11: return "REPLACE INTO pairs SELECT name, number, 'replaced', b, c, at, u FROM pairs WHERE \(row)"
        case 12: return "INSERT OR IGNORE INTO pairs(name, number, a) VALUES('k\(random.below(7))', \(random.below(66)), 'new')"
        default: return "UPDATE pairs SET at = NULL, a = a WHERE \(row)"
        }
    }

    mutating func step() async throws {
        let name = Self.devices[random.below(3)]
        if isPeers || name == "one" || random.happens(percent: 50) {
            try scene.run(name, "BEGIN; " + (0..<1 + random.below(4)).map { _ in statement() }.joined(separator: "; ") + "; COMMIT")
        }
        scene.clock.move(bySeconds: 1)
        if random.happens(percent: 80) { try await sync(name) }
        if random.happens(percent: 30) { try await sync("one") }
    }

    mutating func finish() async throws {
        for _ in 0..<3 { for name in Self.devices { try await sync(name) } }
        for version in containers.keys.sorted() { #expect(try await container(version) == containers[version], "seed \(seed), version \(version)") }
        #expect(try await engine("one").inspector().verify(all: true).problems == [], "seed \(seed)")
        // The newest version as a snapshot asset: the same bytes but for the time.
        let shown = try await container(nil).drop { $0 != UInt8(ascii: ",") }
        _ = try await engine("one").export(isFull: true, allowing: .all)
        #expect(try await container(nil).drop { $0 != UInt8(ascii: ",") } == shown, "seed \(seed)")
    }

    private mutating func sync(_ name: String) async throws {
        let exported: ExportReport?
        if isPeers {
            exported = try await engine(name).sync(allowing: .all).exported
        } else if name == "one" {
            exported = try await engine(name).export(allowing: .all)
        } else {
            exported = nil
            _ = try await engine(name).importNewest(allowing: .all)
        }
        let inspector = try await engine(name).inspector()
        #expect(try await inspector.verify(local: true).problems == [], "seed \(seed), \(name)")
        guard let version = exported?.version, exported?.published == true else { return }
        #expect(try await inspector.diff(.version(version), .local) { _ in }.isSame, "seed \(seed), \(name): version \(version)")
        containers[version] = try await container(version)
        let state = try await cloud.records(in: scene.zone, at: version, notBefore: nil)
        guard let record = state.record(schema.recordName), let file = DatasetRecord(record)?.step else { return }
        partialCount += try await ChangeAsset(file, after: nil, dataset: schema.name, in: cloud, zone: scene.zone).read(schema).partial.count
    }

    private func container(_ version: Int?) async throws -> [UInt8] {
        let collected = Bytes()
        try await engine("one").inspector().writeContainer(of: "pairs", version: version) { collected.all += Array($0) }
        return collected.all
    }

    private final class Bytes: @unchecked Sendable {
        // SAFETY: one call at a time, and the caller waits for the last.
        var all: [UInt8] = []
    }
}
