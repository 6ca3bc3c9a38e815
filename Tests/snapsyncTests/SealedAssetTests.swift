import Foundation
import TestSupport
import Testing

/// The assets of a sealed zone: read and written by an independent program, altered, exchanged, lost.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SealedAssetTests {
    private static let titles = "SELECT id, title FROM notifications ORDER BY id"

    /// The names of Tests/Sealed/assets.py, the newest version's rows by an independent reader, and the record that has them.
    private static func reading(_ device: String) -> String {
        """
        import assets as A
        z = open_zone(ZONE, seed_of('\(device)'))
        def newest_record(name): return [r for n in range(newest(), 0, -1) for r in load(n)['saved'] if r['name'] == name][0]
        def rows(name='notifications_data'): return A.version(z, ZONE, name, z.record(newest_record(name)))

        """
    }

    @Test func anIndependentProgramReadsVersions() throws {
        let (scene, _) = try SignedScene.sealedPhone(notifications: 12_000)
        func compare(_ kind: String) throws {
            let found = try scene.unseal(
                Self.reading("phone") + """
                    for id, row in sorted(rows().items(), key=lambda r: r[0].encode()): print(id + '|' + row['title'])
                    """)
            #expect(try found == scene.scene.database("phone.db").run(Self.titles), "\(kind)")
        }
        try compare("a snapshot asset")
        // More than a mebibyte: from here on change assets.
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY ' || title WHERE id IN (SELECT id FROM notifications LIMIT 5)")
        try scene.scene.database("phone.db").run("DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        #expect(try scene.succeed("sync phone.db").contains("changes"))
        try compare("a change asset")
        #expect(try scene.unseal(Self.reading("phone") + "print(len(z.record(newest_record('notifications_data'))['changeFiles']['value']))") == "1\n")
        // A new epoch: new boxes beside copied ones of the old.
        try scene.succeed("zone rotate-keys phone.db")
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY two' WHERE id IN (SELECT id FROM notifications LIMIT 3 OFFSET 7000)")
        try scene.succeed("export phone.db")
        try compare("a version of two epochs")
        try scene.succeed("export phone.db --full")
        try compare("a whole version")
        try scene.expectNowhere(["CANARY", "firstKey", "notificationTitle"])
    }

    @Test func unchangedBlocksKeepTheirBoxesAcrossEpochs() throws {
        let (scene, _) = try SignedScene.sealedPhone(notifications: 3000)
        try scene.succeed("zone rotate-keys phone.db")
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.succeed("sync phone.db")
        let found = try scene.unseal(
            Self.reading("phone") + """
                a = z.record(newest_record('notifications_data'))['dataFile']['value']
                text, index = A.read_snapshot(z, ZONE, 'notifications_data', a)
                data = read(ZONE + '/' + a['path'])
                epochs = [data[m['offset'] + 3] for m in [index['header']] + index['blocks'] + [index['tail']]]
                box = read(ZONE + '/' + a['path'].replace('.json.gz', '.index.json'))
                print(epochs[0], epochs[-1], box[3], sorted(set(epochs[1:-1])), epochs.count(1) > epochs.count(2))
                """)
        #expect(found == "2 2 2 [1, 2] True\n")
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
    }

    @Test func whatAnIndependentProgramSealsIsImported() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.unseal(Self.reading("phone") + Self.publishing + "publish()")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE title LIKE 'sealed in Python %'") == "20\n")
        #expect(try scene.succeed("check watch.db --all-versions --local").contains("all is well"))
        // A change asset over the snapshot asset.
        try scene.unseal(
            Self.reading("phone") + """
                k, r = keys_of('phone'), newest_record('notifications_data')
                f, c = z.record(r), following('phone', k)
                row = sorted(rows().items())[0][1]
                row['title'] = 'changed in Python'
                stamp = c['timestamp']
                f['changeFiles'] = {'type': 'list', 'value': [{'type': 'asset', 'value': A.write_changes(
                    z, ZONE, 'notifications_data', c['number'], A.container('notifications', stamp, [row], f['dataFile']['value']))}]}
                f['syncTimestamp']['value'] = stamp
                c['saved'] = [z.seal_record(r['name'], r['type'], f)]
                put(c, k)
                """)
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE title = 'changed in Python'") == "1\n")
        #expect(try scene.succeed("check watch.db --all-versions --local").contains("all is well"))
    }

    /// Publishes the notifications with other titles, signed by `phone`.
    private static let publishing = """
        def publish(**options):
            k, r = keys_of('phone'), newest_record('notifications_data')
            f, c = z.record(r), following('phone', k)
            index = A.read_snapshot(z, ZONE, r['name'], f['dataFile']['value'])[1]
            entities = [dict(row, title='sealed in Python %d' % i) for i, (_, row) in enumerate(sorted(rows().items(), key=lambda p: p[0].encode()))]
            stamp = c['timestamp']
            asset = A.write_snapshot(z, ZONE, r['name'], c['number'], A.container('notifications', stamp, entities), index, **options)
            f.pop('changeFile', None); f.pop('changeFiles', None)
            f['dataFile']['value'], f['syncTimestamp']['value'] = asset, stamp
            c['saved'] = [z.seal_record(r['name'], r['type'], f)]
            put(c, k)

        """

    /// A member that publishes may sign what it likes; a box opens only where it was sealed for.
    @Test func boxesForAnotherPlaceAreRefused() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        for (forgery, code, says) in [
            ("publish(member_record='buckets_data')", Int32(65), "not what a member of this zone sealed for this place"),
            ("z.secrets[7] = os.urandom(32); publish_in(z)", 78, "this device has no key of epoch 7"),
            ("z.cloud = 'another'; publish_in(z)", 65, "not what a member of this zone sealed for this place"),
            ("z.zone = 'private/Other'; publish_in(z)", 65, "not what a member of this zone sealed for this place"),
            ("z.secrets[1] = os.urandom(32); publish_in(z)", 65, "not what a member of this zone sealed for this place"),
        ] {
            try scene.restoreCloud()
            // Reads and signs by the right keys, and seals the asset alone by others.
            try scene.unseal(
                Self.reading("phone") + Self.publishing + """
                    right = open_zone(ZONE, seed_of('phone'))
                    write_snapshot, false = A.write_snapshot, z
                    def publish_in(other):
                        global z
                        false, z = other, right
                        A.write_snapshot = lambda _, *a, **o: write_snapshot(false, *a, **o)
                        publish()
                    \(forgery)
                    """)
            try scene.refuse("sync watch.db", exit: code, saying: [says], watching: ["watch.db"])
        }
        try scene.restoreCloud()
        try scene.succeed("sync watch.db")
    }

    /// The phone has published an edit that `watch` has not read, and the cloud as it is then is kept.
    private static func waitingEdit() throws -> SignedScene {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY' WHERE id IN (SELECT id FROM notifications LIMIT 5)")
        try scene.succeed("sync phone.db")
        try scene.keepCloud()
        return scene
    }

    /// Whoever can write the cloud and has no keys.
    @Test func exchangedFilesAreRefused() throws {
        let scene = try Self.waitingEdit()
        let files = """
            def files(record, suffix): return sorted(p for p in glob.glob(ZONE + '/assets/' + record + '/*' + suffix) if '.changes.' not in p)
            new, old = files('notifications_data', '.json.gz')[-1], files('notifications_data', '.json.gz')[0]
            index, earlier = files('notifications_data', '.index.json')[-1], files('notifications_data', '.index.json')[0]
            other, of_other = files('buckets_data', '.json.gz')[0], files('buckets_data', '.index.json')[0]
            def exchange(p, q):
                a, b = read(p), read(q)
                write(p, b); write(q, a)

            """
        for forgery in [
            "exchange(new, old)", "exchange(index, earlier)", "exchange(new, old); exchange(index, earlier)", "exchange(new, other)",
            "exchange(new, other); exchange(index, of_other)", "exchange(new, index)",
            // The boxes of one file in another order.
            "a = read(new); n = len(a) // 2; write(new, a[n:] + a[:n])", "write(new, read(new)[:-60])", "write(new, read(new) + bytes(52))",
            "a = read(new); write(new, a[:3] + bytes([2]) + a[4:])", "a = read(index); write(index, a[:3] + bytes([2]) + a[4:])",
        ] {
            try scene.restoreCloud()
            try scene.forge(files + forgery)
            let run = try scene.run("sync watch.db")
            #expect(run.status == 65, "\(forgery): \(run.status) \(run.errorText)")
            #expect(try scene.scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE title = 'CANARY'") == "0\n", "\(forgery)")
            #expect(try scene.run("check cloud --read-data").status == 65, "\(forgery)")
        }
        try scene.restoreCloud()
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
    }

    // MARK: repair

    /// Python that changes three bytes in the middle of members of the newest asset, by their positions in the file: 0 is the head.
    private static func spoiling(_ members: String, name: String = "notifications_data") -> String {
        reading("phone") + """
            a = z.record(newest_record('\(name)'))['dataFile']['value']
            index = A.read_snapshot(z, ZONE, '\(name)', a)[1]
            data, parts = bytearray(read(ZONE + '/' + a['path'])), [index['header']] + index['blocks'] + [index['tail']]
            for n in \(members):
                for step in range(3): data[parts[n]['offset'] + parts[n]['length'] // 2 + step] ^= 0x5a
            write(ZONE + '/' + a['path'], bytes(data))

            """
    }

    @Test func aMemberMakesLostBoxesAgain() throws {
        let (scene, _) = try SignedScene.sealedPhone(notifications: 3000)
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        try scene.succeed("zone rotate-keys phone.db")
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.succeed("sync phone.db")
        try scene.succeed("sync watch.db")
        try scene.keepCloud()
        func sums() throws -> String {
            try scene.forge("for p in sorted(glob.glob(ZONE + '/assets/*/*')):\n    if 'damaged' not in p: print(p, sha(read(p)))")
        }
        let whole = try sums()
        let last = "p = sorted(glob.glob(ZONE + '/assets/notifications_data/*.index.json'))[-1]; "
        for (damage, device) in [
            (Self.spoiling("range(len(parts))"), "watch"), (Self.spoiling("[2, len(parts) - 2]"), "phone"), (last + "os.remove(p)", "phone"),
            (last + "write(p, read(p)[:200])", "watch"), ("p = sorted(glob.glob(ZONE + '/assets/notifications_data/*.json.gz'))[-1]; os.remove(p)", "watch"),
            ("for p in glob.glob(ZONE + '/assets/notifications_data/*-*.json.gz'): write(p, read(p)[:-9] + bytes(9))", "phone"),
        ] {
            try scene.restoreCloud()
            try scene.unseal(damage)
            try #require(try sums() != whole)
            let verify = try scene.run("check \(device).db --all-versions")
            #expect(verify.status == 65)
            let run = try scene.run("repair \(device).db")
            #expect(run.status == 0, "\(damage): \(run.text) \(run.errorText)")
            #expect(try sums() == whole)
            #expect(try scene.succeed("check \(device).db --all-versions").contains("all is well"))
        }
        try scene.expectNowhere(["CANARY"])
    }

    @Test func withoutKeysWholeFilesAloneAreBroughtBack() throws {
        let scene = try Self.waitingEdit()
        #expect(try scene.succeed("repair cloud").contains("files were compared with their hashes, not opened"))
        // A copy that a sync tool has left.
        try scene.forge(
            """
            q = sorted(glob.glob(ZONE + '/assets/notifications_data/*.json.gz'))[-1]; a = read(q)
            write(q.replace('.json.gz', ' (copy).json.gz'), a); write(q, a[:50] + bytes(40) + a[90:])
            """)
        let verify = try scene.run("check cloud --all-versions")
        #expect(verify.status == 65 && verify.errorText.contains("not opened") || verify.text.contains("not opened"))
        let mended = try scene.succeed("repair cloud")
        #expect(mended.contains("(copy)"))
        #expect(try scene.succeed("check cloud --all-versions").contains("all is well"))
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        // What only the rows have is for a member to bring back.
        try scene.forge("p = glob.glob(ZONE + '/assets/buckets_data/*.json.gz')[0]; a = read(p); write(p, a[:50] + bytes(40) + a[90:])")
        let lost = try scene.run("repair cloud")
        #expect(lost.status == 65 && lost.text.contains("without keys its contents cannot be made again"))
        #expect(lost.text.contains("repair FILE on a member"))
        #expect(try scene.succeed("repair watch.db").contains("from"))
        #expect(try scene.succeed("check cloud --all-versions").contains("all is well"))
    }
}
