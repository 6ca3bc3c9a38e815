import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools

/// By change assets, block by block, or whole: a reader comes to the same data, the same tombstones and the same instants.
@Suite struct ThreeWaysTests {
    @Test(arguments: Sample.of(UInt64(1)...60, oneIn: 7)) func allWaysEndInTheSameData(seed: UInt64) async throws {
        try await run(seed: seed, withLocalEdits: false)
    }

    @Test(arguments: Sample.of(UInt64(501)...550, oneIn: 7)) func soTheyDoOverEditsOfTheReaders(seed: UInt64) async throws {
        try await run(seed: seed, withLocalEdits: true)
    }

    /// A rule by which the smallest dataset is stored as changes.
    private func rule(_ random: inout SeededGenerator) -> AssetRule {
        var rule = AssetRule()
        rule.smallByteCount = 0
        rule.changeShare = 1000
        rule.changeFileCount = 1 + random.below(6)
        if random.happens(percent: 20) { rule.changeRawBytes = 600 }
        return rule
    }

    private func run(seed: UInt64, withLocalEdits: Bool) async throws {
        var history = RandomHistory(seed: seed, isLarge: false)
        let rule = rule(&history.random)
        let scene = try await SyncScene(history.table, datasets: [history.schema], writerWAL: history.writerWAL, readerWAL: history.readerWAL)
        // The triggers note the machine's time, which must not overtake the engines' clock, however slow the machine is.
        scene.clock.move(bySeconds: 3600)
        let readers = ["reader.db", "blocks.db"]
        let blocks = SQLiteShell("blocks.db", in: scene.scratch.path), whole = SQLiteShell("whole.db", in: scene.scratch.path)
        for (shell, device) in [(blocks, "tablet"), (whole, "watch")] {
            try shell.run("BEGIN; \(history.table); COMMIT;")
            try await scene.setUp(device == "tablet" ? "blocks.db" : "whole.db", .reader, device: device)
        }
        func engine(_ name: String) throws -> SyncEngine {
            let cloud = scene.cloud
            return try SyncEngine(database: scene.scratch.path(name), options: EngineOptions(now: scene.clock.now, assetRule: rule) { _ in cloud })
        }

        var chained = 0
        for round in 1...7 {
            try scene.writer.run("BEGIN; \(history.statements()); COMMIT;")
            _ = try await engine("writer.db").export(allowing: .all)
            if round == 1 { for name in readers { _ = try await engine(name).importNewest() } }
            if withLocalEdits, history.random.happens(percent: 40) {
                let edits = history.statements()
                let moment = scene.clock.now().microseconds / 1000
                // The same edits at the same moment: the readers' tracked changes are equal.
                for shell in [scene.reader, blocks] { try shell.run("BEGIN; \(edits); UPDATE snapsync_log SET clock = \(moment); COMMIT;") }
            }
            guard round == 7 || history.random.happens(percent: 60) else { continue }
            let imported = try await engine("reader.db").importNewest()
            // With nothing new, each reader makes tracked changes of its notes, which have the same moment until then.
            guard imported.applied else {
                _ = try await engine("blocks.db").importNewest()
                continue
            }
            for dataset in imported.datasets { chained += dataset.changeFiles ?? 0 }
            // A reader that doubts its own rows compares them with the version's blocks.
            let healed = try await engine("blocks.db").importAnew()
            #expect(healed.datasets.allSatisfy { $0.blocks != nil }, "seed \(seed)")
            let states = try [scene.reader, blocks].map(state)
            guard states[0] == states[1] else {
                let (left, right) = (Set(states[0].split(separator: "\n")), Set(states[1].split(separator: "\n")))
                Issue.record(
                    "seed \(seed), round \(round): by changes \(left.subtracting(right).map { $0.suffix(90) }), by blocks \(right.subtracting(left).map { $0.suffix(90) })"
                )
                return
            }
        }
        _ = try await engine("whole.db").importNewest()
        if !withLocalEdits {
            #expect(try state(scene.reader) == state(whole), "seed \(seed): by changes, and whole")
            #expect(try scene.differences() == "", "seed \(seed)")
        }
        for name in ["writer.db", "reader.db", "blocks.db", "whole.db"] {
            #expect(try await engine(name).inspector().verify(all: true, local: true).problems == [], "seed \(seed), \(name)")
        }
        try await checkContainer(scene, engine("writer.db"), seed)
    }

    /// What a version stored with change assets shows is to the byte what a snapshot asset of it holds, but for its time.
    private func checkContainer(_ scene: SyncScene, _ writer: SyncEngine, _ seed: UInt64) async throws {
        func container() async throws -> Data {
            let text = TextBox()
            try await writer.inspector().writeContainer(of: "things") { text.data.append(contentsOf: $0) }
            return text.data.drop { $0 != UInt8(ascii: ",") }
        }
        let shown = try await container()
        #expect(try await writer.export(isFull: true, allowing: .all).published)
        #expect(try await container() == shown, "seed \(seed)")
    }

    private func state(_ shell: SQLiteShell) throws -> String {
        // An edit that left the entity as the version has it may stay tracked or not: it changes nothing.
        try shell.run(
            """
            ATTACH 'writer.db' AS writer;
            SELECT 'row', hex(CAST(id AS BLOB)), quote(changed), hex(CAST(changed AS BLOB)), count, quote(size), hex(CAST(tags AS BLOB)), hex(image), done FROM main.things ORDER BY id;
            SELECT 'tombstone', hex(CAST(key AS BLOB)), at FROM main.snapsync_tombstones ORDER BY key;
            SELECT 'instant', hex(CAST(key AS BLOB)), at FROM main.snapsync_instants ORDER BY key;
            SELECT 'change', hex(CAST(key AS BLOB)), at, state FROM main.snapsync_changes c
                WHERE NOT EXISTS (SELECT * FROM main.things t WHERE t.id = c.key INTERSECT SELECT * FROM writer.things) ORDER BY key;
            """)
    }

    private final class TextBox: @unchecked Sendable {
        // SAFETY: one call after another writes, and the caller waits for the last before it reads.
        var data = Data()
    }
}
