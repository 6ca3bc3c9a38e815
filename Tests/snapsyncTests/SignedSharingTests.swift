import Foundation
import TestSupport
import Testing

/// `snapsync share` in a signed zone of the public scope: keys say who shares and comments, not rights on the store.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SignedSharingTests {
    private static let zone = "cloud/public/Shared"

    /// Anna has shared a project in a signed zone; Ben has asked, was approved, and has commented. Returns Anna's words.
    private func shared() throws -> (scene: SignedScene, words: String) {
        let scene = try SignedScene()
        try scene.succeed("generate --db phone.db --notifications 3 --buckets 1")
        try scene.succeed("init --db phone.db --cloud cloud --role writer --device phone")
        for (name, title) in [("garden", "Garden"), ("attic", "Attic")] {
            try scene.scene.scratch.write(#"{"id":"\#(name)","title":"\#(title)","items":[{"id":"1","title":"Dig"}]}"#, to: "\(name).json")
        }
        try scene.succeed("share publish --cloud cloud --device anna --signed --file garden.json --owner Anna")
        let members = try scene.json("share members --cloud cloud --device anna")
        return (scene, try #require(members["creator"] as? String))
    }

    private static let comment = "share comment --cloud cloud --device ben --project garden --name Ben --text Lovely!"

    /// A command of a device that is no member ends with 78, and leaves nothing but the request to be one.
    private func expectRequest(_ scene: SignedScene, _ line: String, saying fragments: [String], at location: SourceLocation = #_sourceLocation) throws {
        let run = try scene.run(line)
        #expect(run.status == 78 && fragments.allSatisfy(run.errorText.contains), "\(run.status) \(run.errorText)", sourceLocation: location)
    }

    private func approveBen(_ scene: SignedScene) throws {
        try expectRequest(scene, Self.comment, saying: ["ben has asked to be a member", "snapsync share approve ben"])
        try scene.succeed("share approve ben --yes --cloud cloud --device anna")
        try scene.succeed(Self.comment)
    }

    @Test func membersShareAndComment() throws {
        let (scene, words) = try shared()
        #expect(try String(decoding: scene.scene.scratch.read("\(Self.zone)/zone.json"), as: UTF8.self).contains("\"features\":[\"signed\"]"))
        try approveBen(scene)
        try scene.succeed("share publish --cloud cloud --device ben --file attic.json --owner Ben --trust \(words)")
        let list = try scene.json("share list --cloud cloud --trust \(words)")
        #expect((list["projects"] as? [[String: Any]])?.compactMap { $0["id"] as? String }.sorted() == ["attic", "garden"])
        #expect(try scene.succeed("share comments --cloud cloud --project garden").contains("Lovely!"))
        // The independent program finds the zone in order.
        #expect(try scene.verifyIndependently(words, zone: Self.zone).status == 0)
        let members = try scene.json("share members --cloud cloud --device ben")
        #expect((members["members"] as? [[String: Any]])?.compactMap { $0["device"] as? String } == ["anna", "ben"])
        // Through a database of a zone that is not signed, too: its device asks.
        try expectRequest(scene, "share publish --db phone.db --file garden.json --owner Phone", saying: ["phone has asked to be a member"])
        // Ben's own membership ends; what he has said stays.
        try scene.succeed("share dismiss ben --cloud cloud --device anna")
        try expectRequest(scene, Self.comment, saying: ["ben has asked to be a member"])
        #expect(try scene.succeed("share comments --cloud cloud --project garden").contains("Lovely!"))
        try scene.refuse("share dismiss anna --cloud cloud --device anna", exit: 78, saying: ["the last member that publishes"])
    }

    @Test func whatNoMemberHasSignedIsRefused() throws {
        let (scene, words) = try shared()
        try approveBen(scene)
        try scene.succeed("share dismiss ben --cloud cloud --device anna")
        try scene.keepCloud()
        let following = "ZONE = 'cloud/public/Shared'; number = newest(ZONE); "
        for (forgery, says) in [
            ("k = Keys(); put(following('anna', k, ZONE), k, ZONE)", "by another key than anna's"),
            ("k = Keys(); put(following('mallory', k, ZONE), k, ZONE)", "mallory, which signed the commit, was no member"),
            ("k = keys_of('ben'); put(following('ben', k, ZONE), k, ZONE)", "ben, which signed the commit, was no member"),
            ("k = keys_of('anna'); put(following('anna', k, ZONE), None, ZONE)", "the zone is signed, and this commit is not"),
            ("shutil.copy(commit_path(1, ZONE), commit_path(number + 1, ZONE))", "another number than its name"),
            ("p = commit_path(number, ZONE); flip(p, len(read(p)) - 40, 1)", "invalid signature"),
        ] {
            try scene.restoreCloud()
            try scene.forge(following + forgery)
            for line in [
                "share list --cloud cloud --trust \(words)", "share publish --cloud cloud --device anna --file attic.json --owner Anna",
                "share comments --cloud cloud --project garden",
            ] {
                let before = try scene.scene.cloudListing()
                try scene.refuse(line, exit: 65, saying: [says])
                #expect(try scene.scene.cloudListing() == before)
            }
        }
        // A device with keys is not talked out of it.
        try scene.restoreCloud()
        try scene.forge("p = 'cloud/public/Shared/zone.json'; m = json.load(open(p)); m['features'] = []; write(p, text(m))")
        for line in ["share publish --cloud cloud --device anna --file attic.json --owner Anna", "share comments --cloud cloud --project garden"] {
            try scene.refuse(line, exit: 65, saying: ["zone.json"])
        }
        // Another zone in its place, made and signed by somebody else, or not signed at all.
        try scene.restoreCloud()
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path(Self.zone))
        try scene.succeed("share publish --cloud cloud --device mallory --signed --file attic.json --owner Mallory")
        try scene.refuse("share list --cloud cloud --trust \(words)", exit: 65, saying: ["this device trusts \(words)"])
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path(Self.zone))
        try scene.refuse("share publish --cloud cloud --device anna --file attic.json --owner Anna", exit: 65, saying: ["not there any more"])
        try scene.succeed("share publish --cloud cloud --device stranger --file attic.json --owner Stranger")
        try scene.refuse("share list --cloud cloud --trust \(words)", exit: 78, saying: ["the zone is there, and it is not signed"])
        try scene.refuse("share publish --cloud cloud --device anna --signed --file attic.json --owner Anna", exit: 65, saying: ["not signed any more"])
        try scene.refuse("share members --cloud cloud", exit: 78, saying: ["it is not signed"])
    }
}
