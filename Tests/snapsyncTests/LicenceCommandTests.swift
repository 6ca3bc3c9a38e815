import Foundation
import TestSupport
import Testing

/// From the vendor's key to a device that syncs, and what becomes of a licence that somebody has altered.
@Suite(.runsPrograms) struct LicenceCommandTests {
    private func sign(_ scene: Scene, _ rest: String) throws {
        if scene.scratch.exists("ann.licence") { try FileManager.default.removeItem(atPath: scene.scratch.path("ann.licence")) }
        try scene.succeed("licence sign --key vendor.key --product org.example.board --holder Ann --out ann.licence \(rest)")
    }

    @Test func licenceIsMadeCheckedAndPinned() throws {
        let scene = try Scene.phone()
        let made = try scene.json("licence key vendor.key")
        let key = try #require(made["publicKey"] as? String)
        #expect(made["isNew"] as? Bool == true)
        #expect(try scene.succeed("licence key vendor.key") == "vendor.key: public key \(key)\n")
        try sign(scene, "--until 2999-01-01T00:00:00Z")
        let good = try scene.scratch.read("ann.licence")
        #expect(
            try scene.succeed("licence check ann.licence --public-key \(key) --product org.example.board")
                == "ann.licence: Ann may sync with org.example.board, until 2999-01-01T00:00:00.000Z\n")
        try scene.refuse("licence sign --key vendor.key --product a --holder b --out ann.licence", exit: 78, saying: ["there is a file of that name"])
        try scene.refuse("licence check ann.licence --public-key \(key) --product org.example.food", exit: 78, saying: ["it is for org.example.board"])
        #expect(try scene.json("licence key other.key")["publicKey"] as? String != key)

        try scene.succeed(
            "init --db watch.db --cloud cloud --role reader --device watch --create --entitlement ann.licence --entitlement-key \(key)")
        try scene.succeed("sync --db watch.db")
        // What was altered, forged, or put there by hand entitles nobody, although the last answer was yes.
        try scene.scratch.write(String(decoding: good, as: UTF8.self).replacing("\"signature\":\"", with: "\"signature\":\"00"), to: "ann.licence")
        for words in ["this user is not entitled to sync", "ann.licence: it was altered, or was not signed with the key \(key)"] {
            try scene.refuse("sync --db watch.db", exit: 78, saying: [words])
        }
        try scene.refuse("licence check ann.licence --public-key \(key)", exit: 65, saying: ["it was altered"])
        try scene.scratch.write(#"{"validUntil":"2999-01-01T00:00:00Z"}"#, to: "ann.licence")
        try scene.refuse("sync --db watch.db", exit: 78, saying: ["it is not a licence file"])
        try FileManager.default.removeItem(atPath: scene.scratch.path("ann.licence"))
        try scene.refuse("sync --db watch.db", exit: 78, saying: ["the licence file cannot be read"])
        try sign(scene, "--until 2020-01-01T00:00:00Z")
        try scene.refuse("sync --db watch.db", exit: 78, saying: ["the entitlement ended at 2020-01-01T00:00:00.000Z"])
        try scene.refuse("licence check ann.licence --public-key \(key)", exit: 78, saying: ["the licence of Ann ended at 2020"])
        try sign(scene, "")
        try scene.succeed("sync --db watch.db")
        // Another vendor's key is another question.
        let other = try #require(try scene.json("licence key other.key")["publicKey"] as? String)
        try scene.succeed("enable --db watch.db --entitlement ann.licence --entitlement-key \(other)")
        try scene.refuse("sync --db watch.db", exit: 78, saying: ["was not signed with the key \(other)"])
    }
}
