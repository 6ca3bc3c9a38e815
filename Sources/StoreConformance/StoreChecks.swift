import CloudStore
import Foundation
import StrictText
import Synchronization

// Objects: stored once, never replaced, and removed by name.
extension StoreCheck {
    static let objects: [StoreCheck] = [
        StoreCheck("objectComesBackByteForByte") { test in
            for (number, count) in [0, 1, 1000, 1 << 20].enumerated() {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
                try test.expect(try test.store.put(bytes, as: test.path(number + 1)), is: .placed, "a free path")
                try test.expect(try test.store.get(test.path(number + 1), limit: 2 << 20) == bytes, "\(count) bytes come back")
                try test.expect(try test.store.size(of: test.path(number + 1)), is: count, "the size")
            }
        },
        StoreCheck("missingObjectIsNil") { test in
            try test.expect(try test.store.get(test.path(1), limit: 1000) == nil, "there is no such object")
            try test.expect(try test.store.size(of: test.path(1)), is: nil, "the size of no object")
        },
        StoreCheck("objectIsNeverReplaced") { test in
            _ = try test.store.put(Array("first".utf8), as: test.path(1))
            try test.expect(try test.store.put(Array("other".utf8), as: test.path(1)), is: .taken, "other bytes at the path")
            try test.expect(try test.store.put(Array("first".utf8), as: test.path(1)), is: .wasThere, "the same bytes at the path")
            try test.expect(try test.store.get(test.path(1), limit: 1000) == Array("first".utf8), "the first object stays")
        },
        StoreCheck("ofManyWritersOneWins") { test in
            for round in 1...5 {
                let won = Mutex<[Int]>([])
                DispatchQueue.concurrentPerform(iterations: 16) { writer in
                    if (try? test.store.put(Array("writer \(writer)".utf8), as: test.path(round))) == .placed { won.withLock { $0.append(writer) } }
                }
                let winners = won.withLock { $0 }
                try test.expect(winners.count == 1, "of 16 writers of one path, one wins, not \(winners.count)")
                try test.expect(try test.store.get(test.path(round), limit: 1000) == Array("writer \(winners[0])".utf8), "the winner's bytes are there")
            }
        },
        StoreCheck("objectBeyondTheLimitIsNotRead") { test in
            _ = try test.store.put([UInt8](repeating: 1, count: 100_001), as: test.path(1))
            try test.expect((try? test.store.get(test.path(1), limit: 100_000)) == nil, "an object of 100,001 bytes, of which 100,000 are allowed")
            try test.expect(try test.store.get(test.path(1), limit: 100_001)?.count, is: 100_001, "the limit itself")
        },
        StoreCheck("removalRemovesWhatIsNamed") { test in
            for number in 1...4 { _ = try test.store.put([1], as: test.path(number)) }
            try test.store.remove([test.path(1), test.path(3), test.path(9)])
            try test.expect(try test.store.paths("\(StoreTest.zone)/commits/"), is: [test.path(2), test.path(4)], "what is left")
            try test.expect(try test.store.put([2], as: test.path(1)), is: .placed, "a path that is free again")
        },
        StoreCheck("wrongClockIsRefused") { test in
            _ = try test.store.put([1], as: test.path(1))
            let now = try test.store.clock(in: StoreTest.zone)
            for days in [-1, 1] {
                let wrong = now.advanced(byMicroseconds: Int64(days) * 86_460_000_000)
                try test.expect((try? test.store.put([1], as: test.path(2), clock: wrong, in: StoreTest.zone)) == nil, "a clock \(days) days off")
            }
            try test.expect(try test.store.size(of: test.path(2)), is: nil, "what was refused is not stored")
            try test.expect(try test.store.put([1], as: test.path(2), clock: now, in: StoreTest.zone), is: .placed, "the right clock")
        },
    ]
}

