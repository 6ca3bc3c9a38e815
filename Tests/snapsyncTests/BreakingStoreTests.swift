import Foundation
import TestSupport
import Testing

/// Stores that let two writers have one key. A cloud in such a store has one publisher, or none.
///
/// rclone ignores the condition of a `PUT`. Moto keeps it for one writer after another, and lets several win a race.
@Suite(.runsPrograms) struct BreakingStoreTests {
    @Test(.enabled(if: BucketServer.rclone.isAvailable)) func storeWithoutTheConditionIsFoundOut() throws {
        try findOut(BucketServer.rclone.get(), saying: "a second PUT to one key gets 200, and the first object is gone")
    }

    @Test(.enabled(if: BucketServer.moto.isAvailable)) func storeWhoseRaceHasTwoWinnersIsFoundOut() throws {
        try findOut(BucketServer.moto.get(), saying: "rounds not exactly one of 16 writers of one key won")
    }

    private func findOut(_ server: BucketServer, saying words: String) throws {
        let devices = try BucketScene(server)
        try devices.succeed("generate phone.db --notifications 5 --buckets 2")
        try devices.succeed("generate desk.db --notifications 1 --buckets 1")
        let before = try devices.scene.contents("desk.db")
        // Several publishers are refused, in a new cloud and in one that another device has made.
        let place = "\(devices.location) --endpoint \(server.endpoint)"
        func refuse(_ line: String, at location: SourceLocation = #_sourceLocation) throws {
            let run = try devices.run(line)
            let isRefused = run.status == 78 && run.errorText.contains(words) && run.errorText.contains("init without --peers")
            #expect(isRefused, "\(run.errorText)", sourceLocation: location)
        }
        try refuse("init desk.db \(place) --peers --built-in --name desk")
        #expect(try devices.keys().isEmpty, "a refused set-up leaves nothing")
        let setUp = try devices.succeed("init phone.db \(place) --built-in --name phone")
        #expect(setUp.contains("warning: the store does not keep what a location needs: ") && setUp.contains(words), "\(setUp)")
        try refuse("init desk.db \(place) --peers --built-in --name desk")
        #expect(try devices.scene.contents("desk.db") == before)
        // One publisher and its readers are well, and are warned.
        try devices.succeed("sync phone.db")
        try devices.succeed("join watch.db \(place) --name watch")
        try devices.succeed("sync watch.db")
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"))
        let check = try devices.run("check phone.db --json")
        #expect(try check.status == 78 && severities(of: check, saying: words) == ["warning"], "\(check.text)")

        // A zone of several publishers that is moved there stays where it was.
        try devices.succeed("init one.db there --peers --built-in --name one")
        try devices.succeed("sync one.db")
        let copy = "s3://\(devices.bucket)/moved?endpoint=\(server.endpoint)"
        try devices.succeed("copy there \(copy)")
        try refuse("device move one.db \(copy)")
        #expect(try devices.succeed("status one.db").contains(devices.scene.scratch.path("there")))
        let moved = try devices.run("check one.db --json --location \(copy)")
        #expect(try moved.status == 78 && severities(of: moved, saying: words) == ["error"], "\(moved.text)")
    }

    /// The severities of the findings of `check` that contain words.
    private func severities(of run: ProgramRun, saying words: String) throws -> [String] {
        let report = try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any]
        let findings = try #require(report?["findings"] as? [[String: Any]])
        return findings.filter { ($0["found"] as? String)?.contains(words) == true }.compactMap { $0["severity"] as? String }
    }
}
