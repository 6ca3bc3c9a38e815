import Foundation
import Sealing
import TestSupport
import Testing

@Suite struct BoxTests {
    private static let cloud = "0b0e6a6e-0000-4000-8000-000000000001"

    private static func secret(_ number: UInt32) -> EpochSecret {
        let start = UInt8(truncatingIfNeeded: (number - 1) * 32)
        return EpochSecret(number: number, bytes: (0..<32).map { start + $0 })!
    }

    private func keys(zone: String = "private/main", epochs: Int = 2, cloud: String = BoxTests.cloud) throws -> BoxKeys {
        try BoxKeys(cloud: cloud, zone: zone, epochs: (1...epochs).map { Self.secret(UInt32($0)) })
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    /// Boxes made in Python with the package `cryptography`, from docs/sealed.md.
    @Test func boxesAreTheDocumentedOnes() throws {
        let first = try keys(epochs: 1)
        #expect(
            hex(try first.seal([UInt8](), kind: .member, dataset: "notes_data"))
                == "00000001d386442bba74ac3dc78c633078fd3a3712ee36f226a5bf2dcfe034e20285f8ca0e8e144ee84c97232b32e9b5dc69c324")
        #expect(
            hex(try first.seal(Array("two milks".utf8), kind: .member, dataset: "notes_data"))
                == "000000013326460e5fd594e5cfa450de6166fcadfaffdf291d25702a636bd5cc1126c4af8d146de9f7110d77a5be376a7795f63c139e43dbbfbc1149e8")
        #expect(
            hex(try keys(zone: "public/main").seal(Array("two milks".utf8), kind: .record, dataset: "snapshot_keys"))
                == "0000000274045a712ecde4a6ec7b44f0a93c2c55053a0bfced79c64f521be56d1a2c61c132a90a7862d0eb13195dfdbb16d5f10138e0c071f9c7362ab3")
    }

    @Test func theCutKeyIsThatOfTheFirstEpoch() throws {
        let bytes: [UInt8] = [0x26, 0x5B, 0x6D, 0xA7, 0x42, 0xB1, 0x94, 0x29, 0xFE, 0x21, 0x9C, 0xD8, 0x27, 0xD6, 0xBD, 0x3F]
        #expect(try keys(epochs: 1).cutKey == CutKey(bytes))
        #expect(try keys(epochs: 3).cutKey == CutKey(bytes))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1000, 200_000])
    func aBoxOpensToWhatWasSealed(count: Int) throws {
        let keys = try keys()
        let contents = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for kind in BoxKind.allCases {
            let box = try keys.seal(contents, kind: kind, dataset: "a")
            #expect(box.count == count + BoxKeys.overhead)
            #expect(try keys.open(box, kind: kind, dataset: "a") == contents)
            // Equal contents at one place give equal boxes.
            #expect(try keys.seal(contents, kind: kind, dataset: "a") == box)
        }
    }

    @Test func aBoxOpensOnlyAsWhatItWasSealed() throws {
        let keys = try keys()
        let box = try keys.seal(Array("two milks".utf8), kind: .member, dataset: "notes_data")
        for kind in BoxKind.allCases where kind != .member {
            #expect(throws: BoxError.damaged) { try keys.open(box, kind: kind, dataset: "notes_data") }
        }
        #expect(throws: BoxError.damaged) { try keys.open(box, kind: .member, dataset: "notes_dat") }
        #expect(throws: BoxError.damaged) { try self.keys(zone: "private/mai").open(box, kind: .member, dataset: "notes_data") }
        #expect(throws: BoxError.damaged) { try self.keys(cloud: "0").open(box, kind: .member, dataset: "notes_data") }
    }

    @Test func boxesOfOneContentDifferByPlaceAndEpoch() throws {
        var seen: Set<[UInt8]> = []
        for zone in ["private/a", "private/b"] {
            for epochs in 1...2 {
                for kind in BoxKind.allCases {
                    for dataset in ["a", "b"] {
                        let box = try keys(zone: zone, epochs: epochs).seal(Array("two milks".utf8), kind: kind, dataset: dataset)
                        #expect(seen.insert(Array(box[4...])).inserted)
                    }
                }
            }
        }
        #expect(seen.count == 32)
    }

    @Test func theNewestEpochSealsAndAllOpen() throws {
        let first = try keys(epochs: 1)
        let third = try keys(epochs: 3)
        let old = try first.seal([1, 2, 3] as [UInt8], kind: .index, dataset: "a")
        let new = try third.seal([1, 2, 3] as [UInt8], kind: .index, dataset: "a")
        #expect(old.withUnsafeBytes { BoxKeys.epoch(of: $0) } == 1)
        #expect(new.withUnsafeBytes { BoxKeys.epoch(of: $0) } == 3)
        #expect(try third.open(old, kind: .index, dataset: "a") == [1, 2, 3])
        #expect(throws: BoxError.unknownEpoch(3)) { try first.open(new, kind: .index, dataset: "a") }
        // A box that says that it is of another epoch does not open by that epoch's keys.
        #expect(throws: BoxError.damaged) { try third.open([0, 0, 0, 2] + old[4...], kind: .index, dataset: "a") }
        #expect(throws: BoxError.unknownEpoch(1)) { try BoxKeys(cloud: "c", zone: "z", epochs: [Self.secret(2)]) }
    }

    @Test func everyFlippedBitAndEveryLengthIsRefused() throws {
        let keys = try keys()
        let box = try keys.seal(Array("two milks".utf8), kind: .member, dataset: "a")
        for bit in 0..<box.count * 8 {
            var flipped = box
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: BoxError.self) { try keys.open(flipped, kind: .member, dataset: "a") }
        }
        for count in 0..<box.count {
            #expect(throws: BoxError.self) { try keys.open(Array(box[..<count]), kind: .member, dataset: "a") }
        }
        #expect(throws: BoxError.damaged) { try keys.open(box + [0], kind: .member, dataset: "a") }
    }

    @Test func nothingOfASecretIsPrinted() throws {
        let secret = Self.secret(1)
        let keys = try keys()
        for text in ["\(secret)", String(reflecting: secret), "\(keys)", String(reflecting: keys), "\(keys.cutKey)", String(reflecting: keys.cutKey)] {
            #expect(!text.contains("31") && !text.contains("0001") && text.count < 80)
        }
        var dumped = ""
        dump(keys, to: &dumped)
        dump(secret, to: &dumped)
        dump(keys.cutKey, to: &dumped)
        #expect(dumped.count < 200)
        #expect(EpochSecret.random(number: 4) != EpochSecret.random(number: 4))
        #expect(EpochSecret(number: 0, bytes: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(EpochSecret(number: 1, bytes: [UInt8](repeating: 0, count: 31)) == nil)
    }
}

