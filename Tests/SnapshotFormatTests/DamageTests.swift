import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct DamageTests {
    private func sample() throws -> Asset { try Asset.make(try Samples.notes(), Samples.noteRows(24, seed: 21), blockEntities: 6) }

    @Test func everyFlippedBitOfAnAssetIsFound() throws {
        let asset = try sample()
        try asset.verify()
        var found = 0
        let positions = Sample.of(0..<asset.bytes.count, oneIn: 3)
        for position in positions {
            for bit in 0..<8 {
                var damaged = asset
                damaged.bytes[position] ^= 1 << UInt8(bit)
                #expect(throws: SyncError.self, "byte \(position), bit \(bit)") { try damaged.verify() }
                found += 1
            }
        }
        #expect(found == positions.count * 8)
    }

    @Test func everyLengthOfACutAssetIsRefused() throws {
        let asset = try sample()
        for length in 0..<asset.bytes.count {
            let cut = Asset(bytes: asset.bytes.prefix(length), index: asset.index)
            #expect(throws: SyncError.self) { try cut.verify() }
            // Without the length known beforehand, too.
            #expect(throws: SyncError.self) { try cut.read() }
        }
        #expect(throws: SyncError.self) { try Asset(bytes: asset.bytes + Data([0]), index: asset.index).verify() }
    }

    /// The trust in an index comes from the hash in the commit. Without it, what is left is what the asset contradicts.
    @Test func everyFlippedBitOfAnIndexIsFound() throws {
        let asset = try sample()
        let text = asset.index.encode()
        let hash = text.withUnsafeBytes { ContentHash(of: $0) }
        var silent: Set<Int> = []
        for position in 0..<text.count {
            for bit in 0..<8 {
                var damaged = text
                damaged[position] ^= 1 << UInt8(bit)
                #expect(throws: SyncError.self) { try SnapshotIndex.decode(damaged, expecting: hash) }
                do {
                    try Asset(bytes: asset.bytes, index: try SnapshotIndex.decode(damaged)).verify()
                    silent.insert(position)
                } catch let error as SyncError where error.format != nil {}
            }
        }
        // Another mean that cuts in the same places; a column made required, if all its entities have it; nothing else.
        let mean = try #require(String(decoding: text, as: UTF8.self).utf8.firstRange(of: "\"blockEntities\":6".utf8))
        let start = String(decoding: text, as: UTF8.self).utf8.distance(from: String(decoding: text, as: UTF8.self).utf8.startIndex, to: mean.lowerBound)
        #expect(silent.isSubset(of: [start + 16]))
    }

    @Test func swappedBlocksAreFound() throws {
        let asset = try sample()
        let blocks = asset.index.blocks
        for first in 0..<blocks.count {
            for second in first + 1..<blocks.count {
                // In the asset alone.
                var order = Array(0..<blocks.count)
                order.swapAt(first, second)
                var bytes = asset.bytes(of: asset.index.header)
                for number in order { bytes += asset.bytes(of: blocks[number].member) }
                bytes += asset.bytes(of: asset.index.tail)
                #expect(bytes.count == asset.bytes.count)
                #expect(throws: SyncError.self) { try Asset(bytes: bytes, index: asset.index).verify() }
            }
        }
    }

    @Test func aBlockThatWasMovedToTheFrontWithItsIndexEntryIsRefused() throws {
        // The entry of a later block, as if the first one had never been: its separator gives it away.
        let schema = try Samples.notes()
        let asset = try sample()
        let blocks = asset.index.blocks
        let shift = blocks[0].member.length
        func moved(_ entry: MemberEntry) -> MemberEntry {
            MemberEntry(offset: entry.offset - shift, length: entry.length, rawLength: entry.rawLength, sha256: entry.sha256, rawSHA256: entry.rawSHA256)
        }
        let index = try SnapshotIndex(
            schema: schema, blockEntities: 6, header: asset.index.header,
            blocks: blocks.dropFirst().map { BlockEntry(firstKey: $0.firstKey, count: $0.count, member: moved($0.member)) }, tail: moved(asset.index.tail))
        var bytes = asset.bytes
        bytes.removeSubrange(blocks[0].member.offset..<blocks[0].member.end)
        #expect(throws: SyncError.self) { try Asset(bytes: bytes, index: index).verify() }
        #expect(throws: SyncError.self) { try Asset(bytes: bytes, index: index).rows() }
    }

    @Test func aMemberIsInflatedToItsDeclaredSizeAndNotAByteFurther() throws {
        let bomb = Data(repeating: UInt8(ascii: " "), count: 8 << 20)
        let member = try bomb.withUnsafeBytes { try MemberCompressor().compress($0) }
        let reader = MemberReader(), buffer = ByteBuffer()
        func inflate(rawLength: Int) throws {
            let entry = MemberEntry(
                offset: 0, length: member.bytes.count, rawLength: rawLength, sha256: ContentHash(of: member.bytes), rawSHA256: ContentHash(of: member.bytes))
            try reader.inflate(member.bytes, entry: entry, name: "member", into: buffer)
        }
        try inflate(rawLength: bomb.count)
        #expect(buffer.count == bomb.count)
        for lie in [0, 1, 1000, bomb.count - 1, bomb.count + 1, bomb.count * 2] {
            let error = try #require(throws: SyncError.self) { try inflate(rawLength: lie) }
            #expect(error.format == .damaged)
            #expect(buffer.count == 0)
        }
        let error = try #require(throws: SyncError.self) { try inflate(rawLength: 1 << 40) }
        #expect(error.format == .tooLarge)
        // The reader is as good as new after each of them.
        try inflate(rawLength: bomb.count)
    }

    /// Bytes whose hash is right all the same: what only the framing tells.
    @Test func framingIsCheckedToTheByte() throws {
        let text = Array("\n]}\n".utf8)
        let member = try text.withUnsafeBytes { try MemberCompressor().compress($0) }
        let good = Array(member.bytes)
        let reader = MemberReader(), buffer = ByteBuffer()
        func inflate(_ bytes: [UInt8]) throws {
            try bytes.withUnsafeBytes {
                let entry = MemberEntry(offset: 0, length: $0.count, rawLength: text.count, sha256: ContentHash(of: $0), rawSHA256: ContentHash(of: $0))
                try reader.inflate($0, entry: entry, name: "tail", into: buffer)
            }
        }
        try inflate(good)
        #expect(Array(buffer.bytes) == text)
        for position in good.indices where position < 10 || position >= good.count - 8 {
            for bit in 0..<8 {
                var bad = good
                bad[position] ^= 1 << UInt8(bit)
                #expect(throws: SyncError.self) { try inflate(bad) }
            }
        }
        #expect(throws: SyncError.self) { try inflate(good + [0]) }
        #expect(throws: SyncError.self) { try inflate(good + good) }
        #expect(throws: SyncError.self) { try inflate(good.prefix(10) + [0, 0] + good.dropFirst(10)) }
        #expect(throws: SyncError.self) { try inflate(Array(good.prefix(19))) }
        #expect(throws: SyncError.self) { try inflate([]) }
    }

    @Test func headersAreReadToTheByte() throws {
        func header(_ text: String) throws -> SnapshotHeader { try Array(text.utf8).withUnsafeBytes { try SnapshotHeader.parse($0) } }
        let good = "{\"syncTimestamp\":\"2026-11-21T07:32:00.250Z\",\"notes\":["
        #expect(try header(good).dataset == "notes")
        for length in 0..<good.utf8.count { #expect(throws: SyncError.self) { try header(String(good.prefix(length))) } }
        for bad in [
            good + "\n", " " + good, good.replacing("250Z", with: "25Z"), good.replacing("Z", with: "+00:00"), good.replacing("11-21", with: "02-30"),
            good.replacing("notes", with: "n\\u006ftes"), good.replacing(",", with: ", "),
        ] { #expect(throws: SyncError.self) { try header(bad) } }
    }

    @Test func theAssemblyRefusesWhatDoesNotBelongTogether() throws {
        let schema = try Samples.notes()
        let asset = try sample()
        let index = asset.index
        func assembly() throws -> SnapshotAssembly {
            try SnapshotAssembly(schema: schema, syncTimestamp: Asset.timestamp, blockEntities: 6) { _ in }
        }
        func copy(_ number: Int, to assembly: SnapshotAssembly, _ change: (inout Data) -> Void = { _ in }) throws {
            var bytes = asset.bytes(of: index.blocks[number].member)
            change(&bytes)
            try bytes.withUnsafeBytes { try assembly.appendCopied(block: number, of: index, bytes: $0) }
        }
        let whole = try assembly()
        for number in index.blocks.indices { try copy(number, to: whole) }
        #expect(whole.recordCount == 24)
        #expect(try whole.end() == index)
        #expect(throws: SyncError.self) { try whole.end() }
        #expect(throws: SyncError.self) { try copy(0, to: whole) }

        let other = try assembly()
        #expect(throws: SyncError.self) { try copy(1, to: other) }
        try copy(0, to: other)
        #expect(throws: SyncError.self) { try copy(0, to: other) }
        try copy(2, to: other)
        #expect(throws: SyncError.self) { try copy(1, to: other) }
        #expect(throws: SyncError.self) { try copy(3, to: other) { $0[$0.startIndex + 12] ^= 1 } }
        #expect(throws: SyncError.self) { try copy(3, to: other) { $0.removeLast() } }

        // A block whose first key lies within the last one's range of keys.
        let encoder = BlockEncoder(schema: schema, blockEntities: 65_536)
        let rows = Samples.noteRows(24, seed: 21)
        let compressor = MemberCompressor()
        func block(_ rows: some Sequence<[Value]>, isFirst: Bool) throws -> CompressedBlock {
            encoder.beginRange()
            try send(rows, to: encoder)
            encoder.finish()
            return try compressor.compress(try #require(encoder.popCompleted()), isFirst: isFirst)
        }
        let overlapping = try assembly()
        try overlapping.append(try block(rows[0...10], isFirst: true))
        #expect(throws: SyncError.self) { try overlapping.append(try block(rows[5...12], isFirst: false)) }
        #expect(throws: SyncError.self) { try overlapping.append(try block(rows[11...12], isFirst: true)) }
        try overlapping.append(try block(rows[11...12], isFirst: false))
    }

    @Test func whatTheFileRefusesReachesTheCaller() throws {
        struct Full: Error {}
        var room = 150
        #expect(throws: Full.self) {
            let assembly = try SnapshotAssembly(schema: try Samples.notes(), syncTimestamp: Asset.timestamp, blockEntities: 6) {
                room -= $0.count
                if room < 0 { throw Full() }
            }
            let asset = try sample()
            try asset.bytes(of: asset.index.blocks[0].member).withUnsafeBytes { try assembly.appendCopied(block: 0, of: asset.index, bytes: $0) }
        }
    }
}