// Listings: complete, sorted, and by the store's own clock.
extension StoreCheck {
    static let listings: [StoreCheck] = [
        StoreCheck("listingIsCompleteAndSorted") { test in
            let numbers = [7, 1, 12, 3, 1000]
            for number in numbers { _ = try test.store.put([UInt8](repeating: 1, count: number), as: test.path(number)) }
            _ = try test.store.put([1], as: "\(StoreTest.zone)/checkpoints/00000000000000000001.json")
            let expected = numbers.sorted().map(test.path), folder = "\(StoreTest.zone)/commits/"
            try test.expect(try test.store.list(folder, first: nil).map(\.path), is: expected, "the objects of a folder")
            try test.expect(try test.store.list(folder, first: nil).map(\.byteCount), is: numbers.sorted(), "their sizes")
            try test.expect(try test.store.paths(folder), is: expected, "their paths")
            try test.expect(try test.store.list(folder, first: 2).map(\.path), is: Array(expected.prefix(2)), "the first two")
            try test.expect(try test.store.list("\(StoreTest.zone)/devices/", first: nil).count, is: 0, "an empty folder")
            let messages = ["a", "b"].map { "\(StoreTest.zone)/messages/\($0)/00000000000000000000000000000001.json" }
            for path in messages { _ = try test.store.put([1], as: path) }
            try test.expect(try test.store.paths("\(StoreTest.zone)/messages/"), is: messages, "the objects of all subfolders")
            if let folder = try test.store.listFolder("\(StoreTest.zone)/messages/") {
                try test.expect(folder.objects.count, is: 0, "the objects of the folder itself")
                try test.expect(folder.folders, is: ["a/", "b/"], "its subfolders")
            }
        },
        StoreCheck("zonesAreFound") { test in
            for zone in ["private/One", "private/Two"] { _ = try test.store.put([1], as: "\(zone)/zone.json") }
            try test.expect(Set(try test.store.zoneNames(in: .private)).isSuperset(of: ["One", "Two"]), "both zones")
        },
        StoreCheck("objectIsAsOldAsTheClockSays") { test in
            _ = try test.store.put([1], as: test.path(1))
            let before = try test.store.clock(in: StoreTest.zone)
            _ = try test.store.put([1], as: test.path(2))
            let after = try test.store.clock(in: StoreTest.zone)
            for object in try test.store.list("\(StoreTest.zone)/commits/", first: nil) where object.path == test.path(2) {
                // A server's clock may tell no fractions of a second.
                let early = before.advanced(byMicroseconds: -2_000_000), late = after.advanced(byMicroseconds: 2_000_000)
                try test.expect((early...late).contains(object.modified), "stored at \(object.modified), between \(before) and \(after)")
            }
        },
    ]
}

// Assets: written in pieces, visible when they are finished, and read at any offset.
extension StoreCheck {
    static let assets: [StoreCheck] = [
        StoreCheck("assetComesBackByteForByte") { test in
            let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let asset = try test.write(content, index: Array("index".utf8))
            let reader = try test.store.reader(of: asset, in: StoreTest.zone)
            try test.expect(reader.byteCount, is: content.count, "the size")
            var bytes = [UInt8](repeating: 0, count: 1000)
            for offset in [299_000, 0, 123_456] {
                // SAFETY: the buffer is used only within the closure.
                try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: offset) }
                try test.expect(bytes == Array(content[offset..<offset + 1000]), "the bytes from \(offset) on")
            }
            try test.expect(try reader.index(), is: Data("index".utf8), "the index")
        },
        StoreCheck("unfinishedAssetIsInvisible") { test in
            guard let path = AssetPath("assets/item/00000000000000000001-0a1b2c3d.json.gz") else { return }
            let writer = test.store.writer(at: path, in: StoreTest.zone)
            // SAFETY: the buffer is used only within the closure.
            try [UInt8](repeating: 1, count: 1000).withUnsafeBytes { try writer.write($0) }
            try test.expect(try test.store.size(of: "\(StoreTest.zone)/\(path.path)"), is: nil, "before it is finished")
            writer.abandon()
            try test.expect(try test.store.size(of: "\(StoreTest.zone)/\(path.path)"), is: nil, "after it was abandoned")
        },
        StoreCheck("assetOfAnotherSizeIsRefused") { test in
            let asset = try test.write(Array("content".utf8), index: nil)
            let other = CloudAsset(path: asset.path, byteCount: asset.byteCount + 1, rawByteCount: 1, sha256: asset.sha256, index: nil)
            try test.expect((try? test.store.reader(of: other, in: StoreTest.zone)) == nil, "a commit that states another size")
        },
    ]
}

extension StoreTest {
    /// Writes an asset in two pieces.
    func write(_ content: [UInt8], index: [UInt8]?) throws -> CloudAsset {
        guard let path = AssetPath("assets/item/00000000000000000001-0a1b2c3d.json.gz") else { throw BrokenPromise(reason: "no path", line: #line) }
        let writer = store.writer(at: path, in: Self.zone), half = content.count / 2
        if let index { try writer.setIndex(Data(index)) }
        // SAFETY: the buffers are used only within the closures.
        try content[..<half].withUnsafeBytes { try writer.write($0) }
        try content[half...].withUnsafeBytes { try writer.write($0) }
        return try writer.finish(rawByteCount: content.count)
    }
}
