import Foundation
import TestSupport
import Testing

extension Scene {
    /// Where the blocks of a snapshot asset lie, as its index says.
    func blocks(of asset: String) throws -> [(offset: Int, length: Int)] {
        let index = try #require(try JSONSerialization.jsonObject(with: scratch.read(asset.replacing(".json.gz", with: ".index.json"))) as? [String: Any])
        return try #require(index["blocks"] as? [[String: Any]]).map { (try #require($0["offset"] as? Int), try #require($0["length"] as? Int)) }
    }

    /// Changes bytes in the middle of blocks.
    func spoil(_ asset: String, blocks: [Int]) throws {
        let places = try self.blocks(of: asset)
        try scratch.edit(asset) { data in
            for block in blocks { for step in 0..<3 { data[places[block].offset + places[block].length / 2 + step] ^= 0x5A } }
        }
    }

    /// What `check` and `repair` report of a cloud with a damaged asset, with the headings of the page that describe it.
    static func repairReports() throws -> [([String: Any], String)] {
        let scene = try Scene.phone(notifications: 1500, buckets: 2)
        try scene.spoil(scene.asset("notifications"), blocks: [0])
        return try [("check cloud --read-data", "check --read-data --json"), ("repair cloud", "repair --json"), ("repair phone.db", "repair --json")].map {
            line, heading in
            let run = try scene.run(line + " --json")
            return (try #require(try JSONSerialization.jsonObject(with: run.output) as? [String: Any], "\(run.errorText)"), heading)
        }
    }
}
