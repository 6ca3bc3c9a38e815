import Foundation
import TestSupport
import Testing

/// Assets that are damaged, cut, swapped, oversized, missing, or not files at all.
@Suite(.runsPrograms) struct BadAssetTests {
    @Test func everyFlippedBitIsFound() throws {
        let cloud = try DamagedCloud()
        let count = try cloud.scene.scratch.read(cloud.asset).count
        // The header's member, the block's head and body, and the tail's member. EveryDamageTests tries other places.
        for offset in [3, 90, count / 2, count - 20] {
            try cloud.refuse(saying: ["notifications", "hash"]) { scratch in
                try scratch.edit(cloud.asset) { $0[offset] ^= 0x10 }
            }
        }
        try cloud.refuse(saying: [cloud.index.suffix(20).description, "the block index does not match its hash"]) { scratch in
            try scratch.edit(cloud.index) { $0[700] ^= 1 }
        }
        let size = try cloud.scene.scratch.read(cloud.commit).count
        for offset in [30, size / 2] {
            try cloud.refuse(saying: ["commits/00000000000000000002.json"]) { try $0.edit(cloud.commit) { $0[offset] ^= 1 } }
        }
    }

    @Test func cutAndLengthenedFilesAreFound() throws {
        let cloud = try DamagedCloud()
        let count = try cloud.scene.scratch.read(cloud.asset).count
        // Without its tail the file is still valid gzip.
        for length in [0, count / 2, count - 24] {
            try cloud.refuse(saying: [cloud.name, "\(length) bytes long, the commit says \(count)", "wait for it"]) {
                try $0.edit(cloud.asset) { $0 = $0.prefix(length) }
            }
        }
        try cloud.refuse(saying: [cloud.name, "\(count + 1) bytes long"]) { try $0.edit(cloud.asset) { $0.append(0) } }
        for length in [0, 100] {
            try cloud.refuse(saying: ["the block index does not match its hash"]) { try $0.edit(cloud.index) { $0 = $0.prefix(length) } }
            try cloud.refuse(saying: ["commits/00000000000000000002.json", "cut short or not a commit"]) {
                try $0.edit(cloud.commit) { $0 = $0.prefix(length) }
            }
        }
    }

    @Test func filesInTheWrongPlaceAreFound() throws {
        let cloud = try DamagedCloud()
        let assets = try FileManager.default.contentsOfDirectory(atPath: cloud.scene.scratch.path(cloud.folder)).sorted()
        let older = try #require(assets.first { $0.hasPrefix("00000000000000000001") && $0.hasSuffix(".json.gz") })
        let buckets = try cloud.scene.asset("buckets")
        for other in ["\(cloud.folder)/\(older)", buckets] {
            try cloud.refuse(saying: [cloud.name]) { try $0.write($0.read(other), to: cloud.asset) }
        }
        // Of the right length, too: the blocks of another version.
        try cloud.refuse(saying: ["notifications", "hash"]) { scratch in
            let count = try scratch.read(cloud.asset).count
            try scratch.edit("\(cloud.folder)/\(older)") { $0 = ($0 + Data(count: count)).prefix(count) }
            try scratch.write(scratch.read("\(cloud.folder)/\(older)"), to: cloud.asset)
        }
        try cloud.refuse(saying: ["the block index does not match its hash"]) {
            try $0.write($0.read("\(cloud.folder)/\(older.replacing(".json.gz", with: ".index.json"))"), to: cloud.index)
        }
        try cloud.refuse(saying: ["commits/00000000000000000002.json", "the commit says another number than its name"]) {
            try $0.write($0.read("\(Scene.zone)/commits/00000000000000000001.json"), to: cloud.commit)
        }
    }

    @Test func fileThatHasNotArrivedIsPending() throws {
        let cloud = try DamagedCloud()
        for file in [cloud.asset, cloud.index] {
            try cloud.refuse(exit: 75, saying: [URL(fileURLWithPath: file).lastPathComponent, "the file has not arrived yet", "wait for the sync tool"]) {
                try FileManager.default.removeItem(atPath: $0.path(file))
            }
        }
        // It arrives; the same command goes on.
        try cloud.scene.scratch.copy(cloud.scene.scratch.path(cloud.index.replacing("cloud/", with: "good/")), to: cloud.index)
        try cloud.scene.succeed("import watch.db")
        #expect(try cloud.scene.contents("watch.db") == cloud.scene.contents("phone.db"))
    }

