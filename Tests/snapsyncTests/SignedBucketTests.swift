import Foundation
import TestSupport
import Testing

/// Signed and sealed zones in a bucket: the same documents, the same members, and a zone that is turned over.
@Suite(.runsPrograms, .enabled(if: BucketServer.isAvailable)) struct SignedBucketTests {
    private let bucket: BucketScene
    private let environment: [String: String]

    init() throws {
        bucket = try BucketScene()
        environment = BucketScene.keys.merging(["XDG_DATA_HOME": bucket.scene.scratch.path("keys")]) { $1 }
    }

    @discardableResult
    private func succeed(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try bucket.scene.succeed(line, environment: environment, at: location)
    }

    private func initialize(_ device: String, as role: String, _ rest: String = "") -> String {
        let options = "--endpoint \(bucket.server.endpoint) --name \(device) \(rest)"
        guard device == "desk" else { return Scene.join("\(device).db", at: bucket.location, as: role, options) }
        return Scene.setUp("desk.db", at: bucket.location, as: role, "--built-in \(options)")
    }

    private func contents(_ device: String) throws -> String { try bucket.scene.contents("\(device).db") }

    @Test func membersPublishAndSendMessagesInASignedZone() throws {
        try succeed("generate desk.db --notifications 20 --buckets 3")
        let made = try succeed(initialize("desk", as: "peer", "--sign"))
        let words = try #require(made.split(separator: "\n").first { $0.contains("the words of this device: ") }?.split(separator: " ").last)
        try succeed("sync desk.db")
        try succeed(initialize("laptop", as: "peer", "--trust \(words)"))
        try succeed(initialize("watch", as: "reader", "--trust \(words)"))
        for name in ["laptop", "watch"] { try succeed("sync \(name).db") }
        try succeed("generate watch.db --mark-read 2")
        // Until it is approved, what it publishes and sends does not count.
        try bucket.scene.database("laptop.db").run("UPDATE buckets SET name = 'by laptop' WHERE id = (SELECT min(id) FROM buckets)")
        try bucket.scene.refuse("sync laptop.db", exit: 78, saying: ["laptop is no member"], environment: environment)
        for name in ["laptop", "watch"] { try succeed("zone approve desk.db \(name) --yes") }
        for name in ["laptop", "watch", "desk", "watch", "laptop"] { try succeed("sync \(name).db") }
        for name in ["laptop", "watch"] { try #expect(contents(name) == contents("desk"), "\(name)") }
        #expect(try contents("desk").contains("by laptop"))
        for line in ["check watch.db --all-versions --local", "check laptop.db --all-versions --local"] {
            #expect(try succeed(line).contains("all is well"), "\(line)")
        }
        let status = try succeed("status watch.db")
        #expect(status.contains("signed by 3 members, creator \(words)") && status.contains("not sealed, and its location is a bucket: "), "\(status)")
        // Another device under the same words is not let in.
        try bucket.scene.refuse(
            initialize("other", as: "reader", "--trust lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk"), exit: 65,
            saying: ["the zone was made by the holder of the key \(words)"], environment: environment)
        try succeed("zone revoke desk.db laptop")
        try bucket.scene.database("laptop.db").run("UPDATE buckets SET name = 'later'")
        try bucket.scene.refuse("sync laptop.db", exit: 78, saying: ["laptop is no member"], environment: environment)
    }

    @Test func aZoneIsSealedAndItsReaderFollows() throws {
        try succeed("generate desk.db --notifications 20 --buckets 3")
        try succeed(initialize("desk", as: "writer"))
        try succeed("sync desk.db")
        try succeed(initialize("watch", as: "reader"))
        try succeed("sync watch.db")
        try succeed("generate watch.db --mark-read 2")
        #expect(try succeed("zone encrypt desk.db --prune-old").contains("were removed"))
        #expect(try bucket.scene.run("sync watch.db", environment: environment).status == 75)
        try succeed("zone approve desk.db watch --yes")
        for name in ["watch", "desk", "watch"] { try succeed("sync \(name).db") }
        try #expect(contents("watch") == contents("desk"))
        #expect(
            try bucket.scene.database("desk.db").run("SELECT count(*) FROM notifications WHERE readAt IS NOT NULL")
                == bucket.scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE readAt IS NOT NULL"))
        #expect(try succeed("check watch.db --all-versions --local").contains("all is well"))
        #expect(try succeed("check desk.db").contains("all is well"))
    }
}
