import Foundation
import Sealing
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// Assets of sealed zones: every member a box, other cuts, and the same entities.
@Suite struct SealedAssetTests {
    private static func boxes(epochs: UInt32 = 1, zone: String = "private/main", dataset: String = "notes_data") throws -> DatasetBoxes {
        let secrets = (1...epochs).compactMap { number in EpochSecret(number: number, bytes: (0..<32).map { UInt8(number) &* 31 &+ $0 }) }
        return DatasetBoxes(try BoxKeys(cloud: "cloud", zone: zone, epochs: secrets), dataset: dataset)
    }

    private func asset(_ count: Int = 2000, boxes: DatasetBoxes?, seed: UInt64 = 7) throws -> Asset {
        try Asset.make(try Samples.notes(), Samples.noteRows(count, seed: seed), blockEntities: 50, boxes: boxes)
    }

    @Test func aSealedAssetHoldsTheSameEntitiesAndShowsNone() throws {
        let plain = try asset(boxes: nil), sealed = try asset(boxes: Self.boxes())
        try sealed.verify()
        #expect(try sealed.rows() == plain.rows())
        #expect(sealed.index.rawSize == plain.index.rawSize)
        let members = [sealed.index.header] + sealed.index.blocks.map(\.member) + [sealed.index.tail]
        for member in members {
            let box = sealed.bytes(of: member)
            #expect(box.prefix(4) == Data([0, 0, 0, 1]))
            // No gzip member, sealed or not, begins where its box does.
            #expect(box.dropFirst(36).prefix(10) != Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]))
        }
        #expect(sealed.index.header.length == plain.index.header.length + BoxKeys.overhead)
        #expect(try asset(boxes: Self.boxes()).bytes == sealed.bytes)
        #expect(sealed.bytes.firstRange(of: Data("syncTimestamp".utf8)) == nil)
    }

    @Test func theCutsFollowTheFirstEpochsKeyAlone() throws {
        let plain = try asset(boxes: nil), first = try asset(boxes: Self.boxes()), second = try asset(boxes: Self.boxes(epochs: 2))
        #expect(first.index.blocks.map(\.firstKey) == second.index.blocks.map(\.firstKey))
        #expect(first.index.blocks.map(\.firstKey) != plain.index.blocks.map(\.firstKey))
        #expect(first.index.blocks.map(\.member.rawSHA256) == second.index.blocks.map(\.member.rawSHA256))
        #expect(zip(first.index.blocks, second.index.blocks).allSatisfy { $0.member.sha256 != $1.member.sha256 })
        #expect((20...80).contains(first.index.blocks.count))
        try second.verify()
        // By the rule of a zone that is not sealed the cuts are wrong.
        var other = plain
        other.boxes = nil
        try other.verify()
        let opened = try Asset.make(Samples.notes(), first.rows(), blockEntities: 50)
        #expect(opened.index.blocks.count != first.index.blocks.count || opened.index.blocks.map(\.firstKey) == plain.index.blocks.map(\.firstKey))
    }

    @Test func keysOfOtherEpochsZonesAndDatasetsOpenNothing() throws {
        var sealed = try asset(200, boxes: Self.boxes(epochs: 2))
        func fault() -> SyncError? {
            do { _ = try sealed.rows() } catch { return error as? SyncError }
            return nil
        }
        sealed.boxes = try Self.boxes(epochs: 1)
        #expect(fault()?.format == .keyUnavailable)
        #expect(fault()?.reason == "this device has no key of epoch 2")
        for other in [try Self.boxes(epochs: 2, zone: "private/other"), try Self.boxes(epochs: 2, dataset: "other_data")] {
            sealed.boxes = other
            #expect(fault()?.format == .damaged)
        }
        sealed.boxes = nil
        #expect(fault()?.format == .damaged)
        // A member that is not sealed is refused where members are.
        var plain = try asset(200, boxes: nil)
        plain.boxes = try Self.boxes(epochs: 2)
        #expect(throws: SyncError.self) { try plain.rows() }
        sealed.boxes = try Self.boxes(epochs: 3)
        try sealed.verify()
    }

    /// The hashes are set right again, as a member of the zone could: what the box itself says counts.
    @Test func boxesInEachOthersPlacesAreRefused() throws {
        let sealed = try asset(boxes: Self.boxes())
        let (one, two) = (sealed.index.blocks[1].member, sealed.index.blocks[2].member)
        let reader = MemberReader(boxes: sealed.boxes), buffer = ByteBuffer()
        let bytes = sealed.bytes(of: two)
        let entry = MemberEntry(offset: one.offset, length: two.length, rawLength: one.rawLength, sha256: two.sha256, rawSHA256: one.rawSHA256)
        #expect(throws: SyncError.self) { try bytes.withUnsafeBytes { try reader.inflate($0, entry: entry, name: "block 1", into: buffer) } }
        var exchanged = sealed
        exchanged.bytes.replaceSubrange(one.offset..<two.end, with: sealed.bytes(of: two) + sealed.bytes(of: one))
        #expect(throws: SyncError.self) { try exchanged.rows() }
    }

