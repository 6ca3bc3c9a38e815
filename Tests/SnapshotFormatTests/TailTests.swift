import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// What the tail says of entities: held ones, and instants of rows, insertions and columns.
@Suite struct TailTests {
    /// What a tail holds, in order.
    private struct Contents: Hashable {
        var held: [[Value]] = []
        var deletions: [EntityKey: Instant] = [:]
        var instants: [InstantPart: [InstantRun]] = [:]
    }

    private static let latest = Asset.timestamp

    /// A key of two columns, one of which ignores case, the other of which holds anything.
    private static func schema() throws -> DatasetSchema {
        try DatasetSchema(
            name: "things", table: "things", keys: ["name", "part"], timestamp: "changed",
            columns: [
                DatasetColumn("note \"\\ é"), DatasetColumn("name", .text, collation: .nocase), DatasetColumn("part"), DatasetColumn("changed"),
                DatasetColumn("born"),
            ])
    }

    private static func row(_ number: Int, _ random: inout SeededGenerator) -> [Value] {
        let parts: [Value] = [.integer(Int64(number)), .real(Double(number) + 0.5), .blob([0, UInt8(number % 256), 0xFF]), .text("p\(number)")]
        return [
            .text(Samples.text(&random, upTo: 20)), .text((random.happens(percent: 50) ? "Name" : "nAME") + String(1000 + number)), parts[number % 4],
            .text("2026-01-01T00:00:00Z"), random.happens(percent: 50) ? .null : .blob([1, 2, 3]),
        ]
    }

    private static func key(_ row: [Value], _ schema: DatasetSchema) throws -> EntityKey {
        let keys = EntityKeys(schema)
        try send(row, to: keys)
        return try #require(keys.keys.first)
    }

    private func read(_ text: String, _ schema: DatasetSchema, isChange: Bool = false) throws -> Contents {
        var contents = Contents()
        _ = try Array(text.utf8).withUnsafeBytes {
            try SnapshotTail.read(
                $0, .init(schema, columns: isChange ? nil : schema.columns, at: Self.latest),
                visitor: .init(
                    held: { key, block in
                        let sink = CollectingSink()
                        try block.send(to: sink)
                        #expect(try sink.rows.count == 1 && Self.key(sink.rows[0], schema) == key)
                        contents.held += sink.rows
                    },
                    deletion: { contents.deletions[$0] = $1 },
                    instant: { contents.instants[$0, default: []].append(InstantRun(first: $1, last: $1, at: $2)) },
                    run: { contents.instants[$0, default: []].append($1) }))
        }
        return contents
    }

    private func text(_ contents: Contents, _ schema: DatasetSchema) throws -> String {
        var tail = SnapshotTailBuilder()
        for row in contents.held {
            var text = try #require(try EntityDocument.make(schema) { try send(row, to: $0) })
            text.withUTF8 { tail.addHeld(UnsafeRawBufferPointer($0)) }
        }
        for (key, at) in contents.deletions.sorted(by: { $0.key < $1.key }) { tail.addDeletion(of: key, at: at) }
        for (part, list) in contents.instants {
            for run in list { if run.first == run.last { tail.add(part, run.at, of: run.first) } else { tail.add(part, of: run) } }
        }
        let text = try tail.text()
        #expect(text.count == tail.byteCount)
        return text.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: 1...20) func randomListsComeBackAsTheyWere(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Self.schema()
        let rows = try (0..<60).map { Self.row($0, &random) }.map { (row: $0, key: try Self.key($0, schema)) }.sorted { $0.key < $1.key }
        func instant() -> Instant { Self.latest.advanced(byMicroseconds: -Int64(random.below(1_000_000))) }
        var contents = Contents()
        let held = rows.filter { _ in random.happens(percent: 10) }, apart = Set(held.map(\.key))
        contents.held = held.map(\.row)
        contents.deletions = Dictionary(
            uniqueKeysWithValues: rows.filter { !apart.contains($0.key) && random.happens(percent: 10) }.map { ($0.key, instant()) })
        for part in [.row, .born] + schema.columns.filter({ $0.name != "name" && $0.name != "part" }).map({ InstantPart.column($0.name.exact) }) {
            guard random.happens(percent: 70) else { continue }
            var rest = rows[...], list: [InstantRun] = []
            while let first = rest.popFirst() {
                guard random.happens(percent: 30) else { continue }
                let next = random.happens(percent: 50) ? first : rest.dropFirst(random.below(4)).first ?? first
                // A run covers no held entity.
                let last = apart.contains(first.key) || rest.contains { apart.contains($0.key) && !(next.key < $0.key) } ? first : next
                rest = rest.drop { !(last.key < $0.key) }
                list.append(InstantRun(first: first.key, last: last.key, at: part != .row && random.happens(percent: 50) ? nil : instant()))
            }
            if !list.isEmpty { contents.instants[part] = list }
        }
        let text = try text(contents, schema)
        #expect(try read(text, schema) == contents, "seed \(seed)")
        if contents.instants.values.joined().contains(where: { $0.first != $0.last }) {
            #expect(throws: SyncError.self) { try read(text, schema, isChange: true) }
        } else {
            #expect(try read(text, schema, isChange: true) == contents, "seed \(seed)")
        }
        // Every cut is found.
        for length in 0..<text.utf8.count where length % 7 == seed % 7 {
            #expect(throws: SyncError.self) { try read(String(decoding: text.utf8.prefix(length), as: UTF8.self), schema) }
        }
    }

