import Foundation
import TestSupport
import Testing

/// Forks of two and more commits a side, which a tool that replicates folders has mixed: `repair` decides by hashes which commits stand.
@Suite(.runsPrograms) struct MixedForkTests {
    private static let old = "sync-conflict-20260301-081500-OLDOLDO", new = "sync-conflict-20260302-081500-NEWNEWN"

    private func commit(_ number: Int, _ aside: String? = nil) -> String { "0000000000000000000\(number)\(aside.map { ".\($0)" } ?? "").json" }
    private func commits(_ scene: Scene, _ cloud: String = "one") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("\(cloud)/private/ZentikSyncZone/commits")).sorted()
    }
    private func move(_ name: String, to other: String, in cloud: String = "one", _ scene: Scene) throws {
        let folder = scene.scratch.path("\(cloud)/private/ZentikSyncZone/commits/")
        try FileManager.default.moveItem(atPath: folder + name, toPath: folder + other)
    }

    /// Publishes so many versions at each peer, each in its own copy of the folder.
    private func publish(_ scene: Scene, desk: Int, laptop: Int) throws {
        for (name, count, key) in [("desk", desk, "min(id)"), ("laptop", laptop, "max(id)")] where count > 0 {
            for number in 1...count {
                try scene.database("\(name).db").run(
                    "UPDATE notifications SET title = '\(name) \(number)', body = hex(randomblob(4)) WHERE id = (SELECT \(key) FROM notifications)")
                try scene.succeed("sync --db \(name).db")
            }
        }
    }

    /// Makes `two` what `one` is, as a tool does that brings everything over.
    private func carry(_ source: String, to target: String, _ scene: Scene) throws {
        try FileManager.default.removeItem(atPath: scene.scratch.path(target))
        try scene.scratch.copy(scene.scratch.path(source), to: target)
    }

    /// Syncs each peer in turn, the tool between them, and sees that both have both edits and nothing is left to do.
    private func expectHealed(_ scene: Scene, desk: String, laptop: String, at location: SourceLocation = #_sourceLocation) throws {
        for _ in 0..<2 {
            try carry("one", to: "two", scene)
            try scene.succeed("sync --db laptop.db", at: location)
            try carry("two", to: "one", scene)
            try scene.succeed("sync --db desk.db", at: location)
        }
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"), sourceLocation: location)
        let titles = "SELECT (SELECT title FROM notifications ORDER BY id LIMIT 1) || ', ' || (SELECT title FROM notifications ORDER BY id DESC LIMIT 1)"
        #expect(try scene.value(titles, in: "desk.db") == "\(desk), \(laptop)", sourceLocation: location)
        for line in ["verify --all --local --db desk.db", "verify --local --db laptop.db"] {
            #expect(try scene.succeed(line, at: location).hasSuffix("all is well\n"), sourceLocation: location)
        }
        let diagnosis = try scene.doctor("--db desk.db", exit: 0, at: location)
        #expect(
            diagnosis.about("forks").allSatisfy { $0.severity == "notice" } && diagnosis.about("commits").map(\.severity) == ["ok"], sourceLocation: location)
    }

    @Test func hintNamesTheCopyThatTheLaterCommitsFollow() throws {
        let scene = try Scene()
        // An old fork, healed, whose copy still lies there.
        try scene.peersWithCopies()
        try publish(scene, desk: 1, laptop: 1)
        try scene.replicate("one", "two", conflict: Self.old)
        try scene.succeed("sync --db laptop.db")
        try scene.replicate("one", "two", conflict: "unused")
        try scene.succeed("sync --db desk.db")
        // Then a long one: desk's fourth commit stands before laptop's fifth.
        try publish(scene, desk: 1, laptop: 2)
        try scene.replicate("one", "two", conflict: Self.new)
        let mixed = [commit(1), commit(2), commit(2, Self.old), commit(3), commit(4), commit(4, Self.new), commit(5)]
        #expect(try commits(scene) == mixed)

        for line in ["sync --db desk.db", "status --db desk.db"] {
            let run = try scene.run(line)
            #expect(
                run.status == 65 && run.errorText.contains("commits/\(commit(4, Self.new)) is another commit 4, by laptop")
                    && run.errorText.contains("snapsync repair"), "\(run.errorText)")
            #expect(!run.errorText.contains(Self.old))
        }
        for line in ["--db desk.db", "--db laptop.db", "--cloud one"] {
            let diagnosis = try scene.doctor(line, exit: 65)
            let found = try #require(diagnosis.about("commits").first)
            #expect(
                found.severity == "error" && found.found.contains("commits/\(commit(4, Self.new))")
                    && found.remedy?.contains("snapsync repair \(line.hasPrefix("--db") ? "--db" : "--cloud")") == true)
            // The old fork is healed, and nobody is sent to laptop, whose sync has nothing to do.
            #expect(diagnosis.about("forks").map(\.severity) == ["notice"] && diagnosis.about("rollback").isEmpty, "\(diagnosis.notable)")
        }

        let before = try FileListing(of: scene.scratch.path("one"))
        let dry = try scene.succeed("repair --dry-run --db desk.db")
        #expect(
            dry.hasPrefix(
                "would give commits/\(commit(4, Self.new)), by laptop, its plain name, commits/\(commit(4)), for the later commits follow it; the commit that has the name would become commits/00000000000000000004.snapsync-fork-"
            ), "\(dry)")
        #expect(try FileListing(of: scene.scratch.path("one")).entries == before.entries)
        let repaired = try scene.json("repair --db desk.db")
        let mended = try #require((repaired["mended"] as? [[String: Any]])?.first)
        #expect(mended["kind"] as? String == "fork" && mended["file"] as? String == "commits/\(commit(4))" && (repaired["lost"] as? [Any])?.isEmpty == true)
        #expect(try commits(scene).count == mixed.count && !commits(scene).contains(commit(4, Self.new)))
        #expect(try scene.succeed("repair --db desk.db") == "nothing to mend: every file is as its commit says\n")
        #expect(try scene.succeed("history --cloud one").contains("fork: two devices published version 4, and the one by desk of "))
        try scene.succeed("sync --db desk.db")
        try expectHealed(scene, desk: "desk 1", laptop: "laptop 2")
    }

    /// Three commits on both sides; the tool took desk's second, laptop's third and desk's or laptop's fourth.
    @Test(arguments: ["desk", "laptop"]) func newestCommitUnderAPlainNameDecides(_ newest: String) throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        try publish(scene, desk: 3, laptop: 3)
        try scene.replicate("one", "two", conflict: Self.new)
        for number in newest == "desk" ? [3] : [3, 4] {
            for cloud in ["one", "two"] {
                try move(commit(number), to: commit(number, "desk"), in: cloud, scene)
                try move(commit(number, Self.new), to: commit(number), in: cloud, scene)
            }
        }
        let text = try scene.succeed("repair --db laptop.db")
        #expect(text.contains("gave commits/\(newest == "desk" ? commit(3, "desk") : commit(2, Self.new)), by \(newest), its plain name"), "\(text)")
        #expect(text.contains("\n1 file mended\n"))
        try carry("two", to: "one", scene)
        try scene.succeed("sync --db desk.db")
        try expectHealed(scene, desk: "desk 3", laptop: "laptop 3")
    }

    @Test func repairThatEndedHalfwayIsGoneOnWith() throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        try publish(scene, desk: 2, laptop: 3)
        try scene.replicate("one", "two", conflict: Self.new)
        // The first file has made room, and the run has ended before the copy got the name.
        try move(commit(2), to: commit(2, "snapsync-fork-00000000"), scene)
        try move(commit(2, Self.new), to: commit(2), scene)
        try move(commit(3), to: commit(3, "snapsync-fork-00000000"), scene)
        try scene.succeed("repair --cloud one")
        try scene.succeed("sync --db desk.db")
        try expectHealed(scene, desk: "desk 2", laptop: "laptop 3")
    }

    /// The commit that the newest one stands on is nowhere: nothing is certain, nothing is changed, and docs/writers.md says what to do by hand.
    @Test func whatIsNotCertainIsRefusedAndCanBeDoneByHand() throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        try publish(scene, desk: 1, laptop: 2)
        try scene.replicate("one", "two", conflict: nil)
        let before = try FileListing(of: scene.scratch.path("one"))
        for line in ["repair --db desk.db", "repair --dry-run --cloud one"] {
            let run = try scene.run(line)
            #expect(
                run.status == 65 && run.text.contains("lost: commits/\(commit(3))")
                    && run.text.contains("commit 3, by laptop, stands on a commit 2 that lies nowhere"), "\(run.text)\(run.errorText)")
        }
        #expect(try FileListing(of: scene.scratch.path("one")).entries.filter { !$0.key.contains("snapsync-lock") } == before.entries)
        try scene.expectFinding("error", "commits", "--db desk.db", exit: 65, saying: ["lies nowhere"], remedy: "other device's copy")
        let sync = try scene.run("sync --db desk.db")
        #expect(sync.status == 65 && sync.errorText.contains("commit was made after another parent"), "\(sync.errorText)")

        try move(commit(3), to: commit(3, "laptop"), scene)
        try scene.succeed("sync --db desk.db")
        try scene.database("desk.db").run("UPDATE notifications SET title = 'desk 2' WHERE title = 'desk 1'")
        try scene.succeed("sync --db desk.db")
        try expectHealed(scene, desk: "desk 2", laptop: "laptop 2")
    }

    @Test func doctorAtTheLosingDeviceSendsToItsSync() throws {
        let scene = try Scene()
        try scene.forkOfPeers()
        let diagnosis = try scene.doctor("--db laptop.db", exit: 65)
        #expect(diagnosis.about("rollback").isEmpty, "\(diagnosis.notable)")
        let fork = try #require(diagnosis.about("forks").first)
        #expect(fork.severity == "error" && fork.remedy == "run snapsync sync on laptop")
        try scene.succeed("sync --db laptop.db")

        // Without a conflict copy it is not decided until somebody goes on; the remedy says so.
        let other = try Scene()
        try other.peersWithCopies()
        try publish(other, desk: 1, laptop: 1)
        try other.replicate("one", "two", conflict: nil)
        try other.expectFinding(
            "error", "rollback", "--db laptop.db", exit: 65, saying: ["two devices may have published this version"], remedy: "sync on the other device")
        try publish(other, desk: 1, laptop: 0)
        try other.replicate("one", "two", conflict: nil)
        #expect(try other.doctor("--db laptop.db", exit: 65).about("forks").map(\.remedy) == ["run snapsync sync on laptop"])
    }
}