    @Test func onlyPlainFilesAreOpened() throws {
        let cloud = try DamagedCloud()
        for file in [cloud.asset, cloud.index, cloud.commit, "cloud/cloud.json", "\(Scene.zone)/zone.json"] {
            let name = URL(fileURLWithPath: file).lastPathComponent
            try cloud.refuse(saying: [name]) { scratch in
                // The same bytes, but by way of a link.
                try FileManager.default.moveItem(atPath: scratch.path(file), toPath: scratch.path("cloud/moved"))
                try FileManager.default.createSymbolicLink(atPath: scratch.path(file), withDestinationPath: scratch.path("cloud/moved"))
            }
            try cloud.refuse(saying: [name]) { scratch in
                try FileManager.default.removeItem(atPath: scratch.path(file))
                try FileManager.default.createDirectory(atPath: scratch.path(file), withIntermediateDirectories: false)
            }
            try cloud.refuse(saying: [name, "not a plain file"]) { scratch in
                // A pipe that nobody writes to must not be waited for.
                try FileManager.default.removeItem(atPath: scratch.path(file))
                #expect(mkfifo(scratch.path(file), 0o600) == 0)
            }
        }
        for folder in ["cloud/private", Scene.zone, "\(Scene.zone)/commits", cloud.folder] {
            try cloud.refuse(saying: [URL(fileURLWithPath: folder).lastPathComponent]) { scratch in
                try FileManager.default.moveItem(atPath: scratch.path(folder), toPath: scratch.path("elsewhere"))
                try FileManager.default.createSymbolicLink(atPath: scratch.path(folder), withDestinationPath: scratch.path("elsewhere"))
            }
            try FileManager.default.removeItem(atPath: cloud.scene.scratch.path("elsewhere"))
        }
    }

    @Test func verifyNamesEveryDamagedBlock() throws {
        let scene = try Scene.phone(notifications: 3000, buckets: 3)
        let asset = try scene.asset("notifications")
        let index = try #require(try JSONSerialization.jsonObject(with: scene.scratch.read(asset.replacing(".json.gz", with: ".index.json"))) as? [String: Any])
        let blocks = try #require(index["blocks"] as? [[String: Any]])
        #expect(blocks.count > 3)
        let offset = try #require(blocks[2]["offset"] as? Int)
        try scene.scratch.edit(asset) { $0[offset + 500] ^= 4 }
        try scene.scratch.edit(scene.asset("buckets")) { $0[100] ^= 4 }
        let good = try scene.contents("phone.db")

        let run = try scene.run("check cloud --read-data")
        #expect(run.status == 65 && run.errorText == "")
        let lines = run.text.split(separator: "\n")
        #expect(lines.count == 3 && lines.last == "2 problems", "\(run.text)")
        #expect(lines[0].hasPrefix("damaged: version 1, buckets_data (assets/buckets_data/00000000000000000001-"))
        #expect(lines[1].contains("notifications_data (assets/notifications_data/") && lines[1].contains("hint: "), "\(lines[1])")

        // What check says, show says, and prints nothing behind the block before.
        let shown = try scene.run("show cloud notifications")
        #expect(shown.status == 65)
        #expect(shown.errorText.contains("block 2 of notifications_data@1") && shown.errorText.contains("do not match the hash"), "\(shown.errorText)")
        let whole = Data(shown.output)
        #expect(!whole.isEmpty && !String(decoding: whole, as: UTF8.self).hasSuffix("]}\n"))

        // The writer has the data: its next export of what changed mends the version.
        try scene.database("phone.db").run(
            "UPDATE notifications SET body = 'new' WHERE id = (SELECT min(id) FROM notifications); UPDATE buckets SET color = '#000'")
        let mended = try scene.run("export phone.db")
        #expect(mended.status == 0 && mended.errorText.contains("is damaged; writing all blocks anew"), "\(mended.errorText)")
        try scene.succeed("check cloud --read-data")
        let all = try scene.run("check cloud --all-versions")
        #expect(all.status == 65 && all.text.contains("version 1, notifications_data"))
        try scene.succeed("join watch.db cloud")
        try scene.succeed("import watch.db")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.contents("watch.db") != good)
    }
}
