import Foundation
import TestSupport
import Testing

/// Keys of sealed zones: who gets them, who loses them, and what is refused of everybody else.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SealedMembersTests {
    private static let edit = "UPDATE notifications SET title = title || ' CANARY' WHERE id = (SELECT max(id) FROM notifications)"

    @Test func aRemovedMemberReadsNothingThatIsPublishedLater() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.join("shelf")
        try scene.succeed("sync shelf.db")
        let said = try scene.succeed("zone revoke phone.db watch")
        #expect(said.contains("what is published from now on has new keys, of epoch 2"))
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        // By the built command …
        try scene.refuse(
            "sync watch.db", exit: 78,
            saying: ["the zone is sealed, and its keys of epoch 2 are not for watch: it is no member", "snapsync zone approve DB watch"],
            watching: ["watch.db"])
        #expect(try scene.run("check watch.db").text.contains("are not for watch"))
        // … and by a program of its own, with its own keys and all that it had before.
        let found = try scene.unseal(
            """
            seed, last = seed_of('watch'), newest()
            before = open_zone(ZONE, seed, last - 2)
            print(sorted(before.secrets), z.secrets[2] != before.secrets[1] if (z := open_zone(ZONE, seed_of('shelf'))) else '')
            print([r['name'] for r in load(1)['saved'] if not r['name'].startswith('snapshot_') and before.record(r)])
            try: open_zone(ZONE, seed)
            except KeyError: print('not for it')
            for saved in load(last)['saved']:
                box = base64.b64decode(saved['fields']['sealed']['value'])
                assert box[:4] == bytes([0, 0, 0, 2])
                try: before.record(saved)
                except KeyError: print('no key')
                for secret in before.secrets.values():
                    try: ZoneKeys({2: secret}, z.cloud, z.zone).record(saved)
                    except InvalidTag: print('not its key')
                print(saved['name'], z.record(saved)['recordCount']['value'])
            """)
        #expect(found == "[1] True\n['buckets_data', 'notifications_data']\nnot for it\nno key\nnot its key\nnotifications_data 20\n")
        try scene.succeed("sync shelf.db")
        #expect(try scene.scene.contents("shelf.db") == scene.scene.contents("phone.db"))
        for line in ["check shelf.db --all-versions --local", "check phone.db"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }
        // One that comes later gets all epochs, and one that comes back, too.
        try scene.join("late")
        try scene.succeed("sync late.db")
        try scene.succeed("show late.db notifications --at 1")
        #expect(try scene.scene.contents("late.db") == scene.scene.contents("phone.db"))
        try scene.succeed("zone approve phone.db watch --yes")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        #expect(try scene.verifyIndependently(scene.words("phone")).status == 0)
    }

    @Test func keysChangeWithoutAnybodyBeingApprovedAgain() throws {
        let (scene, code) = try SignedScene.sealedPhone()
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        #expect(try scene.succeed("zone rotate-keys phone.db").hasPrefix("zone ZentikSyncZone has the keys of epoch 2, from version 3 on"))
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        let report = try scene.json("zone rotate-keys phone.db --new-recovery-code")
        let newCode = try #require(report["recoveryCode"] as? String)
        #expect(report["epoch"] as? Int == 3 && newCode != code)
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        for version in [1, 4, 6] { try scene.succeed("show watch.db notifications --at \(version)") }
        #expect(
            try scene.unseal(
                """
                print(sorted(open_zone(ZONE, seed_of('watch')).secrets), sorted(open_zone(ZONE, seed_of_words('\(newCode)')).secrets))
                try: open_zone(ZONE, seed_of_words('\(code)'))
                except KeyError: print('the old code opens', sorted(open_zone(ZONE, seed_of_words('\(code)'), 4).secrets))
                """) == "[1, 2, 3] [1, 2, 3]\nthe old code opens [1, 2]\n")
        try scene.refuse("zone rotate-keys watch.db", exit: 78, saying: ["reader"])
        #expect(try scene.succeed("status watch.db").contains("sealed, epoch 3"))
        // The rows in the cloud stay what they were: a new epoch writes no dataset anew.
        #expect(try scene.succeed("check watch.db --all-versions").contains("all is well"))
    }

    @Test func theRecoveryCodeReadsWhatNoDeviceCan() throws {
        let (scene, code) = try SignedScene.sealedPhone()
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.succeed("zone rotate-keys phone.db")
        let contents = try scene.scene.contents("phone.db")
        // Every device is lost, and with them all keys.
        for name in ["phone.db", "keys"] { try FileManager.default.removeItem(atPath: scene.scene.scratch.path(name)) }
        let line = "join new.db cloud --name new --recover"
        func recover(_ words: String) throws -> ProgramRun {
            try BuiltCommand.run(
                line.split(separator: " ").map(String.init), in: scene.scene.scratch.path, environment: scene.environment, input: Data((words + "\n").utf8))
        }
        let other = try recover(code.split(separator: "-").reversed().joined(separator: "-"))
        #expect(other.status == 78 && other.errorText.contains("these are not the words of a recovery code"))
        #expect(!code.split(separator: "-").contains { other.errorText.contains($0) } && !scene.scene.scratch.exists("new.db"))
        // Another zone's code is one, and not this zone's.
        try scene.succeed("generate other.db --notifications 2 --buckets 1")
        let foreign = try recover(scene.initSealed("init other.db cloud2 --built-in --name other --encrypt"))
        #expect(foreign.status == 78 && foreign.errorText.contains("the recovery code is not the zone's"), "\(foreign.errorText)")
        try? FileManager.default.removeItem(atPath: scene.scene.scratch.path("keys"))
        let run = try recover(code.uppercased().replacing("-", with: " "))
        #expect(run.status == 0, "\(run.errorText)")
        try scene.succeed("sync new.db")
        #expect(try scene.scene.contents("new.db") == contents)
        #expect(try scene.succeed("check new.db --all-versions --local").contains("all is well"))
        // With the rows a new zone is made, for nobody can publish in the old one any more.
        try scene.succeed("detach new.db")
        _ = try scene.initSealed("init new.db cloud --built-in --name new --zone Next --encrypt")
        try scene.succeed("sync new.db")
        try scene.expectNowhere(["CANARY", code])
    }

    @Test func peersPublishInOneSealedZone() throws {
        let (scene, _) = try SignedScene.sealedPhone(role: "peer")
        for name in ["desk", "laptop"] {
            try scene.join(name, role: "peer")
            try scene.succeed("sync \(name).db")
        }
        func write(_ device: String, _ text: String) throws {
            try scene.scene.database("\(device).db").run(
                "UPDATE notifications SET title = '\(text)' WHERE id = (SELECT id FROM notifications WHERE title NOT LIKE 'CANARY%' ORDER BY id LIMIT 1)")
        }
        for round in 0..<3 {
            for name in ["phone", "desk", "laptop"] { try write(name, "CANARY \(name) \(round)") }
            for name in ["phone", "desk", "laptop"] { try scene.succeed("sync \(name).db") }
        }
        for name in ["phone", "desk", "laptop", "phone", "desk", "laptop"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.scene.contents("desk.db") == scene.scene.contents("phone.db"))
        #expect(try scene.scene.contents("laptop.db") == scene.scene.contents("phone.db"))
        // Desk is behind when the phone removes the laptop: what it publishes then has the new keys.
        try write("desk", "CANARY after the removal")
        try scene.succeed("zone revoke phone.db laptop")
        try scene.succeed("sync desk.db")
        #expect(
            try scene.unseal(
                """
                c = load(newest())
                print(c['device'], {int.from_bytes(base64.b64decode(r['fields']['sealed']['value'])[:4], 'big') for r in c['saved']})
                """) == "desk {2}\n")
        try write("laptop", "CANARY of the removed")
        try scene.refuse("sync laptop.db", exit: 78, saying: ["laptop"], watching: ["laptop.db"])
        try scene.succeed("sync phone.db")
        #expect(try scene.scene.contents("desk.db") == scene.scene.contents("phone.db"))
        // Desk approves somebody, too, and the phone goes.
        try scene.join("shelf", role: "peer", approvedBy: "desk")
        try scene.succeed("sync shelf.db")
        try scene.succeed("zone revoke shelf.db phone")
        try write("shelf", "CANARY at last")
        for name in ["shelf", "desk"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.scene.contents("desk.db") == scene.scene.contents("shelf.db"))
        try scene.expectNowhere(["CANARY"])
    }

    /// What a member that publishes could put there, or who can write the cloud: each is refused, and no database changes.
    @Test func keysThatAreExchangedOrRolledBackAreRefused() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.succeed("generate other.db --notifications 5 --buckets 2")
        _ = try scene.initSealed("init other.db cloud2 --built-in --name other --encrypt")
        for line in ["sync other.db", "zone rotate-keys phone.db", "sync watch.db"] { try scene.succeed(line) }
        try scene.keepCloud()
        let put = "put(c, k)"
        let begin = "k = keys_of('phone'); z = open_zone(ZONE, seed_of('phone')); c = following('phone', k); c['saved'] = []; "
        let fields = "f = z.record([r for r in load(1)['saved'] if r['name'] == 'buckets_data'][0]); "
        for (forgery, says) in [
            ("c['saved'] = [key_record(ZONE, 1)]; ", "the keys of the zone are those of epoch 1, and this device has seen epoch 2"),
            ("c['deleted'] = ['snapshot_keys']; ", "deletes the keys of the zone"),
            ("r = key_record(ZONE); r['fields']['previous']['value'] = []; c['saved'] = [r]; ", "the record of the zone's keys is not one"),
            ("r = key_record(ZONE); r['fields']['epoch']['value'] = 3; c['saved'] = [r]; ", "the record of the zone's keys is not one"),
            // Keys that were made for another zone, by whoever knows the device's public key.
            (
                "r = key_record(ZONE); o = 'cloud2/private/ZentikSyncZone'; r['fields']['previous'] = dict(type='list', value=[dict(type='string', value=base64.b64encode(bytes(60)).decode())]); c['saved'] = [r]; "
                    + fields + "c['saved'].append(z.seal_record('buckets_data', 'BucketsData', f)); ", "cannot be opened"
            ),
            (
                "s = os.urandom(32); r = key_record(ZONE); r['fields']['wraps']['value'] = [dict(type='list', value=[dict(type='string', value=keys_of('watch').seal_key), dict(type='string', value=base64.b64encode(wrap(s, bytes.fromhex(keys_of('watch').seal_key), 'another', z.zone, 2)).decode())])]; c['saved'] = [r]; "
                    + fields + "c['saved'].append(z.seal_record('buckets_data', 'BucketsData', f)); ", "cannot be opened"
            ),
            // Records in the clear, of other assets, under other names, of other epochs and zones.
            (fields + "c['saved'] = [dict(name='buckets_data', type='BucketsData', fields=f)]; ", "the zone is sealed, and record buckets_data is not"),
            (
                fields + "r = z.seal_record('buckets_data', 'BucketsData', f); del r['fields']['assets']; c['saved'] = [r]; ",
                "record buckets_data names other assets than what was sealed says"
            ),
            (
                fields + "r = z.seal_record('notifications_data', 'BucketsData', f); r['name'] = 'buckets_data'; c['saved'] = [r]; ",
                "it is not what a member of this zone sealed for this place"
            ),
            (
                fields + "z.secrets[3] = z.secrets[2]; c['saved'] = [z.seal_record('buckets_data', 'BucketsData', f)]; ",
                "a record was sealed in an epoch that the zone's keys do not have"
            ),
            (
                fields + "y = ZoneKeys(z.secrets, z.cloud, 'private/Other'); c['saved'] = [y.seal_record('buckets_data', 'BucketsData', f)]; ",
                "it is not what a member of this zone sealed for this place"
            ),
            (
                fields + "c['saved'] = [z.seal_record('buckets_data', 'BucketsData', f)]; c['requires'] = ['signed']; ",
                "the zone is sealed, and the commit does not say so"
            ),
        ] {
            try scene.restoreCloud()
            try scene.unseal(begin + forgery + put)
            try scene.refuse("sync watch.db", exit: 65, saying: [says], watching: ["watch.db"])
        }
        // The same commit, with what it should have, is taken.
        try scene.restoreCloud()
        try scene.unseal(begin + fields + "c['saved'] = [z.seal_record('buckets_data', 'BucketsData', f)]; " + put)
        try scene.succeed("sync watch.db")
    }

    @Test func aPublicKeyThatIsNoneGetsNothing() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        // A request that is signed well, with a sealing key with which everybody would know what is shared.
        try scene.forge(
            """
            k = Keys()
            r = json.loads(read(sorted(glob.glob(ZONE + '/devices/watch/*.json'))[0]))['report']
            r.update(device='stranger', key=k.key, sealKey='00' * 32, role='reader', nonce='forged')
            write('%s/devices/stranger/%020d.json' % (ZONE, 1), seal(r, 'report', k))
            """)
        let before = try scene.scene.scratch.read(scene.scene.newest("commits"))
        try scene.refuse(
            "zone approve phone.db stranger --yes", exit: 78, saying: ["the keys of the zone cannot be given to a member", "join with new keys"])
        #expect(try scene.scene.scratch.read(scene.scene.newest("commits")) == before)
        #expect(try !scene.succeed("zone members phone.db").contains("reader stranger"))
    }

    @Test func aZoneThatLosesItsSealIsRefused() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        let marker = "m = json.load(open(ZONE + '/zone.json')); "
        let put = "write(ZONE + '/zone.json', text(m))"
        for features in ["['signed']", "[]", "['sealed']"] {
            try scene.restoreCloud()
            try scene.forge(marker + "m['features'] = \(features); " + put)
            let code: Int32 = features == "['sealed']" ? 78 : 65
            for device in ["watch", "phone"] {
                try scene.scene.database("phone.db").run(Self.edit)
                let before = try scene.scene.cloudListing()
                try scene.refuse("sync \(device).db", exit: code, saying: ["zone.json"], watching: ["\(device).db"])
                #expect(try scene.scene.cloudListing() == before)
            }
            // A device that comes new meets commits that say otherwise, or a zone without signatures where one is meant.
            let joined = try scene.run("join new.db cloud --name new --trust \(scene.words("phone"))")
            #expect(joined.status == 65 || joined.status == 78, "\(features): \(joined.status) \(joined.errorText)")
            #expect(!scene.scene.scratch.exists("new.db"))
        }
        // A zone that was never sealed does not become one.
        let plain = try SignedScene.phoneAndWatch()
        try plain.forge(marker + "m['features'] = ['sealed', 'signed']; " + put)
        try plain.refuse("sync watch.db", exit: 65, saying: ["one that is not sealed, and the file says that it is"], watching: ["watch.db"])
        try scene.restoreCloud()
        try scene.succeed("sync phone.db")
        try scene.expectNowhere(["CANARY"])
    }

    @Test func aKeptBackRemovalShowsAsARollback() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.succeed("zone revoke phone.db watch")
        try scene.join("shelf")
        try scene.succeed("sync shelf.db")
        // Somebody puts the cloud as it was before the removal back.
        try scene.restoreCloud()
        try scene.refuse("sync shelf.db", exit: 65, saying: ["older"], watching: ["shelf.db"])
        try scene.scene.database("phone.db").run(Self.edit)
        let before = try scene.scene.cloudListing()
        try scene.refuse("sync phone.db", exit: 65, saying: ["older"], watching: ["phone.db"])
        #expect(try scene.scene.cloudListing() == before)
    }
}
