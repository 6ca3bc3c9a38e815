import CloudStore
import Foundation
import StrictText

extension ConformanceCheck {
    /// Assets: complete, immutable, and stored before a commit names them.
    static let assets: [ConformanceCheck] = [
        ConformanceCheck("anAssetComesBackByteForByte") { trial in
            try await trial.makeZone()
            for count in [1, 2, 4095, 300_001] {
                let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
                let asset = try await trial.asset(content)
                try trial.expect(asset.byteCount, is: count, "the asset's size")
                try trial.expect(try await trial.content(of: asset) == content, "the asset's bytes are others than were written")
                let zone = trial.device("reader")
                try trial.expect(try await zone.content(of: asset) == Data(content), "the checked bytes are others than were written")
            }
        },
        ConformanceCheck("anAssetAndItsIndexComeBackByteForByte") { trial in
            try await trial.makeZone(.one)
            let asset = try await trial.asset(someBytes, index: someIndex, rawByteCount: someBytes.count * 3)
            // A constant of its own: the optimiser of Swift 6.3.1 crashes if the condition below reads the optional.
            let indexByteCount = asset.index?.byteCount
            try trial.expect(
                asset.byteCount == someBytes.count && asset.rawByteCount == someBytes.count * 3 && indexByteCount == someIndex.count,
                "the asset's sizes: \(asset)")
            let parts = asset.path.exact.split(separator: "/")
            try trial.expect(
                parts.count == 3 && parts[0] == "assets" && parts[1] == "item" && parts[2].exact.hasPrefix("00000000000000000001-")
                    && parts[2].exact.hasSuffix(".json.gz"), "the asset's path: \(asset.path)")
            try await trial.publish([trial.item(asset)], after: nil)
            try trial.expect(try await trial.state().record("item")?.fields["dataFile"], is: .asset(asset), "the record's asset")
            try trial.expect(try await trial.content(of: asset) == someBytes, "the asset's bytes are others than were written")
            try trial.expect(try await trial.open(asset).index(), is: Data(someIndex), "the index")
        },
        ConformanceCheck("readersReadSideBySideAndNotBeyondTheEnd") { trial in
            try await trial.makeZone(.one)
            let reader = try await trial.open(try await trial.asset(someBytes))
            let wrong = await withTaskGroup(of: Int.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        var wrong = 0
                        for step in 0..<50 {
                            let offset = (task * 7919 + step * 104_729) % (someBytes.count - 64)
                            var bytes = [UInt8](repeating: 0, count: 64)
                            // SAFETY: the buffer is used only within the closure.
                            try? bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: offset) }
                            if bytes != Array(someBytes[offset..<offset + 64]) { wrong += 1 }
                        }
                        return wrong
                    }
                }
                return await group.reduce(0, +)
            }
            try trial.expect(wrong, is: 0, "the pieces that came back wrong")
            var byte: [UInt8] = [0], piece: [UInt8] = [0, 0, 0]
            for offset in [someBytes.count, -1, Int.max] {
                // SAFETY: the buffers are used only within the closures.
                try await trial.expect(.damaged, "a byte at \(offset)") { try byte.withUnsafeMutableBytes { try reader.read(into: $0, at: offset) } }
            }
            try await trial.expect(.damaged, "bytes beyond the end") {
                try piece.withUnsafeMutableBytes { try reader.read(into: $0, at: someBytes.count - 2) }
            }
            try trial.expect(try reader.index() == nil, "an asset without an index has one")
        },
        ConformanceCheck("anEmptyAssetIsAnAsset") { trial in
            try await trial.makeZone(.one)
            let asset = try await trial.asset([], kind: .changes)
            try trial.expect(asset.byteCount == 0 && asset.path.exact.hasSuffix(".changes.json.gz"), "the asset: \(asset)")
            try trial.expect(try await trial.content(of: asset), is: [], "its bytes")
        },
        ConformanceCheck("aWriterIsUsedOnce") { trial in
            try await trial.makeZone(.one)
            func writer() async throws -> any AssetWriter {
                try await trial.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: ConformanceContext.zone)
            }
            let finished = try await writer()
            try finished.setIndex(Data(someIndex))
            try await trial.expect(.invalidArguments, "a second index") { try finished.setIndex(Data(someIndex)) }
            let asset = try finished.finish(rawByteCount: 0)
            try await trial.expect(.invalidArguments, "finishing twice") { _ = try finished.finish(rawByteCount: 0) }
            finished.abandon()
            _ = try await trial.open(asset)
            let abandoned = try await writer()
            // SAFETY: the buffers are used only within the closures.
            try someBytes.withUnsafeBytes { try abandoned.write($0) }
            abandoned.abandon()
            try await trial.expect(.invalidArguments, "writing after abandoning") { try someBytes.withUnsafeBytes { try abandoned.write($0) } }
            try await trial.expect(.invalidArguments, "finishing an abandoned asset") { _ = try abandoned.finish(rawByteCount: 10) }
            try await trial.expect(.invalidArguments, "an asset of version 0") {
                _ = try await trial.cloud.newAsset(for: "item", number: 0, kind: .snapshot, in: ConformanceContext.zone)
            }
            try await trial.expect(.zoneNotFound, "an asset without a zone") {
                _ = try await trial.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: ZoneID("None"))
            }
        },
        ConformanceCheck("twoAttemptsAtOneNumberDoNotMeet") { trial in
            try await trial.makeZone(.one)
            let assets = [try await trial.asset([1], number: 9), try await trial.asset([2], number: 9)]
            try trial.expect(assets[0].path != assets[1].path, "two assets have one path")
            for (asset, byte) in zip(assets, [UInt8(1), 2]) { try trial.expect(try await trial.content(of: asset), is: [byte], "an asset's bytes") }
        },
        ConformanceCheck("aRecordNamesItsOwnAssetsOnly") { trial in
            try await trial.makeZone(.one)
            let identity = try await trial.cloud.identity()
            for asset in [try await trial.asset(someBytes, record: "other"), try await trial.asset(someBytes, number: 2)] {
                try await trial.expect(.invalidArguments, "an asset of another record or version") { try await trial.publish([trial.item(asset)], after: nil) }
            }
            for path in [
                "../../cloud.json", "/etc/passwd", "assets/item/../item/00000000000000000001-0a1b2c3d.json.gz", "assets/item", "",
                "assets//00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000001-0a1b2c3d.json.gz/",
                "assets/item/1-0a1b2c3d.json.gz", "assets/item/00000000000000000001-0A1B2C3D.json.gz",
                "assets/.item/00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000000-0a1b2c3d.json.gz",
                "assets/item/00000000000000000001-0a1b2c3d.json.gz\u{0}",
            ] {
                let named = CloudAsset(path: path, byteCount: 1, rawByteCount: 1, sha256: String(repeating: "0", count: 64), index: nil)
                try await trial.expect(.invalidArguments, "a record that names \(path)") { try await trial.publish([trial.item(named)], after: nil) }
                try await trial.expect(.damaged, "opening \(path)") { _ = try await trial.open(named) }
                await trial.cloud.discard([named], in: ConformanceContext.zone)
            }
            try trial.expect(try await trial.cloud.identity(), is: identity, "the cloud's identity")
        },
        ConformanceCheck("aCommitNamesOnlyAssetsThatAreThere") { trial in
            let zone = try await trial.makeZone()
            let real = try await trial.asset(Array("content".utf8))
            let missing = CloudAsset(
                path: "assets/item/00000000000000000001-00000000.json.gz", byteCount: 7, rawByteCount: 7, sha256: real.sha256, index: nil)
            let resized = CloudAsset(path: real.path, byteCount: 8, rawByteCount: 7, sha256: real.sha256, index: nil)
            for (asset, code) in [(missing, CloudError.Code.assetFileNotFound), (resized, .assetFileModified)] {
                let record = CloudRecord(type: "Item", name: "item", fields: ["file": .asset(asset)])
                try await trial.expect(.unknownItem, "a commit that names it") { try await trial.publish([record], after: nil) }
                try await trial.expect(code, "a record that names it") { try await zone.save(record) }
            }
            try await trial.expect(.pending, "opening what is not there") { _ = try await trial.cloud.openAsset(missing, in: ConformanceContext.zone) }
        },
        ConformanceCheck("discardingSparesWhatACommitNames") { trial in
            try await trial.makeZone()
            let named = try await trial.asset(Array("named".utf8), index: someIndex), orphan = try await trial.asset(Array("orphan".utf8), index: someIndex)
            try await trial.publish([CloudRecord(type: "Item", name: "item", fields: ["file": .asset(named)])], after: nil)
            await trial.cloud.discard([named, orphan], in: ConformanceContext.zone)
            try trial.expect(try await trial.content(of: named), is: Array("named".utf8), "the asset that a commit names")
            try trial.expect(try await trial.open(named).index(), is: Data(someIndex), "its index")
            try await trial.expect(.pending, "the discarded asset") { _ = try await trial.cloud.openAsset(orphan, in: ConformanceContext.zone) }
        },
        ConformanceCheck("aRecordsAssetTravelsWithIt") { trial in
            let zone = try await trial.makeZone()
            var record = trial.item(1)
            record.fields["file"] = .asset(try await zone.upload(Data("photo".utf8), for: "item"))
            try await zone.save(record)
            guard case .asset(let asset) = try await trial.device("reader").record("item").fields["file"] else {
                return try trial.expect(false, "the asset's field is gone")
            }
            try trial.expect(try await trial.device("reader").content(of: asset), is: Data("photo".utf8), "the content")
        },
    ]

    static let someBytes: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    static let someIndex = Array("{\"blocks\":[]}".utf8)
}
