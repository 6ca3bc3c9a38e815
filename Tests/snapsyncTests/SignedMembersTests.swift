import Foundation
import TestSupport
import Testing

/// Members of signed zones: how they come and go, and what is refused of everybody else.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SignedMembersTests {
    private static let read = "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications WHERE readAt IS NULL)"

    @Test func messagesCountOnceTheirSenderIsApproved() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("sync watch.db")
        try scene.scene.database("watch.db").run(Self.read)
        try scene.succeed("sync watch.db")
        // Who is no member is heard by nobody, and both are told.
        #expect(try scene.succeed("status watch.db").contains("this device is no member, its words are \(scene.words("watch"))"))
        #expect(try scene.run("sync phone.db").text.contains("1 message in the mailbox was set aside"))
        #expect(try scene.run("pending phone.db").text.contains("watch is no member of the signed zone"))
        #expect(try scene.scene.contents("watch.db") != scene.scene.contents("phone.db"))

        let list = try scene.succeed("zone members phone.db")
        #expect(
            list.contains(
                "zone ZentikSyncZone is signed; its creator is \(try scene.words("phone"))\n  writer phone (this device): \(try scene.words("phone"))"))
        #expect(list.contains("watch asks to be a reader: \(try scene.words("watch"))"))
        #expect(try scene.succeed("check phone.db").contains("1 device asks to be a member"))
        try scene.refuse("zone approve phone.db watch", exit: 78, saying: ["the words \(scene.words("watch")) cannot be compared", "--yes"])
        try scene.refuse("zone approve phone.db nobody --yes", exit: 66, saying: ["no device asks to be a member as nobody"])
        try scene.refuse("zone approve phone.db watch --role peer --yes", exit: 78, saying: ["its one publisher is phone"])
        #expect(
            try scene.succeed("zone approve phone.db watch --yes").hasPrefix("watch is a member of zone ZentikSyncZone from version 3 on, as a reader"))
        #expect(try scene.run("zone approve phone.db watch --yes").status == 78)
        #expect(try scene.verifyIndependently(scene.words("phone")).text == "phone writer\nwatch reader\ncommit 3\n")

        for database in ["phone", "watch"] { try scene.succeed("sync \(database).db") }
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        #expect(try scene.scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "1\n")
        #expect(try !scene.succeed("status watch.db").contains("no member"))
        for line in ["check watch.db", "check phone.db", "check cloud", "check watch.db --all-versions"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }

        // One that only reads, and one that was removed.
        for (change, says) in [
            ("zone role phone.db watch observer", "watch is an observer, which sends nothing"),
            ("zone revoke phone.db watch", "watch is no member of the signed zone"),
        ] {
            let said = try scene.succeed(change)
            if change.hasPrefix("zone revoke") { #expect(said.contains("what it could read it can still read")) }
            try scene.scene.database("watch.db").run(Self.read)
            try scene.succeed("sync watch.db")
            #expect(try scene.run("sync phone.db").text.contains("set aside"), "\(change)")
            #expect(try scene.run("pending phone.db").text.contains(says), "\(change)")
        }
        try scene.refuse("zone revoke phone.db watch", exit: 66, saying: ["watch is no member"])
        try scene.refuse("zone revoke phone.db phone", exit: 78, saying: ["the last member that publishes"])
        try scene.refuse("zone role watch.db watch observer", exit: 78, saying: ["reader"])
        #expect(try scene.verifyIndependently(scene.words("phone")).status == 0)
    }

    @Test func onlyApprovedPeersPublish() throws {
        let scene = try SignedScene()
        try scene.succeed("generate desk.db --notifications 20 --buckets 3")
        try scene.succeed("init desk.db cloud --peers --built-in --name desk --sign")
        try scene.succeed("sync desk.db")
        try scene.succeed("join laptop.db cloud --peer --name laptop --trust \(scene.words("desk"))")
        try scene.succeed("sync laptop.db")
        let edit = "UPDATE notifications SET title = 'changed' WHERE id = (SELECT max(id) FROM notifications WHERE title <> 'changed')"
        try scene.scene.database("laptop.db").run(edit)
        try scene.refuse("sync laptop.db", exit: 78, saying: ["laptop is no member", scene.words("laptop"), "snapsync zone approve DB laptop"])
        for line in ["zone approve desk.db laptop --yes", "sync laptop.db", "sync desk.db"] { try scene.succeed(line) }
        #expect(try scene.scene.contents("desk.db") == scene.scene.contents("laptop.db"))
        // The newcomer admits others, and keeps reading when the creator is removed.
        try scene.succeed("join shelf.db cloud --peer --name shelf --trust \(scene.words("desk"))")
        try scene.succeed("zone approve laptop.db shelf --yes")
        try scene.succeed("zone revoke laptop.db desk")
        for name in ["shelf", "laptop"] {
            try scene.scene.database("\(name).db").run(name == "shelf" ? "SELECT 1" : edit)
            try scene.succeed("sync \(name).db")
        }
        try scene.succeed("sync shelf.db")
        #expect(try scene.scene.contents("shelf.db") == scene.scene.contents("laptop.db"))
        try scene.succeed("sync desk.db")
        try scene.scene.database("desk.db").run(edit)
        try scene.refuse("sync desk.db", exit: 78, saying: ["desk is no member"])
        try scene.refuse("device rename laptop.db other", exit: 78, saying: ["the zone is signed"])
        // Past a checkpoint, and with earlier versions pruned, a new device still checks everything.
        for number in 0..<18 {
            try scene.scene.database("laptop.db").run("UPDATE notifications SET title = 'round \(number)' WHERE id = (SELECT min(id) FROM notifications)")
            try scene.succeed("sync laptop.db")
        }
        try scene.succeed("join late.db cloud --name late --trust \(scene.words("desk"))")
        try scene.succeed("sync late.db")
        #expect(try scene.scene.contents("late.db") == scene.scene.contents("laptop.db"))
        #expect(try scene.verifyIndependently(scene.words("desk")).text.hasPrefix("laptop peer\nshelf peer\ncommit "))
        try scene.succeed("check late.db --all-versions")
        try scene.succeed("copy cloud copy")
        #expect(try scene.succeed("check copy --all-versions").contains("all is well"))
    }

    @Test func whoIsNoMemberAnyMoreOrNotYetIsRefused() throws {
        let scene = try SignedScene()
        try scene.succeed("generate desk.db --notifications 20 --buckets 3")
        try scene.succeed("init desk.db cloud --peers --built-in --name desk --sign")
        try scene.succeed("sync desk.db")
        for name in ["laptop", "watch"] {
            try scene.succeed(
                Scene.join("\(name).db", as: name == "watch" ? "reader" : "peer", "--name \(name) --trust \(scene.words("desk"))"))
            try scene.succeed("zone approve desk.db \(name) --yes")
            try scene.succeed("sync \(name).db")
        }
        // A device that will be approved only after the commit that it forges.
        try scene.succeed("join shelf.db cloud --peer --name shelf --trust \(scene.words("desk"))")
        try scene.succeed("zone revoke desk.db laptop")
        // From here on `watch` knows of the removal; before, nobody could tell it.
        try scene.succeed("sync watch.db")
        try scene.keepCloud()
        for name in ["laptop", "watch", "shelf"] {
            let says = name == "watch" ? "watch, which signed the commit, had the role reader" : "\(name), which signed the commit, was no member"
            try scene.restoreCloud()
            try scene.forge("k = keys_of('\(name)'); put(following('\(name)', k), k)")
            try scene.refuse("sync watch.db", exit: 65, saying: [says], watching: ["watch.db"])
            try scene.refuse("sync desk.db", exit: 65, saying: [says], watching: ["desk.db"])
            #expect(try scene.verifyIndependently(scene.words("desk")).status == 65)
        }
        // The removed peer takes the list from before its removal, and puts its commit after a checkpoint of its own.
        try scene.restoreCloud()
        try scene.forge(
            """
            k = keys_of('laptop')
            last = newest()
            c = load(last)
            old = statements()[:-1]
            records = [dict(r, changeTag='1') for r in load(1)['saved'] if r['name'] != 'snapshot_members'] + [dict(members_record(old), changeTag='1')]
            top = 40
            body = dict(cloud=c['cloud'], zone=c['zone'], number=top, commit='1' * 64, timestamp=c['timestamp'], records=sorted(records, key=lambda r: r['name']))
            data = seal(body, 'checkpoint')
            write('%s/checkpoints/%020d.json' % (ZONE, top), data)
            f = following('laptop', k)
            f.update(number=top + 1, parent='1' * 64, checkpoint=dict(number=top, sha256=sha(data)))
            put(f, k)
            for n in range(1, last + 1): os.remove(commit_path(n))
            """)
        try scene.refuse("sync watch.db", exit: 65, saying: ["the list of members is not the one that this device has seen"], watching: ["watch.db"])
        try scene.restoreCloud()
        for line in ["sync watch.db", "zone approve desk.db shelf --yes", "sync shelf.db"] { try scene.succeed(line) }
        #expect(try scene.scene.contents("shelf.db") == scene.scene.contents("desk.db"))
    }

    @Test func messagesAndReportsInOthersNamesAreRefused() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("zone approve phone.db watch --yes")
        try scene.succeed("sync watch.db")
        try scene.scene.database("watch.db").run(Self.read)
        try scene.succeed("sync watch.db")
        try scene.keepCloud()
        let before = try scene.scene.contents("phone.db")
        let message = "p = glob.glob(ZONE + '/messages/watch/*.json')[0]; m = json.loads(read(p))['message']; "
        for (forgery, says) in [
            ("write(p, seal(m, 'message', Keys()))", "invalid signature"),
            ("k = Keys(); m['key'] = k.key; write(p, seal(m, 'message', k))", "by another key than watch's"),
            ("write(p, seal(m, 'message'))", "the zone is signed, and this message is not"),
            ("write(p, seal(m, 'message', keys_of('watch'), label='snapsync-commit 1\\n'))", "invalid signature"),
            // A member's message in the name of another one.
            ("k = keys_of('phone'); m['key'] = k.key; write(p, seal(m, 'message', k))", "by another key than watch's"),
            (
                "k = Keys(); m['sender'] = m['body']['device'] = 'other'; m['key'] = k.key; os.remove(p); write(p.replace('/watch/', '/other/'), seal(m, 'message', k))",
                "other is no member"
            ),
            ("flip(p, len(read(p)) - 3, 0)", "invalid signature"),
            ("m['zone'] = 'private/Other'; write(p, seal(m, 'message', keys_of('watch')))", "another location or zone"),
        ] {
            try scene.restoreCloud()
            try scene.forge(message + forgery)
            let run = try scene.run("sync phone.db")
            #expect(run.status == 0 && run.text.contains("1 message in the mailbox was set aside"), "\(says): \(run.text) \(run.errorText)")
            #expect(try scene.run("pending phone.db").text.contains(says), "\(says)")
            #expect(try scene.scene.contents("phone.db") == before, "\(says)")
        }
        // Reports: what others write under a member's name changes nothing that is shown of it, and what they write under their own asks for membership.
        try scene.restoreCloud()
        try scene.forge(
            """
            for device, keys in (('watch', Keys()), ('stranger', Keys())):
                k = keys
                r = json.loads(read(sorted(glob.glob(ZONE + '/devices/watch/*.json'))[0]))['report']
                r.update(device=device, key=k.key, sealKey=k.seal_key, role='writer', nonce='forged')
                write('%s/devices/%s/%020d.json' % (ZONE, device, 99), seal(r, 'report', k))
            """)
        let status = try scene.json("status phone.db")
        let devices = try #require(status["devices"] as? [[String: Any]])
        let roles = Dictionary(uniqueKeysWithValues: devices.map { ($0["device"] as? String ?? "", ($0["role"] as? String, $0["isMember"] as? Bool)) })
        #expect(roles["watch"]?.0 == "reader" && roles["watch"]?.1 == true)
        #expect(roles["stranger"]?.1 == false)
        let requests = try #require(try scene.json("zone members phone.db")["requests"] as? [[String: Any]])
        #expect(requests.map { $0["device"] as? String } == ["stranger", "watch"] && requests.map { $0["isNameTaken"] as? Bool } == [false, true])
        try scene.refuse("zone approve phone.db watch --yes", exit: 78, saying: ["watch is a member with other keys"])
        // The device itself is not talked into another name.
        #expect(try scene.run("sync watch.db").status == 0)
        #expect(try scene.scene.database("watch.db").run("SELECT value FROM snapsync_settings WHERE key = 'device'") == "watch\n")
        // Of the reports under its name, its own alone are replaced: neither takes the other's away.
        #expect(try (scene.json("zone members phone.db")["requests"] as? [[String: Any]])?.count == 2)
    }
}
