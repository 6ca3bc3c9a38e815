import Foundation
import SnapshotFormat
import SnapshotModel
import TestSupport
import Testing

@Suite struct BlockCutTests {
    private func cuts(_ blockEntities: Int, _ key: String) -> Bool { BlockCutter(blockEntities: blockEntities).cuts(before: EntityKey(key)) }

    /// Keys and the smallest mean at which they no longer begin a block; computed from the formula by an independent program.
    @Test(arguments: cutVectors)
    func theCutRuleIsTheDocumentedOne(key: String, lastMean: Int) {
        for mean in [1, lastMean / 2, lastMean] where mean >= 1 { #expect(cuts(mean, key)) }
        if lastMean < 65_536 { #expect(!cuts(lastMean + 1, key)) }
        if let integer = Int64(key), String(integer) == key {
            for mean in [1, lastMean, lastMean + 1, 65_536] {
                #expect(BlockCutter(blockEntities: mean).cuts(before: EntityKey.integer(integer)) == cuts(mean, key))
            }
        }
    }

    @Test func aMeanOfOneCutsEverywhereAndMeansAreBroughtIntoRange() {
        #expect((0..<1000).allSatisfy { cuts(1, "\($0)") })
        #expect(BlockCutter(blockEntities: 0).blockEntities == 1)
        #expect(BlockCutter(blockEntities: .max).blockEntities == 65_536)
    }

    @Test func blocksHoldAboutTheMeanNumberOfEntities() throws {
        let asset = try Asset.make(try Samples.notes(), Samples.noteRows(5000, seed: 11), blockEntities: 50)
        #expect((70...140).contains(asset.index.blocks.count))
        try asset.verify()
    }

    @Test(arguments: 1...10)
    func rangesEncodedApartAreTheBlocksOfOneEncoder(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let kind: ColumnShape = seed.isMultiple(of: 2) ? .text : .integer
        let schema = try Samples.everyKind(key: kind)
        let rows = Samples.everyKindRows(600, key: kind, random: &random)
        let whole = try Asset.make(schema, rows, blockEntities: 20)

        // Ranges begin where the rule cuts by key, some of those places left out.
        let cutter = BlockCutter(blockEntities: 20)
        var ranges: [[[Value]]] = []
        for row in rows {
            let isCut =
                switch row[1] {
                case .text(let key): cutter.cuts(before: EntityKey.text(key))
                case .integer(let key): cutter.cuts(before: EntityKey.integer(key))
                default: false
                }
            if ranges.isEmpty || (isCut && random.happens(percent: 60)) { ranges.append([]) }
            ranges[ranges.count - 1].append(row)
        }
        #expect(ranges.count > 3)
        let encoders = [BlockEncoder(schema: schema, blockEntities: 20), BlockEncoder(schema: schema, blockEntities: 20)]
        var blocks = [[RawBlock]](repeating: [], count: ranges.count)
        for number in ranges.indices.shuffled(using: &random) {
            let encoder = encoders[number % 2]
            encoder.beginRange()
            try send(ranges[number], to: encoder)
            encoder.finish()
            while let block = encoder.popCompleted() { blocks[number].append(block) }
        }
        let joined = try Asset.assemble(schema, Array(blocks.joined()), blockEntities: 20)
        #expect(joined.bytes == whole.bytes)
        #expect(joined.index == whole.index)
    }

    @Test(arguments: 1...20)
    func oneChangedEntityTouchesOneBlockAndADeletionThoseAroundIt(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.notes(), rows = Samples.noteRows(800, seed: UInt64(seed))
        let before = try Asset.make(schema, rows, blockEntities: 30).index
        var changed = rows, fewer = rows
        changed[random.below(rows.count)][1] = .text("something quite different and longer than it was before")
        let after = try Asset.make(schema, changed, blockEntities: 30).index
        #expect(after.blocks.map(\.firstKey) == before.blocks.map(\.firstKey))
        #expect(zip(before.blocks, after.blocks).filter { $0.member.rawSHA256 != $1.member.rawSHA256 }.count == 1)
        fewer.remove(at: 1 + random.below(rows.count - 1))
        let left = try Asset.make(schema, fewer, blockEntities: 30).index, known = Set(before.blocks.map(\.member.rawSHA256))
        // A deleted entity that began a block joins what is left of it to the block before.
        #expect(left.blocks.filter { !known.contains($0.member.rawSHA256) }.count <= 1)
        #expect(abs(left.blocks.count - before.blocks.count) <= 1)
    }

    @Test func aFullBlockIsCutWhateverTheKey() throws {
        let schema = try Samples.notes()
        let body = String(repeating: "x", count: 300_000)
        let rows: [[Value]] = (0..<12).map { [.text("k\(100 + $0)"), .text("t"), .text(body), .text("2026-01-01T00:00:00Z"), .json("[]")] }
        let asset = try Asset.make(schema, rows, blockEntities: 65_536)
        // Four entities pass 1,048,576 bytes; the fifth begins another block.
        #expect(asset.index.blocks.map(\.count) == [4, 4, 4])
        #expect(try asset.rows(schema: schema) == rows)
        try asset.verify()
    }

    @Test func theFullMarkIsReachedToTheByteAndDoesNotDependOnTheBlocksPlace() throws {
        let schema = try DatasetSchema(name: "d", table: "d", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", .integer), DatasetColumn("v", .text)])
        // {"k":1,"v":"…"} is 14 bytes and the text.
        for (length, counts) in [(1_048_576 - 14, [1, 1]), (1_048_575 - 14, [2])] {
            let rows: [[Value]] = [[.integer(1), .text(String(repeating: "x", count: length))], [.integer(2), .text("")]]
            let asset = try Asset.make(schema, rows, blockEntities: 65_536)
            #expect(asset.index.blocks.map(\.count) == counts)
            try asset.verify()
        }
    }

    @Test func theChoiceAimsAtAnEighthOfAMebibyte() throws {
        #expect(BlockSizing.blockEntities(sampleCount: 0, bytes: 0) == 1024)
        #expect(BlockSizing.blockEntities(sampleCount: 256, bytes: 256 * 650) == 201)
        #expect(BlockSizing.blockEntities(sampleCount: 3, bytes: 30_000_000) == 1)
        #expect(BlockSizing.blockEntities(sampleCount: 1, bytes: 1) == 65_536)
        let probe = BlockSizeProbe(schema: try Samples.notes())
        let rows = Samples.noteRows(300, seed: 4)
        try send(rows, to: probe)
        let encoder = BlockEncoder(schema: try Samples.notes(), blockEntities: 65_536)
        try send(rows.prefix(256), to: encoder)
        encoder.finish()
        let bytes = try #require(encoder.popCompleted()).bytes.count - 2 * 255
        #expect(probe.isComplete)
        #expect(probe.blockEntities == 131_072 / (bytes / 256))
    }

    /// What a reader fetches that differs in so many rows: the blocks where they lie, which are larger than the mean block.
    @Test(arguments: UInt64(1)...3) func aHundredRowsOfAMillionLieInATwentiethOfTheBlocks(seed: UInt64) {
        let cutter = BlockCutter(blockEntities: BlockSizing.blockEntities(sampleCount: 256, bytes: 256 * 630))
        let starts = [0] + (1..<1_000_000).filter { cutter.cuts(before: EntityKey.integer(Int64($0))) } + [1_000_000]
        var random = SeededGenerator(seed: seed)
        var rows = Set<Int>()
        while rows.count < 100 { rows.insert(random.below(1_000_000)) }
        let touched = zip(starts, starts.dropFirst()).filter { start, end in rows.contains { $0 >= start && $0 < end } }
        #expect(touched.reduce(0) { $0 + $1.1 - $1.0 } < 50_000)
    }

    @Test func aChoiceIsKeptWhileItsBlocksFit() throws {
        let schema = try Samples.notes()
        #expect(BlockSizing.keeps(try Asset.make(schema, [], blockEntities: 5).index))
        #expect(BlockSizing.keeps(try Asset.make(schema, Samples.noteRows(5, seed: 1), blockEntities: 65_536).index))
        #expect(!BlockSizing.keeps(try Asset.make(schema, Samples.noteRows(500, seed: 1), blockEntities: 5).index))
        let kept = try Asset.make(schema, Samples.noteRows(6000, seed: 1), blockEntities: 1200).index
        #expect(BlockSizing.keeps(kept))
        #expect(BlockSizing.blockEntities(after: kept) == 1200)
    }

    @Test func aChoiceMisledByTheFirstEntitiesIsCorrectedByTheWholeSnapshot() throws {
        let schema = try Samples.notes()
        let huge: [[Value]] = (0..<2).map { [.text("a\($0)"), .text(String(repeating: "x", count: 300_000)), .null, .text("t"), .json("[]")] }
        let rows = huge + Samples.noteRows(3000, seed: 1)
        let probe = BlockSizeProbe(schema: schema)
        try send(huge, to: probe)
        #expect(probe.blockEntities == 1)
        let index = try Asset.make(schema, rows, blockEntities: probe.blockEntities).index
        #expect(index.blocks.count == rows.count)
        let next = BlockSizing.blockEntities(after: index)
        #expect(next > 100)
        #expect(BlockSizing.keeps(try Asset.make(schema, rows, blockEntities: next).index))
    }
}

/// Keys with floor((2^64 - 1) / h): a key begins a block just as long as the mean is not greater.
private let cutVectors: [(String, Int)] = [
    ("", 1),
    ("a", 1),
    ("b", 2),
    ("abc", 4),
    ("0", 1),
    ("1", 2),
    ("-1", 4),
    ("42", 1),
    ("9223372036854775807", 1),
    ("-9223372036854775808", 2),
    ("é", 1),
    ("漢字", 4),
    ("n-1", 2),
    ("00000000-0000-4000-8000-000000000000", 353),
    ("key-351", 1853),
    ("key-2171", 2340),
    ("key-2391", 1444),
    ("key-4576", 6657),
    ("1171", 14475),
]
