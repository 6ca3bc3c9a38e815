import CloudStore
import Foundation

extension ConformanceCheck {
    /// Assets: whole, immutable, named before they are shown.
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
        ConformanceCheck("anAssetIsReadAtAnyPlace") { trial in
            try await trial.makeZone()
            let reader = try await trial.cloud.openAsset(try await trial.asset(Array("0123456789".utf8)), in: ConformanceContext.zone)
            var piece = [UInt8](repeating: 0, count: 3)
            // SAFETY: the buffers are used only within the closures.
            try piece.withUnsafeMutableBytes { try reader.read(into: $0, at: 4) }
            try trial.expect(piece, is: Array("456".utf8), "the bytes from 4 on")
            try await trial.expect(.damaged, "bytes beyond the end") { try piece.withUnsafeMutableBytes { try reader.read(into: $0, at: 8) } }
        },
        ConformanceCheck("anIndexLiesBesideItsAsset") { trial in
            try await trial.makeZone()
            let asset = try await trial.asset(Array("content".utf8), index: Array("[1]".utf8))
            let reader = try await trial.cloud.openAsset(asset, in: ConformanceContext.zone)
            try trial.expect(try reader.index(), is: Data("[1]".utf8), "the index")
            let bare = try await trial.cloud.openAsset(try await trial.asset(Array("content".utf8)), in: ConformanceContext.zone)
            try trial.expect(try bare.index() == nil, "an asset without an index has one")
        },
        ConformanceCheck("anUnfinishedAssetIsNotThere") { trial in
            try await trial.makeZone()
            let writer = try await trial.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: ConformanceContext.zone)
            // SAFETY: the buffer is used only within the closure.
            try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try writer.write($0) }
            writer.abandon()
            try await trial.expect(.invalidArguments, "finishing an abandoned asset") { _ = try writer.finish(rawByteCount: 10) }
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
            let named = try await trial.asset(Array("named".utf8)), orphan = try await trial.asset(Array("orphan".utf8))
            try await trial.publish([CloudRecord(type: "Item", name: "item", fields: ["file": .asset(named)])], after: nil)
            await trial.cloud.discard([named, orphan], in: ConformanceContext.zone)
            try trial.expect(try await trial.content(of: named), is: Array("named".utf8), "the asset that a commit names")
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
}
