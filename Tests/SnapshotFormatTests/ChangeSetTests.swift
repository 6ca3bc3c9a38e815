import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct ChangeSetTests {
    /// A change asset's bytes and what its commit says of them.
    private func make(
        _ schema: DatasetSchema, _ rows: [[Value]], deletions: [EntityKey] = [], instants: [EntityKey] = [], changed: [Int: Set<Int>] = [:]
    ) throws -> (Data, MemberEntry) {
        let encoder = ChangeEncoder(schema: schema, syncTimestamp: Asset.timestamp, after: "00000000000000000001-0a0b0c0d")
        for (number, row) in rows.enumerated() {
            encoder.changed = changed[number]
            try send(row, to: encoder)
        }
        var tail = SnapshotTailBuilder()
        for key in deletions { tail.addDeletion(of: key, at: Asset.timestamp) }
        for key in instants { tail.add(.row, Asset.timestamp, of: key) }
        let text = try encoder.end(tail)
        let member = try text.withBytes { try MemberCompressor().compress($0) }
        let bytes = Data(member.bytes)
        return (bytes, entry(bytes, rawLength: text.count))
    }

    private func read(_ bytes: Data, _ entry: MemberEntry, _ schema: DatasetSchema) throws -> ChangeSet {
        try bytes.withUnsafeBytes { try ChangeSet($0, entry: entry, schema: schema, name: "changes") }
    }

    /// The entry that a commit would have if it vouched for these bytes.
    private func entry(_ bytes: Data, rawLength: Int) -> MemberEntry {
        let hash = bytes.withUnsafeBytes { ContentHash(of: $0) }
        return MemberEntry(offset: 0, length: bytes.count, rawLength: rawLength, sha256: hash, rawSHA256: hash)
    }

    /// Neither asset is written with a tail that every device would refuse.
    @Test(arguments: [Instant(microseconds: Int64.min + 1), Asset.timestamp.advanced(byMicroseconds: 1)])
    func whatNoDeviceCouldReadIsNotWritten(at: Instant) throws {
        let schema = try Samples.everyKind(key: .integer)
        var builder = SnapshotTailBuilder()
        builder.addDeletion(of: .integer(1), at: at)
        let tail = builder
        let encoder = ChangeEncoder(schema: schema, syncTimestamp: Asset.timestamp, after: "00000000000000000001-0a0b0c0d")
        let assembly = try SnapshotAssembly(schema: schema, syncTimestamp: Asset.timestamp, blockEntities: 6) { _ in }
        for end in [{ _ = try encoder.end(tail) }, { _ = try assembly.end(tail) }] as [() throws -> Void] {
            do {
                try end()
                Issue.record("a tail with \(at) was written")
            } catch let error as SyncError where error.format != nil {
                #expect(error.format == .badRow && error.place.contains("tail"), "\(error)")
            }
        }
    }

    @Test(arguments: [ColumnShape.text, .integer], 1...8) func randomChangesComeBackAsTheyWere(key: ColumnShape, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.everyKind(key: key)
        let rows = Samples.everyKindRows(random.below(60), key: key, random: &random)
        let gone: [EntityKey] = key == .integer ? [.integer(7_777_777)] : [EntityKey("\u{10FFFF}gone")]
        let (bytes, entry) = try make(schema, rows, deletions: gone)
        let set = try read(bytes, entry, schema)
        let sink = CollectingSink()
        try set.entities.send(to: sink)
        #expect(sink.rows == rows, "seed \(seed)")
        #expect(set.deletions.map(\.key) == gone)
        #expect(set.syncTimestamp == Asset.timestamp)
        let count = try Tool.run(
            "python3", ["-c", "import json, sys; print(len(json.load(sys.stdin)['things']))"], input: try Tool.run("zcat", [], input: bytes))
        #expect(String(decoding: count, as: UTF8.self) == "\(rows.count)\n")
    }

    /// A partial entity has the values of the columns that it names, and those of the row before in all others.
    @Test(arguments: [ColumnShape.text, .integer], 1...8) func partialEntitiesArePutOverTheRowsBefore(key: ColumnShape, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.everyKind(key: key), count = 1 + random.below(40)
        let before = Samples.everyKindRows(count, key: key, random: &random), other = Samples.everyKindRows(count, key: key, random: &random)
        var changed: [Int: Set<Int>] = [:], after = before
        for number in before.indices where random.happens(percent: 70) {
            let columns = Set((0..<1 + random.below(4)).map { _ in random.below(schema.columns.count) }).subtracting(schema.keyIndices)
            guard !columns.isEmpty else { continue }
            changed[number] = columns
            for column in columns { after[number][column] = other[number][column] }
        }
        let (bytes, entry) = try make(schema, after, changed: changed)
        let set = try read(bytes, entry, schema), keys = set.entityKeys
        #expect(set.partial == Dictionary(uniqueKeysWithValues: changed.map { (keys[$0], $1) }), "seed \(seed)")
        let sink = CollectingSink()
        try set.send(to: sink) { key, layer in try send(before[try #require(keys.firstIndex(of: key))], to: layer) }
        #expect(sink.rows == after, "seed \(seed)")
    }

    @Test func whatIsNoPartialEntityIsRefused() throws {
        let schema = try Samples.everyKind()
        func read(_ line: String, tail: String = "") throws -> ChangeSet {
            let text = "{\"syncTimestamp\":\"\(Asset.timestamp)\",\"after\":\"1\",\"things\":[\n\(line)\n]\(tail)}\n"
            let member = try Array(text.utf8).withUnsafeBytes { try MemberCompressor().compress($0) }
            let bytes = Data(member.bytes)
            return try self.read(bytes, self.entry(bytes, rawLength: text.utf8.count), schema)
        }
        func column(_ name: String) throws -> Int { try #require(schema.columns.firstIndex { $0.name == name }) }
        let good = try read(#"[{"id":"a","n":1,"tree":null},"maybe","nobody's"]"#)
        #expect(try good.partial == [EntityKey("a"): [column("n"), column("tree"), column("maybe")]])
        #expect(good.entities.unknownFieldNames == ["nobody's"])
        let sink = CollectingSink()
        try good.entities.send(to: sink)
        #expect(try sink.rows[0][column("tree")] == .json("null"))
        for (line, why) in [
            (#"[{"id":"a","n":1},"n"]"#, "a value and NULL"), (#"[{"id":"a"},"x"]"#, "a required column"), (#"[{"id":"a"},"id"]"#, "the key"),
            (#"[{"id":"a"},"maybe","maybe"]"#, "twice"), (#"[{"n":1},"maybe"]"#, "no key"), (#"[{"id":"a"},maybe]"#, "no quotes"),
            (#"[{"id":"a"}"#, "no bracket"), (#"[{"id":"a"},{"id":"b"}]"#, "two entities"), (#"["maybe",{"id":"a"}]"#, "a name first"),
            (#"[{"id":"a"},"maybe",]"#, "a comma"), ("[]", "nothing"), (#"[{"id":"b"}],"# + "\n" + #"[{"id":"a"}]"#, "order"),
            (#"[[{"id":"a"}]]"#, "two brackets"),
        ] {
            #expect(throws: SyncError.self, "\(why)") { try read(line) }
        }
        // No key has an infinite number.
        let infinite = "{\"syncTimestamp\":\"\(Asset.timestamp)\",\"after\":\"1\",\"settings\":[\n[{\"id\":{\"real\":\"Infinity\"},\"value\":1}]\n]}\n",
            plain = try Samples.plainColumns(key: nil)
        let member = try Array(infinite.utf8).withUnsafeBytes { try MemberCompressor().compress($0) }, bytes = Data(member.bytes)
        #expect(throws: SyncError.self) { try self.read(bytes, self.entry(bytes, rawLength: infinite.utf8.count), plain) }
        // Only the row before says what the timestamp is.
        let undated = #","columns":{"n":[{"id":"a"}]}"#
        #expect(throws: SyncError.self) { try read(#"[{"id":"a","n":1}]"#, tail: undated) }
        _ = try read(#"[{"id":"a","updatedAt":"2026-01-01T00:00:00Z","n":1}]"#, tail: undated)
    }

    @Test func everyFlippedBitAndEveryCutIsFound() throws {
        let schema = try Samples.notes()
        let rows = Samples.noteRows(9, seed: 4)
        let (bytes, entry) = try make(schema, rows, deletions: [EntityKey("zz")], changed: [2: [1, 2], 5: [4]])
        _ = try read(bytes, entry, schema)
        for position in 0..<bytes.count {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8(bit)
                #expect(throws: SyncError.self) { try read(damaged, entry, schema) }
            }
            #expect(throws: SyncError.self) { try read(bytes.prefix(position), entry, schema) }
        }
    }

    /// What a commit vouches for is checked all the same: order, keys, brackets, the declared length.
    @Test func whatDoesNotFollowTheFormatIsRefused() throws {
        let schema = try Samples.notes()
        let (good, entry) = try make(schema, Samples.noteRows(3, seed: 5), deletions: [EntityKey("zz")])
        let text = String(decoding: try Tool.run("zcat", [], input: good), as: UTF8.self)
        func refuse(_ text: String, _ why: String) throws {
            let member = try Array(text.utf8).withUnsafeBytes { try MemberCompressor().compress($0) }
            let bytes = Data(member.bytes)
            #expect(throws: SyncError.self, "\(why)") { try read(bytes, self.entry(bytes, rawLength: text.utf8.count), schema) }
        }
        guard case .text(let key) = Samples.noteRows(3, seed: 5)[0][0] else { return }
        let first = String(decoding: key, as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        try refuse(([lines[0], lines[2], lines[1]] + lines[3...]).joined(separator: "\n") + "\n", "two entities swapped")
        try refuse(text + " ", "something after the end")
        try refuse(String(text.dropLast(2)), "no end")
        try refuse(text.replacing("\"notes\"", with: "\"other\""), "another dataset")
        try refuse(text.replacing("\"id\":\"zz\"", with: "\"id\":\"\(first)\""), "both there and deleted")
        try refuse(
            text.replacing(",\"deletions\"", with: ",\"instants\":[{\"id\":\"zz\",\"at\":\"2026-01-01T00:00:00.000Z\"}],\"deletions\""),
            "lists in another order")
        try refuse(text.replacing("},\n{", with: "}\n{"), "a comma missing")
        try refuse(text.replacing("},\n{", with: "},,\n{"), "a comma too many")
        #expect(throws: SyncError.self) { try read(good, self.entry(good, rawLength: entry.rawLength - 1), schema) }
        #expect(throws: SyncError.self) { try read(good, self.entry(good, rawLength: entry.rawLength + 1), schema) }
        #expect(throws: SyncError.self) { try read(good, self.entry(good, rawLength: FormatLimits.changeRawBytes + 1), schema) }
    }

    @Test func laterChangesCountAndBlocksKeepTheirOrder() throws {
        let schema = try Samples.notes()
        let rows = Samples.noteRows(40, seed: 6)
        let asset = try Asset.make(schema, rows, blockEntities: 6)
        func changed(_ row: [Value], _ title: String) -> [Value] { [row[0], .text(title)] + row[2...] }
        let first = try make(schema, [changed(rows[3], "first"), changed(rows[20], "first")], deletions: [try #require(rows[7][0].key)])
        let second = try make(schema, [changed(rows[7], "back"), changed(rows[20], "second")], deletions: [try #require(rows[39][0].key)])
        // Partial: over a row of the snapshot, over one partial entity more, and over a whole one.
        var third = [rows[3], rows[11], rows[20]]
        for number in third.indices { third[number][4] = .json("[\(number)]") }
        var fourth = [rows[11]]
        fourth[0][2] = .null
        let partial = try [make(schema, third, changed: [0: [4], 1: [4], 2: [4]]), make(schema, fourth, changed: [0: [2]])]
        var overlay = ChangeOverlay(schema: schema)
        for (bytes, entry) in [first, second] + partial { try overlay.add(read(bytes, entry, schema)) }
        let (bytes, entry) = try make(schema, [rows[39]], changed: [0: [1]]), gone = try read(bytes, entry, schema)
        #expect(throws: SyncError.self, "a deleted entity") { try overlay.add(gone) }

        var expected = rows
        expected[3] = changed(rows[3], "first")
        expected[7] = changed(rows[7], "back")
        expected[20] = changed(rows[20], "second")
        for (number, position) in [3, 11, 20].enumerated() { expected[position][4] = .json("[\(number)]") }
        expected[11][2] = .null
        expected.remove(at: 39)
        let sink = CollectingSink()
        var number = 0
        try asset.read(schema: schema) { block in
            let blocks = asset.index.blocks
            try overlay.send(
                block, from: number == 0 ? nil : blocks[number].firstKey, upTo: number + 1 < blocks.count ? blocks[number + 1].firstKey : nil, to: sink)
            number += 1
        }
        #expect(sink.rows == expected)
    }
}