/// The frozen vectors of docs/sealed.md, which a program in Python made.
@Suite struct SealedFixtureTests {
    private struct Vectors: Decodable {
        struct Box: Decodable {
            let epoch: UInt32
            let zone: String
            let kind: String
            let dataset: String
            let contents: String
            let box: String
        }
        struct Cut: Decodable {
            let key: String
            let h: String
        }
        let cloud: String
        let secrets: [String: String]
        let boxes: [Box]
        let cuts: [Cut]?
        let lengths: [[Int]]?
        let wraps: [Wrap]?
    }

    private struct Wrap: Decodable {
        let epoch: UInt32
        let zone: String
        let seed: String
        let secret: String
        let wrap: String
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private func vectors(_ folder: String) throws -> Vectors {
        let root = Repository.root
        return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: root.appendingPathComponent("Fixtures/\(folder)/boxes.json")))
    }

    private func secrets(_ vectors: Vectors) throws -> [EpochSecret] {
        try vectors.secrets.map { number, hex in try #require(UInt32(number).flatMap { EpochSecret(number: $0, bytes: Self.bytes(hex)) }) }
    }

    @Test(arguments: [("sealed-1", 6), ("sealed-2", 5)]) func theBoxesHold(folder: String, count: Int) throws {
        let vectors = try vectors(folder), secrets = try secrets(vectors)
        #expect(vectors.boxes.count == count)
        for vector in vectors.boxes {
            let keys = try BoxKeys(cloud: vectors.cloud, zone: vector.zone, epochs: secrets, isPadded: folder == "sealed-2")
            let kind = try #require(BoxKind(rawValue: vector.kind))
            let contents = Self.bytes(vector.contents), box = Self.bytes(vector.box)
            #expect(try keys.open(box, kind: kind, dataset: vector.dataset) == contents)
            #expect(try keys.sealing(inEpoch: vector.epoch)?.seal(contents, kind: kind, dataset: vector.dataset) == box)
        }
    }

    @Test func theCutsHold() throws {
        let vectors = try vectors("sealed-1"), cuts = try #require(vectors.cuts)
        let cutKey = try BoxKeys(cloud: vectors.cloud, zone: "private/main", epochs: secrets(vectors)).cutKey
        #expect(cuts.count == 8)
        for cut in cuts { #expect(Array(cut.key.utf8).withUnsafeBytes { cutKey.hash($0) } == UInt64(cut.h, radix: 16), "\(cut.key)") }
    }

    @Test func paddingAndXWingHold() throws {
        let vectors = try vectors("sealed-2")
        let lengths = try #require(vectors.lengths), wraps = try #require(vectors.wraps)
        for pair in lengths { #expect(Padding.length(pair[0]) == pair[1], "\(pair)") }
        #expect(lengths.count == 20 && wraps.count == 1)
        for vector in wraps {
            let wrap = try #require(EpochWrap(Data(Self.bytes(vector.wrap)))), secret = EpochSecret(number: vector.epoch, bytes: Self.bytes(vector.secret))
            #expect(wrap.publicByteCount == 1216)
            #expect(try wrap.secret(of: vector.epoch, by: Self.bytes(vector.seed), cloud: vectors.cloud, zone: vector.zone) == secret)
        }
    }
}