    @Test func noFlippedBitChangesAnEntity() throws {
        let sealed = try asset(12, boxes: Self.boxes())
        let reader = MemberReader(boxes: sealed.boxes), buffer = ByteBuffer()
        for member in [sealed.index.header] + sealed.index.blocks.map(\.member) + [sealed.index.tail] {
            let box = Array(sealed.bytes(of: member))
            for bit in 0..<box.count * 8 {
                var flipped = box
                flipped[bit / 8] ^= 1 << UInt8(bit % 8)
                // Even with a hash that fits the altered bytes.
                let entry = flipped.withUnsafeBytes { bytes in
                    MemberEntry(
                        offset: 0, length: bytes.count, rawLength: member.rawLength, sha256: ContentHash(of: bytes), rawSHA256: member.rawSHA256)
                }
                #expect(throws: SyncError.self, "bit \(bit)") {
                    try flipped.withUnsafeBytes { try reader.inflate($0, entry: entry, name: "member", into: buffer) }
                }
            }
        }
    }

    @Test func unchangedBlocksAreCopiedAcrossEpochs() throws {
        let schema = try Samples.notes()
        let before = try asset(boxes: Self.boxes())
        var bytes = Data()
        let boxes = try Self.boxes(epochs: 2)
        let assembly = try SnapshotAssembly(schema: schema, syncTimestamp: Asset.timestamp, blockEntities: 50, boxes: boxes) { bytes.append(contentsOf: $0) }
        for number in before.index.blocks.indices {
            try before.bytes(of: before.index.blocks[number].member).withUnsafeBytes {
                try assembly.appendCopied(block: number, of: before.index, bytes: $0)
            }
        }
        let index = try assembly.end()
        let after = Asset(bytes: bytes, index: index, boxes: boxes)
        try after.verify()
        #expect(try after.rows() == before.rows())
        #expect(after.bytes(of: after.index.header).prefix(4) == Data([0, 0, 0, 2]))
        #expect(after.bytes(of: after.index.blocks[3].member).prefix(4) == Data([0, 0, 0, 1]))
    }

    @Test func aChangeAssetIsOneBox() throws {
        let schema = try Samples.notes(), boxes = try Self.boxes()
        let encoder = ChangeEncoder(schema: schema, syncTimestamp: Asset.timestamp, after: "00000000000000000001-0a0b0c0d")
        try send(Samples.noteRows(20, seed: 3), to: encoder)
        let text = try encoder.end(SnapshotTailBuilder())
        let member = try text.withBytes { try MemberCompressor(boxes: boxes).compress($0) }
        let bytes = Array(member.bytes)
        let hash = bytes.withUnsafeBytes { ContentHash(of: $0) }
        let entry = MemberEntry(offset: 0, length: bytes.count, rawLength: text.count, sha256: hash, rawSHA256: hash)
        let set = try bytes.withUnsafeBytes { try ChangeSet($0, entry: entry, schema: schema, name: "changes", boxes: boxes) }
        #expect(set.entityKeys.count == 20)
        #expect(throws: SyncError.self) { try bytes.withUnsafeBytes { try ChangeSet($0, entry: entry, schema: schema, name: "changes") } }
    }

    @Test func aLostIndexIsMadeAgain() throws {
        let boxes = try Self.boxes(epochs: 3)
        for (sealing, guess) in [(boxes, 50), (try Self.boxes(epochs: 2), 50), (try Self.boxes(), 1)] {
            let sealed = try asset(300, boxes: sealing)
            let file = Data(try sealing.seal(sealed.index.encode(), kind: .index))
            let bytes = sealed.bytes
            let rebuilder = try IndexRebuilder(byteCount: bytes.count, schema: Samples.notes(), boxes: boxes) { offset, target in
                target.copyBytes(from: bytes[offset..<(offset + target.count)])
            }
            #expect(try rebuilder.index(sha256: file.withUnsafeBytes { ContentHash(of: $0) }, guesses: [guess]) == file)
        }
        // With the keys of another zone no member is found.
        let bytes = try asset(300, boxes: boxes).bytes
        #expect(throws: SyncError.self) {
            try IndexRebuilder(byteCount: bytes.count, schema: Samples.notes(), boxes: Self.boxes(zone: "private/other")) { offset, target in
                target.copyBytes(from: bytes[offset..<(offset + target.count)])
            }
        }
    }

    @Test func aLostMemberIsMadeAgainInItsEpoch() throws {
        let plain = try asset(300, boxes: nil)
        for epoch in UInt32(1)...3 {
            let sealed = try Asset.make(Samples.notes(), plain.rows(), blockEntities: 50, engine: .zlib, boxes: Self.boxes(epochs: epoch))
            let rebuilder = MemberRebuilder(boxes: try Self.boxes(epochs: 3))
            var blocks: [[UInt8]] = []
            try sealed.read { blocks.append(Array($0.raw.bytes.dropFirst())) }
            let member = sealed.index.blocks[0].member, json = blocks[0]
            #expect(try json.withUnsafeBytes { try rebuilder.block($0, isFirst: true, as: member) } == Array(sealed.bytes(of: member)))
        }
    }
}
