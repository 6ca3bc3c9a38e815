import Foundation
import TestSupport
import Testing

/// A dataset beyond a megabyte travels as what changed, and every version can still be had whole.
@Suite(.runsPrograms) struct ChangeAssetTests {
    private static let assets = "\(Scene.zone)/assets/notifications_data"

    /// Version 1 is large; versions 2 and 3 are changes: edits, deletions, additions.
    private func scene() throws -> Scene { try Scene.phoneAndWatch(notifications: 8000, buckets: 5) }

    private func change(_ scene: Scene, _ sql: String) throws {
        try scene.database("phone.db").run("BEGIN; \(sql); COMMIT;")
        try scene.succeed("export phone.db")
    }

    private static let edits = """
        UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE rowid % 400 = 3;
        DELETE FROM notifications WHERE rowid % 2000 = 5
        """
    private static let additions = """
        INSERT INTO notifications SELECT 'new-' || id, title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction
        FROM notifications WHERE rowid < 8;
        UPDATE notifications SET title = 'twice' WHERE rowid % 800 = 3
        """

    private func files(_ scene: Scene) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path(Self.assets)).sorted() }

    private func same(_ scene: Scene) throws -> Bool {
        try scene.database("phone.db").run("SELECT * FROM notifications ORDER BY id")
            == scene.database("watch.db").run("SELECT * FROM notifications ORDER BY id")
    }

    @Test func whatChangedIsWhatIsWrittenAndRead() throws {
        let scene = try scene()
        try scene.database("phone.db").run(Self.edits)
        let exported = try scene.json("export phone.db")
        let written = try #require((exported["written"] as? [[String: Any]])?.first)
        #expect(written["kind"] as? String == "changes")
        #expect(written["recordCount"] as? Int == 7996)
        let changes = try #require(written["changes"] as? [String: Any])
        #expect(changes["changed"] as? Int == 20)
        #expect(changes["deleted"] as? Int == 4)
        #expect(try files(scene).count == 3)

        let imported = try scene.json("import watch.db")
        let read = try #require((imported["datasets"] as? [[String: Any]])?.first)
        #expect(read["changeFiles"] as? Int == 1)
        #expect(read["blocks"] == nil)
        #expect(read["size"] as? Int == changes["size"] as? Int)
        #expect(try same(scene))
        #expect(try scene.succeed("check watch.db --all-versions --local").hasSuffix("all is well\n"))
    }

    @Test func onlyTheColumnsThatChangedTravel() throws {
        let scene = try scene()
        try scene.markRead(100, from: 5)
        let exported = try scene.json("export phone.db")
        let size = try #require(((exported["written"] as? [[String: Any]])?.first?["changes"] as? [String: Any])?["size"] as? Int)
        #expect(size <= 6000, "100 rows with two of nine columns changed: \(size) bytes")
        try scene.succeed("import watch.db")
        #expect(try same(scene))
        #expect(try scene.succeed("check watch.db --all-versions --local").hasSuffix("all is well\n"))
    }

    /// A writer that publishes columns of a row that the version before does not have.
    @Test func aPartialEntityWithoutItsRowIsRefused() throws {
        let scene = try scene()
        try change(
            scene,
            SQLiteShell.untracked(
                """
                INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId, attachments, actions)
                SELECT 'forged', 'hidden', createdAt, updatedAt, bucketId, attachments, actions FROM notifications LIMIT 1
                """) + "UPDATE notifications SET title = 'forged' WHERE id = 'forged'")
        let name = try #require(try files(scene).first { $0.contains("changes") })
        let text = String(decoding: try Gzip.decompress(scene.scratch.path("\(Self.assets)/\(name)")), as: UTF8.self)
        #expect(text.contains("\n[{\"id\":\"forged\",\"title\":\"forged\"}]\n"), "\(text)")
        let before = try scene.database("watch.db").dump()
        try scene.refuse("import watch.db", exit: 65, saying: ["forged", "the version before does not have"])
        #expect(try scene.database("watch.db").dump() == before)
        for line in ["show cloud notifications", "diff cloud 1 2", "check cloud --read-data"] {
            #expect(try scene.run(line).status == 65, "\(line)")
        }
    }

    @Test func aVersionStoredAsChangesIsShownWhole() throws {
        let scene = try scene()
        try change(scene, Self.edits)
        try change(scene, Self.additions)
        let paths = try files(scene).filter { $0.hasSuffix(".gz") }.map { scene.scratch.path("\(Self.assets)/\($0)") }
        #expect(paths.count == 3)
        let shown = try scene.run("show cloud notifications").output
        let script = Repository.path("Tests/IndependentReader/lay_changes.py")
        let laid = try ProgramRun("python3", ["-B", script] + paths)
        #expect(laid.status == 0, "\(laid.errorText)")
        let sorted = try ProgramRun(
            "python3", ["-c", "import json, sys; print(json.dumps(json.load(sys.stdin), sort_keys=True))"], in: scene.scratch.path, input: shown)
        #expect(sorted.text == laid.text)
        // Version 2, which nobody has as one file, and then version 3 as a snapshot asset: the same bytes but for the time.
        #expect(try scene.run("show cloud notifications --at 2").output.count > 1_000_000)
        try scene.succeed("export phone.db --full")
        let whole = try Gzip.decompress(
            scene.scratch.path("\(Self.assets)/\(try #require(files(scene).last { $0.hasSuffix(".json.gz") && !$0.contains("changes") }))"))
        #expect(whole.drop { $0 != UInt8(ascii: ",") } == shown.drop { $0 != UInt8(ascii: ",") })
        try scene.succeed("import watch.db")
        #expect(try same(scene))
    }

    @Test func aChangeAssetThatHasNotArrivedIsWaitedFor() throws {
        let scene = try scene()
        try change(scene, Self.edits)
        try change(scene, Self.additions)
        let missing = try #require(try files(scene).first { $0.contains("changes") })
        let path = scene.scratch.path("\(Self.assets)/\(missing)")
        try FileManager.default.moveItem(atPath: path, toPath: scene.scratch.path("aside"))
        let before = try scene.database("watch.db").dump()
        try scene.refuse("import watch.db", exit: 75, saying: [missing], asJSONToo: true)
        #expect(try scene.database("watch.db").dump() == before)
        try FileManager.default.moveItem(atPath: scene.scratch.path("aside"), toPath: path)
        try scene.succeed("import watch.db")
        #expect(try same(scene))
    }

    @Test func aLostChangeAssetIsHealedByTheNextSnapshot() throws {
        let scene = try scene()
        try change(scene, Self.edits)
        let lost = try #require(try files(scene).first { $0.contains("changes") })
        try FileManager.default.removeItem(atPath: scene.scratch.path("\(Self.assets)/\(lost)"))
        try scene.refuse("import watch.db", exit: 75, saying: [lost])
        try scene.succeed("export phone.db --full")
        let run = try scene.run("import watch.db")
        #expect(run.status == 0)
        #expect(run.text.contains("all rows were compared with version 3"), "\(run.text)")
        #expect(try same(scene))
    }

    @Test func aDamagedChangeAssetChangesNothing() throws {
        let scene = try scene()
        try change(scene, Self.edits)
        let name = try #require(try files(scene).first { $0.contains("changes") })
        let good = try scene.scratch.read("\(Self.assets)/\(name)")
        let before = try scene.database("watch.db").dump()
        // ChangeSetTests tries every bit.
        var damaged = good
        damaged[good.count / 2] ^= 8
        try scene.scratch.write(damaged, to: "\(Self.assets)/\(name)")
        try scene.refuse("import watch.db", exit: 65, saying: ["notifications, changes 2"])
        #expect(try scene.run("check cloud --read-data").status == 65)
        #expect(try scene.database("watch.db").dump() == before)
    }

    @Test func rowsThatWereAlteredBehindTheTrackingAreFoundAndHealed() throws {
        let scene = try scene()
        // A row that the next version deletes is gone already, and nobody noted it.
        let gone = try scene.database("phone.db").run("SELECT id FROM notifications WHERE rowid = 2005").trimmingCharacters(in: .newlines)
        try scene.database("watch.db").run(
            SQLiteShell.untracked("DELETE FROM notifications WHERE id = '\(gone)'; UPDATE notifications SET title = 'altered' WHERE rowid = 77"))
        try change(scene, Self.edits)
        let run = try scene.run("import watch.db")
        #expect(run.status == 0)
        #expect(run.text.contains("all rows were compared with version 2"), "\(run.text)")
        #expect(try same(scene))
    }

    @Test func aChangeAssetOnAnotherVersionIsRefused() throws {
        let scene = try scene()
        try change(scene, Self.edits)
        try scene.succeed("import watch.db")
        try change(scene, Self.additions)
        let before = try scene.database("watch.db").dump()
        // Version 3's own change asset stands on version 2's, which the record does not name any longer.
        try CloudForgery.rewriteCommit(
            scene.scratch.path("\(Scene.zone)/commits/00000000000000000003.json"),
            "f = commit['saved'][0]['fields']; f['changeFiles']['value'] = f['changeFiles']['value'][1:]")
        try scene.refuse("import watch.db", exit: 65, saying: ["notifications, changes 3", "and the version before ends with 00000000000000000001-"])
        #expect(try scene.database("watch.db").dump() == before)
        try scene.succeed("join new.db cloud --name new")
        try scene.refuse("import new.db", exit: 65, saying: ["notifications, changes 3"])
        #expect(try scene.run("check cloud --read-data").status == 65)
    }

    @Test func whatVerifyFindsTheNextSyncHeals() throws {
        let scene = try scene()
        try scene.database("watch.db").run(SQLiteShell.untracked("UPDATE notifications SET title = 'altered' WHERE rowid = 77"))
        try change(scene, Self.edits)
        try scene.succeed("import watch.db")
        #expect(try !same(scene))
        #expect(try scene.run("check watch.db --local").status == 65)
        try scene.sync("watch")
        #expect(try same(scene))
    }

    @Test func manyChangeAssetsAreFollowedByASnapshot() throws {
        let scene = try scene()
        for round in 1...18 { try change(scene, "UPDATE notifications SET title = 'round \(round)' WHERE rowid = \(round * 31)") }
        let names = try files(scene)
        #expect(names.count { $0.contains("changes") } == 18)
        #expect(names.count { $0.hasSuffix(".index.json") } == 2)
        // The reader follows all of them, the one beside the snapshot among them.
        let imported = try scene.json("import watch.db")
        #expect((imported["datasets"] as? [[String: Any]])?.first?["changeFiles"] as? Int == 18)
        #expect(try same(scene))
    }

    // MARK: An asset close to its limit is told, one beyond it is not published

    @Test func assetBeyondTheLimitIsNotPublished() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 300 --buckets 4")
        try scene.succeed("init phone.db cloud --built-in --name phone --asset-limit 20kB")
        for line in ["export phone.db", "sync phone.db"] {
            let run = try scene.run(line)
            Scene.checkRefusal(
                run, exit: 78,
                saying: [
                    "refused: dataset notifications: its asset would be larger than the limit of 20000 bytes; nothing was published",
                    "delete what is no longer needed", "asset-limit",
                ])
        }
        #expect(try scene.json("status phone.db")["newestVersion"] == nil)
        #expect((try scene.json("status phone.db")["lastError"] as? [String: Any])?["place"] as? String == "dataset notifications")
        // Neither the asset nor that of the dataset before it is left behind.
        let left = try FileManager.default.subpathsOfDirectory(atPath: scene.scratch.path(Scene.zone)).filter {
            $0.contains(".gz") || $0.contains(".index") || $0.contains("tmp")
        }
        #expect(left == [])

        #expect(try scene.succeed("config set phone.db asset-limit 1MB") == "phone.db: asset-limit is 1000000\n")
        #expect(try scene.json("export phone.db")["version"] as? Int == 1)
        #expect(try scene.json("status phone.db")["assetLimit"] as? Int == 1_000_000)
    }

    @Test func warningComesAt80Percent() throws {
        let scene = try Scene.phone(notifications: 200, buckets: 4)
        let size = try scene.scratch.read(scene.asset("notifications")).count
        func warnings(limit: Int) throws -> [String] {
            try scene.succeed("config set phone.db asset-limit \(limit)")
            return try #require(try scene.json("export phone.db --full")["warnings"] as? [String])
        }
        #expect(try warnings(limit: size * 2) == [])
        let told = try warnings(limit: size * 10 / 9)
        #expect(told.count == 1 && told.first?.hasPrefix("the asset of notifications has ") == true, "\(told)")
        #expect(told.first?.contains(" % of the limit of \(size * 10 / 9); beyond that nothing is published: delete what is no longer needed") == true)
    }
}
