import Foundation
import TestSupport
import Testing

/// Sealed zones with padding, and with keys that a quantum computer alone does not give away.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SealedKindsTests {
    private static let edit = "UPDATE notifications SET title = 'CANARY edited' WHERE id = (SELECT max(id) FROM notifications)"
    private static let read = "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications WHERE readAt IS NULL)"
    /// Python: the lengths of all boxes in the zone's files, without keys: of records, indexes, messages and change assets.
    private static let boxes = """
        z = open_zone(ZONE, seed_of('phone'))
        def boxes():
            for number in range(1, newest() + 1):
                for saved in load(number)['saved']:
                    if 'sealed' in saved['fields']: yield saved['name'], len(base64.b64decode(saved['fields']['sealed']['value']))
            for pattern in ('/assets/*/*.index.json', '/assets/*/*.changes.json.gz'):
                for path in glob.glob(ZONE + pattern): yield path, os.path.getsize(path)
            for path in glob.glob(ZONE + '/messages/*/*.json'):
                yield path, len(base64.b64decode(json.loads(read(path))['message']['body']['sealed']))

        """

    private func sealed(_ flags: String, role: String = "writer", notifications: Int = 40) throws -> (scene: SignedScene, code: String) {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications \(notifications) --buckets 3")
        let code = try scene.initSealed(Scene.setUp("phone.db", as: role, "--built-in --name phone --encrypt \(flags)"))
        try scene.succeed("sync phone.db")
        return (scene, code)
    }

    @Test(arguments: ["--padded --post-quantum", "--post-quantum"]) func everythingWorksAsInASealedZone(_ flags: String) throws {
        let (scene, code) = try sealed(flags)
        let features = flags.split(separator: " ").map { "\"\($0.dropFirst(2))\"," }.joined()
        #expect(
            try String(decoding: scene.scene.scratch.read("\(Scene.zone)/zone.json"), as: UTF8.self).contains("\"features\":[\(features)\"sealed\",\"signed\"]")
        )
        try scene.join("watch")
        try scene.join("shelf")
        try scene.succeed("sync watch.db")
        try scene.succeed("sync shelf.db")
        try scene.scene.database("watch.db").run(Self.read)
        try scene.succeed("sync watch.db")
        try scene.succeed("sync phone.db")
        // A removal begins an epoch, a rotation another one, with another code.
        try scene.succeed("zone revoke phone.db shelf")
        let rotated = try scene.json("zone rotate-keys phone.db --new-recovery-code")
        #expect(rotated["epoch"] as? Int == 3)
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        #expect(try scene.run("sync shelf.db").status == 78)
        for line in ["check watch.db --all-versions --local", "check cloud --all-versions", "check phone.db"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }
        let kinds = flags.split(separator: " ").map { $0.dropFirst(2) }.joined(separator: ", ")
        #expect(try scene.succeed("status phone.db").contains("sealed (\(kinds)), epoch 3, signed by 2 members"))
        #expect(try scene.verifyIndependently(scene.words("phone")).status == 0)
        try scene.expectNowhere(["CANARY", "recordCount", code])
        // The independent program reads the newest version, and what it seals is imported.
        try scene.unseal(
            Self.boxes + """
                import assets as A
                def newest_record(name): return [r for n in range(newest(), 0, -1) for r in load(n)['saved'] if r['name'] == name][0]
                assert open_zone(ZONE, seed_of('watch')).secrets == z.secrets and sorted(z.secrets) == [1, 2, 3]
                k, r = keys_of('phone'), newest_record('notifications_data')
                f, c = z.record(r), following('phone', k)
                rows = A.version(z, ZONE, r['name'], f)
                assert any(row['title'] == 'CANARY edited' for row in rows.values())
                index = A.read_snapshot(z, ZONE, r['name'], f['dataFile']['value'])[1]
                entities = [dict(row, title='sealed in Python') for _, row in sorted(rows.items(), key=lambda p: p[0].encode())]
                asset = A.write_snapshot(z, ZONE, r['name'], c['number'], A.container('notifications', c['timestamp'], entities), index)
                f.pop('changeFile', None); f.pop('changeFiles', None)
                f['dataFile']['value'], f['syncTimestamp']['value'] = asset, c['timestamp']
                c['saved'] = [z.seal_record(r['name'], r['type'], f)]
                put(c, k)
                """)
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.database("watch.db").run("SELECT count(DISTINCT title) FROM notifications") == "1\n")
        for device in ["phone", "watch"] {
            let rows = try scene.readIndependently("notifications", as: device)
            #expect(rows.count == 40 && rows.allSatisfy { $0["title"] as? String == "sealed in Python" })
        }
        // All devices are lost: the new code reads, the old one does not.
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path("keys"))
        for (words, status) in [(code, Int32(78)), (try #require(rotated["recoveryCode"] as? String), 0)] {
            let line = "join new.db cloud --name new\(status) --recover"
            let run = try BuiltCommand.run(
                line.split(separator: " ").map(String.init), in: scene.scene.scratch.path, environment: scene.environment, input: Data("\(words)\n".utf8))
            #expect(run.status == status, "\(run.errorText)")
        }
        try scene.succeed("sync new.db")
        #expect(try scene.scene.contents("new.db") == scene.scene.contents("watch.db"))
    }

    @Test func aStoreSeesPaddedLengthsAlone() throws {
        let (scene, _) = try sealed("--padded", notifications: 12_000)
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        for title in ["x", String(repeating: "y", count: 90)] {
            try scene.scene.database("phone.db").run("UPDATE notifications SET title = '\(title)' WHERE id = (SELECT max(id) FROM notifications)")
            try scene.succeed("sync phone.db")
        }
        try scene.scene.database("watch.db").run(Self.read)
        try scene.succeed("sync watch.db")
        let found = try scene.unseal(
            Self.boxes + """
                found = list(boxes())
                for place, size in found: assert padded_length(size - 52) == size - 52, (place, size)
                kinds = {'index' if '.index.' in p else 'changes' if '.changes.' in p else 'message' if '/messages/' in p else 'record' for p, _ in found}
                assert kinds == {'index', 'changes', 'message', 'record'}, kinds
                for number in range(1, newest() + 1):
                    for saved in load(number)['saved']:
                        if 'sealed' not in saved['fields']: continue
                        inner = {a['path']: a for a in assets(z.record(saved))}
                        for a in saved['fields']['assets']['value']:
                            raw, shown = inner[a['value']['path']]['rawSize'], a['value']['rawSize']
                            assert raw <= shown == padded_length(raw), (raw, shown)
                # The members of a snapshot asset, one by one.
                asset = z.record([r for r in load(1)['saved'] if r['name'] == 'notifications_data'][0])['dataFile']['value']
                index = json.loads(z.open(read(ZONE + '/' + asset['path'].replace('.json.gz', '.index.json')), 'index', 'notifications_data'))
                parts = [index['header']] + index['blocks'] + [index['tail']]
                for part in parts: assert padded_length(part['length'] - 52) == part['length'] - 52, part
                print(len(parts) > 20)
                """)
        #expect(found == "True\n")
        // At most 12 % more than without.
        let (plain, _) = try sealed("", notifications: 12_000)
        let count = "print(sum(os.path.getsize(p) for p in glob.glob(ZONE + '/assets/*/*%020d-*' % 1)))"
        let sizes = try [scene, plain].map { try #require(Double($0.forge(count).trimmingCharacters(in: .newlines))) }
        #expect(sizes[0] > sizes[1] && sizes[0] <= sizes[1] * 1.12, "\(sizes)")
        // Lost boxes are made again.
        try scene.unseal("p = sorted(glob.glob(ZONE + '/assets/notifications_data/*.index.json'))[0]; os.remove(p)")
        #expect(try scene.run("check watch.db --all-versions").status == 65)
        #expect(try scene.run("repair phone.db").status == 0)
        #expect(try scene.succeed("check watch.db --all-versions").contains("all is well"))
    }

    @Test func aZoneThatLosesAKindIsRefused() throws {
        let (scene, _) = try sealed("--padded --post-quantum")
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.keepCloud()
        let begin = "z, k = open_zone(ZONE, seed_of('phone')), keys_of('phone'); c = following('phone', k); "
        let record = "r = [r for r in load(1)['saved'] if r['name'] == 'buckets_data'][0]; f = z.record(r); "
        let seal = "c['saved'] = [z.seal_record('buckets_data', 'BucketsData', f)]; put(c, k)"
        let marker = "m = json.load(open(ZONE + '/zone.json')); m['features'] = %s; write(ZONE + '/zone.json', text(m))"
        for (forgery, code, says) in [
            (marker.replacing("%s", with: "['padded', 'sealed', 'signed']"), Int32(65), "this device knows the zone as sealed in another way"),
            (marker.replacing("%s", with: "['post-quantum', 'sealed', 'signed']"), 65, "this device knows the zone as sealed in another way"),
            (marker.replacing("%s", with: "['padded', 'post-quantum', 'quartz', 'sealed', 'signed']"), 78, "the zone needs what this version does not know"),
            (marker.replacing("%s", with: "['padded', 'signed']"), 78, "the zone needs what this version does not know"),
            // A member that publishes says less, or seals otherwise.
            (begin + record + "c['requires'].remove('padded'); " + seal, 65, "the commit says another protection of the zone than zone.json"),
            (begin + record + "z.is_padded = False; " + seal, 65, "it is not what a member of this zone sealed for this place"),
            (
                begin + "r = key_record(ZONE); r['fields']['recovery']['value'] = r['fields']['recovery']['value'][:64]; c['saved'] = [r]; put(c, k)", 65,
                "the record of the zone's keys is not one"
            ),
            // The whole record in the other kind, with a secret of the member's own.
            (
                begin
                    + """
                    r = key_record(ZONE); e = {n: v['value'] for n, v in r['fields'].items()}['epoch']
                    keys = [seal_key(seed_of(d)) for d in ('phone', 'watch')]
                    r['fields']['recovery']['value'] = keys[0].hex()
                    r['fields']['wraps']['value'] = [{'type': 'list', 'value': [{'type': 'string', 'value': key.hex()}, {'type': 'string', 'value':
                        base64.b64encode(wrap(os.urandom(32), key, z.cloud, z.zone, e)).decode()}]} for key in keys]
                    c['saved'] = [r]; put(c, k)
                    """, 65, "the keys of the zone are encrypted in another way than the zone says"
            ),
        ] {
            try scene.restoreCloud()
            try scene.unseal(forgery)
            try scene.refuse("sync watch.db", exit: code, saying: [says], watching: ["watch.db"])
        }
        try scene.restoreCloud()
        try scene.unseal(begin + record + seal)
        try scene.succeed("sync watch.db")
        // A key of the other kind asks for membership: it is no request.
        try scene.forge(
            """
            k = Keys()
            r = json.loads(read(sorted(glob.glob(ZONE + '/devices/watch/*.json'))[0]))['report']
            r.update(device='stranger', key=k.key, sealKey=k.seal_key, role='reader', nonce='forged')
            write('%s/devices/stranger/%020d.json' % (ZONE, 1), seal(r, 'report', k))
            """)
        #expect(try (scene.json("zone members phone.db")["requests"] as? [Any])?.isEmpty == true)
        // Asked for more than the zone has, init says so.
        let plain = try SignedScene.sealedPhone().scene
        try plain.refuse(
            "init desk.db cloud --built-in --name desk --encrypt --padded", exit: 78,
            saying: ["the zone is there, and it is not padded", "--zone"])
        for flags in ["--sign --padded", "--post-quantum"] {
            #expect(try plain.run("init desk.db cloud --built-in --zone Other \(flags)").status == 64)
        }
    }

    /// A signed zone goes on with keys of another kind: its members make new ones, and are approved anew.
    @Test func aSignedZoneIsTurnedOver() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("zone approve phone.db watch --yes")
        let plan = try scene.json("zone encrypt phone.db --padded --post-quantum -n")
        #expect(plan["toApprove"] as? [String] == ["watch"] && (plan["admitted"] as? [String])?.isEmpty == true)
        let report = try scene.json("zone encrypt phone.db --padded --post-quantum")
        #expect(report["toApprove"] as? [String] == ["watch"])
        #expect(try scene.run("sync watch.db").status == 75)
        // `status` there says what it waits for, and not that the old zone has ended.
        let waiting = try scene.run("status watch.db")
        #expect(waiting.status == 75 && waiting.text.contains("it goes on as zone ZentikSyncZone-sealed"), "\(waiting.errorText)")
        #expect(waiting.errorText.contains("snapsync zone approve DB watch"), "\(waiting.errorText)")
        try scene.succeed("zone approve phone.db watch --yes")
        for name in ["watch", "phone", "watch"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        #expect(try scene.json("status watch.db")["nextZone"] == nil)
        // No seed serves for both kinds: who can break X25519 would find it from the old zone's public key.
        let seeds = try scene.forge(
            """
            found = {p.split('/')[-2]: json.load(open(p)) for p in glob.glob('keys/snapsync/keys/*/*/*/phone.json')}
            old, new = found['ZentikSyncZone'], found['ZentikSyncZone-sealed']
            print(old['signingSeed'] == new['signingSeed'], old['sealingSeed'] == new['sealingSeed'], new['sealing'], 'sealing' in old)
            """)
        #expect(seeds == "True False x-wing False\n")
    }
}