    @Test func whatIsNotOfTheFormIsRefused() throws {
        let schema = try DatasetSchema(
            name: "d", table: "d", keys: ["k"], timestamp: "t", columns: [DatasetColumn("k"), DatasetColumn("b"), DatasetColumn("a"), DatasetColumn("t")])
        let at = "\"at\":\"2026-11-21T07:32:00.250Z\""
        let full = """
            \n],"held":[{"k":7,"a":"x"},{"k":8}],"deletions":[{"id":1,"deletedAt":"2026-11-21T07:32:00.250Z"}],"instants":[{"from":2,"to":4,\(at)},{"id":7,\(at)}],\
            "born":[{"id":2,\(at)}],"columns":{"a":[{"id":2},{"from":3,"to":5,\(at)}],"b":[{"from":2,"to":3}]}}\n
            """
        let tail = try Array(full.utf8).withUnsafeBytes { try SnapshotTail.read($0, .init(schema, columns: schema.columns, at: Self.latest)) }
        #expect(tail.heldCount == 2 && tail.deletionCount == 1 && tail.instantCount == 3 && tail.runCount == 3)
        for length in 0..<full.utf8.count { #expect(throws: SyncError.self) { try read(String(full.prefix(length)), schema) } }
        func refuse(_ text: String, _ with: String, _ code: SyncError.FormatFault = .damaged) throws {
            #expect(full.contains(text))
            do {
                _ = try read(full.replacing(text, with: with), schema)
                Issue.record("\(text) as \(with) was read")
            } catch let error as SyncError where error.format != nil {
                #expect(error.format == code && error.place.contains("tail"), "\(text) as \(with): \(error)")
            }
        }
        try refuse("{\"k\":8}", "{\"k\":7}", .outOfOrder)
        try refuse("{\"id\":1,\"deletedAt\"", "{\"id\":8,\"deletedAt\"")
        try refuse("{\"k\":8}", "{\"k\":8,\"k\":8}", .badEntity)
        try refuse("{\"k\":8}", "{\"a\":8}", .badEntity)
        try refuse("{\"k\":8}", "8", .badEntity)
        try refuse(",{\"k\":8}", ",\n{\"k\":8}")
        try refuse("\"held\":[{\"k\":7,\"a\":\"x\"},{\"k\":8}]", "\"held\":[]")
        try refuse("{\"id\":7,\(at)}", "{\"id\":7}")
        try refuse("\"born\":[{\"id\":2,\(at)}]", "\"born\":[]")
        try refuse("\"columns\":{", "\"columns\":{},\"more\":{")
        try refuse("\"b\":[{", "\"c\":[{")
        try refuse("\"a\":[{", "\"b\":[{", .outOfOrder)
        try refuse("\"a\":[{", "\"\\u0061\\ud800\":[{")
        try refuse("\"b\":[{\"from\":2,\"to\":3}]", "\"b\":[]")
        try refuse("{\"from\":3", "{\"from\":2", .outOfOrder)
        try refuse("\"to\":5", "\"to\":3", .outOfOrder)
        try refuse("\"to\":5", "\"to\":7")
        try refuse("{\"from\":2,\"to\":3}", "{\"from\":2,\"to\":9}")
        try refuse("{\"from\":2,\"to\":3}", "{\"from\":8,\"to\":9}")
        try refuse("\"to\":5", "\"to\":\"\\ud800\"")
        try refuse("{\"id\":7,\(at)}", "{\"id\":4,\(at)}", .outOfOrder)
        try refuse("{\"id\":2},", "{\"id\":2,\"deletedAt\":\"2026-11-21T07:32:00.250Z\"},")
        try refuse("2026-11-21T07:32:00.250Z", "2026-11-21T09:32:00.250Z")
        let others = [full.replacing("\"deletedAt\"", with: "\"at\""), full.replacing("07:32", with: "24:32"), full + " "]
        for bad in others + ["]}\n", "\n]}", "\n] }\n", "\n],}\n"] { #expect(throws: SyncError.self) { try read(bad, schema) } }
        // A key of another kind than the column's, and runs of entities, which only a snapshot asset has.
        let texts = try DatasetSchema(name: "d", table: "d", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", .text)])
        for key in ["\"x\"", "1"] {
            let deletion = "\n],\"deletions\":[{\"id\":\(key),\"deletedAt\":\"2026-11-21T07:32:00.250Z\"}]}\n"
            #expect(((try? read(deletion, texts)) == nil) == (key == "1"))
        }
        let run = "\n],\"instants\":[{\"from\":2,\"to\":4,\(at)}]}\n"
        _ = try read(run, schema)
        #expect(throws: SyncError.self) { try read(run, schema, isChange: true) }
        // The order of the lists.
        try refuse("\"born\"", "\"instants\"")
        try refuse("\"instants\"", "\"born\"")
        // A change asset does not name its columns, so one that this device lacks is skipped like its values.
        let change = "\n],\"columns\":{\"a\":[{\"id\":2}],\"other\":[{\"id\":2}]}}\n"
        #expect(try read(change, schema, isChange: true).instants.count == 1)
        #expect(throws: SyncError.self) { try read(change, schema) }
        // A column of the key changes if its spelling does.
        #expect(try read(change.replacing("other", with: "k"), schema, isChange: true).instants.count == 2)
    }
}
