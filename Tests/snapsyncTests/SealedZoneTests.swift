import Foundation
import TestSupport
import Testing

/// Zones whose contents the store cannot read: what a user does and sees. What an independent program makes of the files is checked in Python.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SealedZoneTests {
    private static let edit = "UPDATE notifications SET title = 'CANARY-edited-here' WHERE id = (SELECT max(id) FROM notifications)"
    private static let read = "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications WHERE readAt IS NULL)"

    @Test func theStoreSeesNothingOfRowsMessagesAndKeys() throws {
        let (scene, code) = try SignedScene.sealedPhone()
        #expect(code.split(separator: "-").count == 18)
        let marker = try String(decoding: scene.scene.scratch.read("\(Scene.zone)/zone.json"), as: UTF8.self)
        #expect(marker.contains("\"features\":[\"sealed\",\"signed\"]"))
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        // A message of the reader, which waits in the mailbox.
        try scene.scene.database("watch.db").run("UPDATE buckets SET name = 'CANARY-from-watch' WHERE id = (SELECT min(id) FROM buckets)")
        try scene.succeed("sync watch.db")
        let rows = try scene.scene.database("phone.db").run(
            "SELECT title FROM notifications ORDER BY length(title) DESC LIMIT 5; SELECT id FROM notifications LIMIT 5")
        let words = rows.split(separator: "\n").map(String.init) + ["CANARY", "notificationTitle", "recordCount", "syncTimestamp", "dataFile"]
        try scene.expectNowhere(words + code.split(separator: "-").prefix(1).map { "-\($0)-" } + [code])
        // The secrets of the epochs, private keys and the code: in no file but the key files, and in nothing that is printed.
        var printed = ""
        for line in ["sync phone.db", "status phone.db", "status watch.db --json", "check watch.db -v", "log phone.db --json"] {
            let run = try scene.run(line)
            printed += run.text + run.errorText
        }
        try Data(printed.utf8).write(to: URL(fileURLWithPath: scene.scene.scratch.path("printed")))
        #expect(
            try scene.unseal(
                """
                z = open_zone(ZONE, seed_of('phone'))
                assert open_zone(ZONE, seed_of('watch')).secrets == z.secrets == open_zone(ZONE, seed_of_words('\(code)')).secrets
                raw = list(z.secrets.values()) + [seed_of('phone'), seed_of('watch'), seed_of_words('\(code)')]
                needles = raw + [n.hex().encode() for n in raw] + [base64.b64encode(n)[:40] for n in raw] + ['\(code)'.encode()]
                for folder, _, names in os.walk('.'):
                    for path in (os.path.join(folder, n) for n in names):
                        if not path.startswith('./keys/') and any(n in read(path) for n in needles): print(path)
                print(len(raw))
                """) == "4\n")
        // The message arrives, and what was sealed is what the sender meant.
        try scene.succeed("sync phone.db")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        #expect(try scene.scene.database("phone.db").run("SELECT count(*) FROM buckets WHERE name = 'CANARY-from-watch'") == "1\n")
        for line in ["check watch.db --all-versions --local", "check cloud --all-versions", "check phone.db", "check cloud"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }
        #expect(try scene.succeed("status phone.db").contains("sealed, epoch 1, signed by 2 members"))
        #expect(try scene.verifyIndependently(scene.words("phone")).status == 0)
    }

    @Test func anIndependentProgramReadsRecordsAndMessages() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.scene.database("watch.db").run(Self.read)
        try scene.succeed("sync watch.db")
        let found = try scene.unseal(
            """
            z = open_zone(ZONE, seed_of('watch'))
            for saved in sorted(load(1)['saved'], key=lambda r: r['name']):
                if saved['name'].startswith('snapshot_'): continue
                assert set(saved['fields']) == {'assets', 'sealed'}, saved
                print(saved['name'], z.record(saved)['recordCount']['value'])
            p = glob.glob(ZONE + '/messages/watch/*.json')[0]
            print(z.message('watch', os.path.basename(p)[:-5], json.loads(read(p))['message']['body'])['edits'][0]['dataset'])
            """)
        #expect(found == "buckets_data 3\nnotifications_data 20\nnotifications\n")
        // And what it seals for the zone, the publisher applies.
        let id = try scene.scene.database("phone.db").run("SELECT max(id) FROM notifications WHERE readAt IS NULL").trimmingCharacters(in: .newlines)
        let born = try scene.scene.database("phone.db").run("SELECT updatedAt FROM notifications WHERE id = '\(id)'").trimmingCharacters(in: .newlines)
        try scene.unseal(
            """
            z, k = open_zone(ZONE, seed_of('watch')), keys_of('watch')
            p = glob.glob(ZONE + '/messages/watch/*.json')[0]
            m = json.loads(read(p))['message']
            body = z.message('watch', m['id'], m['body'])
            m['id'] = body['id'] = m['id'][:16] + os.urandom(8).hex()
            edit = body['edits'][0]
            edit['number'] += 1
            edit['id'], edit['born'], edit['base'] = '\(id)', '\(born)', {'at': '\(born)'}
            edit['row'] = json.dumps({**json.loads(edit['row']), 'id': edit['id']})
            m['body'] = z.seal_message('watch', m['id'], body)
            write(os.path.dirname(p) + '/' + m['id'] + '.json', seal(m, 'message', k))
            """)
        try scene.succeed("sync phone.db")
        #expect(try scene.scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "2\n")
    }

    @Test func aMessageThatVanishedIsSentAgainWithTheSameBytes() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.scene.database("watch.db").run(Self.read)
        try scene.succeed("sync watch.db")
        let take = "p = glob.glob(ZONE + '/messages/watch/*.json')[0]; print(os.path.basename(p), sha(read(p)))"
        let first = try scene.forge(take + "; os.remove(p)")
        #expect(try scene.run("sync watch.db").status == 0)
        #expect(try scene.forge(take) == first)
        // In a new epoch the same message is another file, with the same id: it is applied once.
        try scene.succeed("zone rotate-keys phone.db")
        try scene.forge("os.remove(glob.glob(ZONE + '/messages/watch/*.json')[0])")
        #expect(try scene.run("sync watch.db").status == 0)
        for name in ["phone", "watch", "phone", "watch"] { _ = try scene.run("sync \(name).db") }
        #expect(try scene.scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "1\n")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
    }

    @Test func aDeviceReadsNothingBeforeItIsApproved() throws {
        let (scene, _) = try SignedScene.sealedPhone()
        let line = "join watch.db cloud"
        // Without a name the same database asks under the same name again, and leaves one request.
        var asked: Set<String> = []
        for _ in 0..<2 {
            let run = try scene.run(line)
            #expect(run.status == 75 && run.errorText.contains("has asked to be a member; nothing was set up yet"), "\(run.errorText)")
            asked.insert(run.errorText)
        }
        #expect(asked.count == 1 && !scene.scene.scratch.exists("watch.db"))
        let requests = try #require(try scene.json("zone members phone.db")["requests"] as? [[String: Any]])
        let name = try #require(requests.first?["device"] as? String)
        #expect(requests.count == 1 && requests.first?["role"] as? String == "reader")
        try scene.succeed("zone approve phone.db \(name) --yes")
        try scene.succeed(line)
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        // What needs keys says so where there are none.
        for (line, code) in [("show cloud notifications", Int32(78)), ("diff cloud 1 2", 78)] {
            try scene.refuse(line, exit: code, saying: ["the zone is sealed, and no device's keys are at hand", "the database of a member"])
        }
        let verify = try scene.succeed("check cloud --all-versions")
        #expect(verify.contains("all is well") && verify.contains("and not opened"))
        try scene.succeed("log cloud")
    }

    @Test func aZoneIsSealedFromItsFirstVersionOn() throws {
        let scene = try SignedScene()
        try scene.succeed("init phone.db cloud --built-in --name phone")
        for flag in ["--encrypt", "--sign"] {
            try scene.refuse(
                "init desk.db cloud --built-in --name phone \(flag)", exit: 78,
                saying: ["the zone is there, and it is not", "--zone"])
        }
        try scene.succeed("generate signed.db --notifications 3 --buckets 1")
        try scene.succeed("init signed.db cloud --built-in --name signed --zone Signed --sign")
        try scene.refuse(
            "init desk.db cloud --built-in --name signed --zone Signed --encrypt", exit: 78, saying: ["it is not sealed", "--zone"])
        #expect(try scene.run("join desk.db cloud --encrypt").status == 64)
        try scene.refuse("zone rotate-keys signed.db", exit: 78, saying: ["its zone is not sealed"])
        // Without the flag a second database cannot make it anything else: the zone says itself what it is.
        let code = try scene.initSealed("init app.db cloud --peers --built-in --name app --zone Sealed --encrypt")
        #expect(code.split(separator: "-").count == 18)
        let early = try scene.run("init late.db cloud --peers --built-in --name late --zone Sealed")
        #expect(early.status == 75 && early.errorText.contains("on the device that made the zone: snapsync sync"), "\(early.errorText)")
    }

    @Test func anIdleSyncNeedsNoKeys() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.forge("for d in ('phone', 'watch'): os.rename(key_file(d), key_file(d) + '.away')")
        #expect(try scene.succeed("sync watch.db").contains("is here already"))
        #expect(try scene.succeed("sync phone.db").contains("nothing"))
    }

    @Test func withoutTheKeyFileNothingIsReadOrWritten() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.scene.database("phone.db").run(Self.edit)
        let path = try scene.forge("print(os.path.abspath(key_file('phone')))").trimmingCharacters(in: .newlines)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        var before = try scene.scene.cloudListing()
        try scene.refuse("sync phone.db", exit: 78, saying: [path, "the keys of phone are not there", "bring the file back"])
        #expect(try scene.scene.cloudListing() == before)
        // The doctor tries the file system out.
        #expect(try scene.run("check phone.db").text.contains("the keys of phone are not there"))
        before = try scene.scene.cloudListing()
        // Another device's keys do not do, nor do new ones.
        try scene.forge(
            "d = json.load(open(key_file('watch'))); d['device'] = 'phone'; open('\(path)', 'w').write(text(d).decode()); os.chmod('\(path)', 0o600)")
        try scene.refuse("sync phone.db", exit: 78, saying: [path, "the keys there are not those with which phone was set up"])
        #expect(try scene.scene.cloudListing() == before)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        try scene.succeed("sync phone.db")
        let watch = try scene.forge("print(os.path.abspath(key_file('watch')))").trimmingCharacters(in: .newlines)
        try FileManager.default.moveItem(atPath: watch, toPath: watch + ".away")
        try scene.refuse("sync watch.db", exit: 78, saying: [watch, "the keys of watch are not there"], watching: ["watch.db"])
        try FileManager.default.moveItem(atPath: watch + ".away", toPath: watch)
        try scene.succeed("sync watch.db")
        try scene.expectNowhere(["CANARY"])
    }

    @Test func everyWayIntoASealedZoneSeals() throws {
        let (scene, _) = try SignedScene.sealedPhone(notifications: 60)
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        try scene.succeed("pin phone.db 1 --name CANARY-pin")
        for round in 0..<18 {
            try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY round \(round)' WHERE id = (SELECT min(id) FROM notifications)")
            try scene.succeed("sync phone.db")
        }
        try scene.succeed("export phone.db --full")
        try scene.succeed("sync watch.db")
        #expect(try scene.succeed("show watch.db notifications --at 1").contains("notifications"))
        try scene.succeed("log watch.db")
        // What is young stays, so all of it is made old.
        try scene.forge(
            "for f, _, names in os.walk('cloud'): [os.utime(os.path.join(f, n), (os.path.getmtime(os.path.join(f, n)) - 864000,) * 2) for n in names]")
        let pruned = try scene.json("prune phone.db --keep-last 2")
        #expect((pruned["removedVersions"] as? [Int])?.contains(1) == true && pruned["pinnedVersions"] as? [Int] == [1])
        #expect(try scene.succeed("log phone.db --limit 99").contains("pinned (CANARY-pin)"))
        try scene.succeed("show phone.db notifications --at 1")
        try scene.succeed("copy cloud copy")
        for line in ["check copy --all-versions", "check watch.db --all-versions --local", "check phone.db"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }
        // A device that joins past a checkpoint, with earlier versions gone.
        try scene.join("late")
        try scene.succeed("sync late.db")
        #expect(try scene.scene.contents("late.db") == scene.scene.contents("phone.db"))
        try scene.scene.database("phone.db").run("DELETE FROM notifications WHERE title LIKE 'CANARY%'")
        for line in ["sync phone.db", "restore phone.db 1", "sync phone.db", "sync late.db"] { try scene.succeed(line) }
        #expect(try scene.scene.contents("late.db") == scene.scene.contents("phone.db"))
        try scene.succeed("import watch.db --replace --yes")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        try scene.expectNowhere(["CANARY", "recordCount"])
    }

    @Test func tablesOfOnesOwnAndTheirDescriptionsAreSealed() throws {
        let scene = try SignedScene()
        try scene.scene.database("app.db").run(
            "CREATE TABLE secrets (id TEXT PRIMARY KEY, CANARY_column TEXT, rating REAL); INSERT INTO secrets VALUES ('CANARY-key', 'CANARY-value', 1.5)")
        _ = try scene.initSealed("init app.db cloud --name phone --encrypt")
        try scene.succeed("sync app.db")
        try FileManager.default.copyItem(atPath: scene.scene.scratch.path("app.db"), toPath: scene.scene.scratch.path("phone.db"))
        let line = "join copy.db cloud --name copy"
        #expect(try scene.run(line).status == 75)
        try scene.succeed("zone approve app.db copy --yes")
        try scene.succeed(line)
        try scene.succeed("sync copy.db")
        #expect(try scene.scene.database("copy.db").run("SELECT * FROM secrets") == "CANARY-key|CANARY-value|1.5\n")
        try scene.expectNowhere(["CANARY", "rating"])
    }
}
