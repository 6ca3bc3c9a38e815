import CloudStore
import RecordZones
import Foundation
import StrictText

extension ContractCheck {
    /// Assets: complete, immutable, and stored before a commit names them.
    static let assets: [ContractCheck] = [
        ContractCheck("anAssetAndItsIndexComeBackByteForByte") { test in
            try await test.makeZone(.one)
            let asset = try await test.asset(someBytes, index: someIndex, rawByteCount: someBytes.count * 3)
            // A constant of its own: the optimiser of Swift 6.3.1 crashes if the condition below reads the optional.
            let indexByteCount = asset.index?.byteCount
            try test.expect(
                asset.byteCount == someBytes.count && asset.rawByteCount == someBytes.count * 3 && indexByteCount == someIndex.count,
                "the asset's sizes: \(asset)")
            let parts = asset.path.exact.split(separator: "/")
            try test.expect(
                parts.count == 3 && parts[0] == "assets" && parts[1] == "item" && parts[2].exact.hasPrefix("00000000000000000001-")
                    && parts[2].exact.hasSuffix(".json.gz"), "the asset's path: \(asset.path)")
            try await test.publish([test.item(asset)], after: nil)
            try test.expect(try await test.state().record("item")?.fields["dataFile"], is: .asset(asset), "the record's asset")
            try test.expect(try await test.content(of: asset) == someBytes, "the asset's bytes are others than were written")
            try test.expect(try await test.open(asset).index(), is: Data(someIndex), "the index")
        },
        ContractCheck("readersReadSideBySideAndNotBeyondTheEnd") { test in
            try await test.makeZone(.one)
            let reader = try await test.open(try await test.asset(someBytes))
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
            try test.expect(wrong, is: 0, "the pieces that came back wrong")
            var byte: [UInt8] = [0], piece: [UInt8] = [0, 0, 0]
            for offset in [someBytes.count, -1, Int.max] {
                // SAFETY: the buffers are used only within the closures.
                try await test.expect(.damaged, "a byte at \(offset)") { try byte.withUnsafeMutableBytes { try reader.read(into: $0, at: offset) } }
            }
            try await test.expect(.damaged, "bytes beyond the end") {
                try piece.withUnsafeMutableBytes { try reader.read(into: $0, at: someBytes.count - 2) }
            }
            try test.expect(try reader.index() == nil, "an asset without an index has one")
        },
        ContractCheck("anEmptyAssetIsAnAsset") { test in
            try await test.makeZone(.one)
            let asset = try await test.asset([], kind: .changes)
            try test.expect(asset.byteCount == 0 && asset.path.exact.hasSuffix(".changes.json.gz"), "the asset: \(asset)")
            try test.expect(try await test.content(of: asset), is: [], "its bytes")
        },
        ContractCheck("aWriterIsUsedOnce") { test in
            try await test.makeZone(.one)
            func writer() async throws -> any AssetWriter { try await test.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: ContractTest.zone) }
            let finished = try await writer()
            try finished.setIndex(Data(someIndex))
            try await test.expect(.invalidArguments, "a second index") { try finished.setIndex(Data(someIndex)) }
            let asset = try finished.finish(rawByteCount: 0)
            try await test.expect(.invalidArguments, "finishing twice") { _ = try finished.finish(rawByteCount: 0) }
            finished.abandon()
            _ = try await test.open(asset)
            let abandoned = try await writer()
            // SAFETY: the buffers are used only within the closures.
            try someBytes.withUnsafeBytes { try abandoned.write($0) }
            abandoned.abandon()
            try await test.expect(.invalidArguments, "writing after abandoning") { try someBytes.withUnsafeBytes { try abandoned.write($0) } }
            try await test.expect(.invalidArguments, "finishing an abandoned asset") { _ = try abandoned.finish(rawByteCount: 10) }
            try await test.expect(.invalidArguments, "an asset of version 0") {
                _ = try await test.cloud.newAsset(for: "item", number: 0, kind: .snapshot, in: ContractTest.zone)
            }
            try await test.expect(.zoneNotFound, "an asset without a zone") {
                _ = try await test.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: ZoneID("None"))
            }
        },
        ContractCheck("twoAttemptsAtOneNumberDoNotMeet") { test in
            try await test.makeZone(.one)
            let assets = [try await test.asset([1], number: 9), try await test.asset([2], number: 9)]
            try test.expect(assets[0].path != assets[1].path, "two assets have one path")
            for (asset, byte) in zip(assets, [UInt8(1), 2]) { try test.expect(try await test.content(of: asset), is: [byte], "an asset's bytes") }
        },
        ContractCheck("aRecordNamesItsOwnAssetsOnly") { test in
            try await test.makeZone(.one)
            let identity = try await test.cloud.identity()
            for asset in [try await test.asset(someBytes, record: "other"), try await test.asset(someBytes, number: 2)] {
                try await test.expect(.invalidArguments, "an asset of another record or version") { try await test.publish([test.item(asset)], after: nil) }
            }
            for path in [
                "../../cloud.json", "/etc/passwd", "assets/item/../item/00000000000000000001-0a1b2c3d.json.gz", "assets/item", "",
                "assets//00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000001-0a1b2c3d.json.gz/",
                "assets/item/1-0a1b2c3d.json.gz", "assets/item/00000000000000000001-0A1B2C3D.json.gz",
                "assets/.item/00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000000-0a1b2c3d.json.gz",
                "assets/item/00000000000000000001-0a1b2c3d.json.gz\u{0}",
            ] {
                let named = CloudAsset(path: path, byteCount: 1, rawByteCount: 1, sha256: String(repeating: "0", count: 64), index: nil)
                try await test.expect(.invalidArguments, "a record that names \(path)") { try await test.publish([test.item(named)], after: nil) }
                try await test.expect(.damaged, "opening \(path)") { _ = try await test.open(named) }
                await test.cloud.discard([named], in: ContractTest.zone)
            }
            try test.expect(try await test.cloud.identity(), is: identity, "the cloud's identity")
        },
        ContractCheck("aCommitNamesOnlyAssetsThatAreThere") { test in
            let zone = try await test.makeZone()
            let real = try await test.asset(Array("content".utf8))
            let missing = CloudAsset(
                path: "assets/item/00000000000000000001-00000000.json.gz", byteCount: 7, rawByteCount: 7, sha256: real.sha256, index: nil)
            let resized = CloudAsset(path: real.path, byteCount: 8, rawByteCount: 7, sha256: real.sha256, index: nil)
            for (asset, code) in [(missing, CloudError.Code.assetFileNotFound), (resized, .assetFileModified)] {
                let record = CloudRecord(type: "Item", name: "item", fields: ["file": .asset(asset)])
                try await test.expect(.unknownItem, "a commit that names it") { try await test.publish([record], after: nil) }
                try await test.expect(code, "a record that names it") { try await zone.save(record) }
            }
            try await test.expect(.pending, "opening what is not there") { _ = try await test.cloud.openAsset(missing, in: ContractTest.zone) }
        },
        ContractCheck("aRecordsAssetTravelsWithIt") { test in
            let zone = try await test.makeZone()
            var record = test.item(1)
            record.fields["file"] = .asset(try await zone.upload(Data("photo".utf8), for: "item"))
            try await zone.save(record)
            guard case .asset(let asset) = try await test.device("reader").record("item").fields["file"] else {
                return try test.expect(false, "the asset's field is gone")
            }
            try test.expect(try await test.device("reader").content(of: asset), is: Data("photo".utf8), "the content")
        },
    ]

    static let someBytes: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    static let someIndex = Array("{\"blocks\":[]}".utf8)
}
