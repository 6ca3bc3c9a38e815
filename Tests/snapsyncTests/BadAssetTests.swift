import Foundation
import TestSupport
import Testing

/// Assets that are damaged, cut, swapped, oversized, missing, or not files at all.
@Suite(.runsPrograms) struct BadAssetTests {
    @Test func everyFlippedBitIsFound() throws {
        let cloud = try DamagedCloud()
        // The head of the block; EveryDamageTests tries other places.
        try cloud.refuse(saying: ["notifications", "hash"]) { try $0.edit(cloud.asset) { $0[90] ^= 0x10 } }
        try cloud.refuse(saying: [cloud.index.suffix(20).description, "the block index does not match its hash"]) { scratch in
            try scratch.edit(cloud.index) { $0[700] ^= 1 }
        }
        let size = try cloud.scene.scratch.read(cloud.commit).count
        try cloud.refuse(saying: ["commits/00000000000000000002.json"]) { try $0.edit(cloud.commit) { $0[size / 2] ^= 1 } }
    }

    @Test func cutAndLengthenedFilesAreFound() throws {
        let cloud = try DamagedCloud()
        let count = try cloud.scene.scratch.read(cloud.asset).count
        // Without its tail the file is still valid gzip.
        try cloud.refuse(saying: [cloud.name, "\(count - 24) bytes long, the commit says \(count)", "wait for it"]) {
            try $0.edit(cloud.asset) { $0 = $0.prefix(count - 24) }
        }
        try cloud.refuse(saying: [cloud.name, "\(count + 1) bytes long"]) { try $0.edit(cloud.asset) { $0.append(0) } }
        try cloud.refuse(saying: ["the block index does not match its hash"]) { try $0.edit(cloud.index) { $0 = $0.prefix(100) } }
        try cloud.refuse(saying: ["commits/00000000000000000002.json", "cut short or not a commit"]) {
            try $0.edit(cloud.commit) { $0 = $0.prefix(100) }
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
