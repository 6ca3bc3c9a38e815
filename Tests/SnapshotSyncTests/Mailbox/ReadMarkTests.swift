import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotVersions

/// Over random histories with runs that end anywhere: a mark that a reader made is never seen undone, and never undoes a text.
@Suite struct ReadMarkTests {
    @Test(arguments: Sample.of(UInt64(1)...40, oneIn: 7))
    func marksOfTheReaderAndTextsOfTheWriterBothLast(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        // Of the `k` the reader sets `readAt` alone and the writer everything else; with the `f` both do what they like.
        let keys = (0..<4).map { "k\($0)" }, free = (0..<3).map { "f\($0)" }
        let mail = try await MailScene(keys + free, hasChangeAssets: seed % 2 == 0)
        var marks = Dictionary(uniqueKeysWithValues: keys.map { ($0, "-") }), titles = Dictionary(uniqueKeysWithValues: keys.map { ($0, "first") })
        let faults: [FaultyCloudDatabase.Fault] = [
            .beforeSend(FaultyCloudDatabase.Crash()), .afterSend(FaultyCloudDatabase.Crash()), .beforePublish(FaultyCloudDatabase.Crash()),
            .afterPublish(FaultyCloudDatabase.Crash()), .beforeRemove(FaultyCloudDatabase.Crash()), .afterRemove(FaultyCloudDatabase.Crash()),
        ]
        for step in 0..<30 {
            let key = keys[random.below(keys.count)], other = free[random.below(free.count)]
            let stamp = random.happens(percent: 50) ? ", updatedAt = '2026-02-01T00:00:\(10 + step)Z'" : ""
            switch random.below(10) {
            case 0, 1:
                marks[key] = random.happens(percent: 75) ? "2026-01-01T00:00:\(10 + step)Z" : "-"
                try mail.scene.reader.run("UPDATE notifications SET readAt = \(marks[key] == "-" ? "NULL" : "'\(marks[key]!)'")\(stamp) WHERE id = '\(key)'")
            case 2, 3:
                titles[key] = "writer \(step)"
                try mail.scene.writer.run("UPDATE notifications SET title = 'writer \(step)'\(stamp) WHERE id = '\(key)'")
            case 4:
                let side = random.happens(percent: 50) ? mail.scene.reader : mail.scene.writer
                try side.run(
                    [
                        "DELETE FROM notifications WHERE id = '\(other)'", "UPDATE notifications SET title = 'free \(step)'\(stamp) WHERE id = '\(other)'",
                        "UPDATE notifications SET readAt = '2026-03-01T00:00:\(10 + step)Z', body = 'free \(step)' WHERE id = '\(other)'",
                        "INSERT OR REPLACE INTO buckets(id, name, createdAt, updatedAt) VALUES('x\(random.below(2))', 'free \(step)', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z')",
                        "DELETE FROM buckets WHERE id LIKE 'x%'",
                    ][random.below(5)])
            case 5, 6, 7:
                let cloud = random.happens(percent: 40) ? mail.faulty(faults[random.below(faults.count)]) : nil
                do { try await mail.syncReader(cloud) } catch is SyncError where cloud != nil {}
            default:
                let cloud = random.happens(percent: 40) ? mail.faulty(faults[random.below(faults.count)]) : nil
                do { try await mail.syncWriter(cloud) } catch is SyncError where cloud != nil {}
            }
            for key in keys {
                guard try mail.value(mail.scene.reader, "readAt", of: key) == marks[key] else {
                    Issue.record("seed \(seed), step \(step): the mark of \(key) flickered")
                    return
                }
            }
        }
        for _ in 0..<4 { try await mail.round() }
        for key in keys {
            #expect(try mail.value(mail.scene.writer, "readAt", of: key) == marks[key], "seed \(seed), \(key)")
            #expect(try mail.value(mail.scene.writer, "title", of: key) == titles[key], "seed \(seed), \(key)")
            #expect(try mail.value(mail.scene.reader, "title", of: key) == titles[key], "seed \(seed), \(key)")
        }
        #expect(try await mail.problems() == [], "seed \(seed)")
        #expect(try await mail.waiting().isEmpty, "seed \(seed)")
        #expect(try mail.openCount() == 0, "seed \(seed)")
        // What is left is what no message carries, or the writer refused; everything else is the same on both sides.
        let pending = try mail.scene.reader.run("SELECT DISTINCT key FROM snapsync_changes").split(separator: "\n").map(String.init)
        #expect(pending.allSatisfy { $0.hasPrefix("f") || $0.hasPrefix("x") }, "seed \(seed): \(pending)")
        for dataset in 0..<2 {
            let differences = try mail.scene.differences(dataset).split(separator: "\n").filter { line in
                !pending.contains { line.contains("'\($0)'") } && line != "counts"
            }
            #expect(differences == [], "seed \(seed)")
        }
    }
}
