import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools

/// Random histories of changes, exports, pins, prunes (some cut short), restores and undos: whatever is kept is what it was.
@Suite struct RandomVersionsTests {
    @Test(arguments: Sample.of(1...16, oneIn: 5))
    func whatIsKeptIsWhatItWas(seed: Int) async throws {
        var story = try await VersionStory(seed: UInt64(seed))
        for _ in 0..<24 { try await story.step() }
        try await story.checkKept()
        #expect(story.prunes > 0, "seed \(seed)")
    }
}

/// One random history, and what is known of it.
struct VersionStory {
    private let scene: SyncScene
    private var history: RandomHistory
    private var random: SeededGenerator
    private let seed: UInt64
    /// Each version's container, as it was when the version was the newest.
    private var containers: [Int: [UInt8]] = [:]
    private var pinned: Set<Int> = []
    private let rule: AssetRule
    private(set) var prunes = 0

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededGenerator(seed: seed &* 977)
        history = RandomHistory(seed: seed, isLarge: false)
        var rule = AssetRule()
        if seed % 2 == 0 {
            // The smallest dataset is stored as changes.
            rule.smallByteCount = 0
            rule.changeShare = 1000
            rule.changeFileCount = 1 + random.below(6)
        }
        self.rule = rule
        scene = try await SyncScene(history.table, datasets: [history.schema], writerWAL: history.writerWAL, readerWAL: history.readerWAL)
        try scene.writer.run("INSERT OR IGNORE INTO things(id, done) VALUES(\(history.hasTextKey ? "'first'" : "1"), 1)")
        _ = try await writer().export(allowing: .all)
        try await note()
    }

    mutating func step() async throws {
        switch random.below(12) {
        case 0...3: try await change()
        case 4: try await togglePin()
        case 5: scene.clock.move(bySeconds: Int64(3600 * (1 + random.below(30))))
        case 6, 7: try await prune()
        case 8: try await restore()
        case 9: try await importAtReader()
        case 10: try await planAndSync()
        default: scene.clock.move(bySeconds: 100_000)
        }
        try await note()
    }

    /// Every kept and every pinned version can be read, and is to the byte what it was.
    func checkKept() async throws {
        let report = try await inspector().history()
        #expect(Set(report.pins.map(\.version)) == pinned, "seed \(seed)")
        for version in report.versions.map(\.version) + report.pins.map(\.version) {
            #expect(try await container(version) == containers[version], "version \(version), seed \(seed)")
        }
        let problems = try await inspector().verify(all: true).problems
        #expect(problems == [], "seed \(seed)")
    }

    private func writer(_ cloud: CloudDatabase? = nil) throws -> SyncEngine {
        let cloud = cloud ?? scene.cloud
        return try SyncEngine(database: scene.scratch.path("writer.db"), options: EngineOptions(now: scene.clock.now, assetRule: rule) { _ in cloud })
    }

    private func inspector() async throws -> SnapshotInspector { try await writer().inspector() }

    private func container(_ version: Int) async throws -> [UInt8] {
        let collected = Bytes()
        try await inspector().writeContainer(of: "things", version: version) { collected.all += Array($0) }
        return collected.all
    }

    private mutating func note() async throws {
        guard let newest = try await inspector().history(limit: 1).newestVersion else { return }
        for version in (containers.keys.max() ?? 0) + 1..<newest + 1 { containers[version] = try await container(version) }
    }

    private mutating func change() async throws {
        try scene.writer.run(history.statements() + ";")
        _ = try await writer().export(allowing: .all)
        pinned.formUnion(try await inspector().history().pins.map(\.version))
    }

    private mutating func togglePin() async throws {
        let kept = try await inspector().history().versions.map(\.version)
        let version = kept[random.below(kept.count)]
        if pinned.contains(version) {
            #expect(try await writer().versions.unpin(version).changed)
            pinned.remove(version)
        } else {
            #expect(try await writer().versions.pin(version, name: "seed \(seed)").changed)
            pinned.insert(version)
        }
        try await note()
    }

    private mutating func prune() async throws {
        prunes += 1
        let policy = RetentionPolicy(
            keepLast: random.happens(percent: 80) ? 1 + random.below(4) : nil, keepWithin: .seconds(random.happens(percent: 40) ? 3600 * random.below(60) : 0))
        let statesBefore = try await inspector().history()
        let expected = try await writer().versions.prune(policy, dryRun: true)
        #expect(try await inspector().history().versions.map(\.hash) == statesBefore.versions.map(\.hash), "a dry run changed something; seed \(seed)")
        if random.happens(percent: 40) {
            let cut = scene.cloud.adding(InterruptedRemoval(cloud: scene.cloud, removable: random.below(6)))
            do {
                _ = try await writer(cut).versions.prune(policy)
            } catch {
                try await note()
                try await checkNewest()
            }
        }
        let report = try await writer().versions.prune(policy)
        try await note()
        if let keepLast = policy.keepLast { #expect(report.keptVersions >= min(keepLast, statesBefore.versions.count), "seed \(seed)") }
        #expect((report.oldestKept ?? 0) >= (expected.oldestKept ?? 0), "seed \(seed)")
        // What a prune leaves, another one leaves, too.
        let again = try await writer().versions.prune(policy)
        #expect(again.removedVersions.isEmpty && again.removedFiles.isEmpty && again.publishedVersion == nil, "seed \(seed): \(again)")
        try await checkKept()
    }

    private func checkNewest() async throws {
        guard let newest = try await inspector().history(limit: 1).newestVersion else { return }
        #expect(try await container(newest) == containers[newest], "seed \(seed)")
        #expect(try await inspector().verify(local: true).localMatches == true, "seed \(seed)")
    }

    private mutating func restore() async throws {
        let report = try await inspector().history()
        let known = report.versions.map(\.version) + report.pins.map(\.version)
        let version = known[random.below(known.count)]
        if random.happens(percent: 50) { try scene.writer.run(history.statements() + ";") }
        let before = try scene.writer.values(of: "things", orderedBy: "id")
        _ = try await writer().versions.restore(.version(version))
        #expect(try await inspector().diff(.version(version), .local) { _ in }.isSame, "seed \(seed)")
        if random.happens(percent: 60) {
            _ = try await writer().export(allowing: .all)
            try await note()
        }
        pinned.formUnion(try await inspector().history().pins.map(\.version))
        if random.happens(percent: 50), try await writer().status().undo?.contains("restore of version \(version)") == true {
            _ = try await writer().versions.undo()
            if try await inspector().diff(.version(version), .local, take: { _ in }).isSame == false {
                #expect(try scene.writer.values(of: "things", orderedBy: "id") == before, "seed \(seed)")
            }
        }
        _ = try await writer().export(allowing: .all)
        try await note()
        pinned.formUnion(try await inspector().history().pins.map(\.version))
        #expect(try await inspector().verify(local: true).localMatches == true, "seed \(seed)")
    }

    private func importAtReader() async throws {
        _ = try await scene.engine("reader.db").importNewest(allowing: .all)
        let reader = try await scene.engine("reader.db").inspector()
        #expect(try await reader.verify(local: true).localMatches == true, "seed \(seed)")
        guard let newest = try await reader.history(limit: 1).newestVersion else { return }
        #expect(try await reader.diff(.local, .version(newest)) { _ in }.isSame, "seed \(seed)")
    }

    /// What a plan says of a sync is what the sync does.
    private mutating func planAndSync() async throws {
        try scene.writer.run(history.statements() + ";")
        guard let newest = try await inspector().history(limit: 1).newestVersion else { return }
        let dump = try scene.writer.dump()
        let plan = try await writer().plan(limit: 0)
        #expect(try scene.writer.dump() == dump, "seed \(seed)")
        let report = try await writer().export(allowing: .all)
        try await note()
        var counts = SyncPlan.Counts()
        if report.published, let version = report.version {
            let diff = try await inspector().diff(.version(newest), .version(version)) { _ in }.datasets[0]
            (counts.added, counts.changed, counts.removed) = (diff.added, diff.changed, diff.removed)
        }
        #expect(plan.datasets[0].cloud == counts, "seed \(seed)")
        #expect(plan.datasets[0].local.total == 0, "seed \(seed)")
        pinned.formUnion(try await inspector().history().pins.map(\.version))
    }

    private final class Bytes: @unchecked Sendable {
        // SAFETY: one call at a time, and the caller waits for the last.
        var all: [UInt8] = []
    }
}
