import Foundation
import TestSupport
import Testing

/// What keeps a sealed zone in order: resealing, old reports, and what the doctor says of zones that are not sealed.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SealedCareTests {
    private static let edit = "UPDATE notifications SET title = title || ' CANARY' WHERE id = (SELECT max(id) FROM notifications)"

    /// Without resealing, blocks that did not change keep the keys that the removed device has.
    @Test func resealingLeavesNothingToEarlierKeys() throws {
        let (scene, _) = try SignedScene.sealedPhone(notifications: 300)
        try scene.join("watch")
        try scene.join("shelf")
        try scene.succeed("sync watch.db")
        try scene.succeed("zone revoke phone.db watch")
        let report = try scene.json("zone rotate-keys phone.db --reseal")
        let version = try #require(report["resealed"] as? Int)
        #expect(report["epoch"] as? Int == 3 && version == (report["version"] as? Int).map { $0 + 1 })
        let look = """
            z = open_zone(ZONE, seed_of('shelf'))
            for saved in load(\(version))['saved']:
                for asset in saved['fields']['assets']['value']:
                    path, data, at = ZONE + '/' + asset['value']['path'], None, 0
                    for p in (path, path.replace('.json.gz', '.index.json')):
                        assert read(p)[:4] == bytes([0, 0, 0, 3]), p
                    index = z.open(read(path.replace('.json.gz', '.index.json')), 'index', saved['name'])
                    index = json.loads(index)
                    for member in [index['header']] + index['blocks'] + [index['tail']]:
                        assert read(path)[member['offset']:][:4] == bytes([0, 0, 0, 3]), member
                        at += 1
                    print(saved['name'], at > 2)
            """
        #expect(try scene.unseal(look) == "buckets_data True\nnotifications_data True\n")
        try scene.succeed("sync shelf.db")
        #expect(try scene.scene.contents("shelf.db") == scene.scene.contents("phone.db"))
        // The older versions go when that is asked for; what is young stays, so all of it is made old.
        try scene.forge(
            "for f, _, names in os.walk('cloud'): [os.utime(os.path.join(f, n), (os.path.getmtime(os.path.join(f, n)) - 864000,) * 2) for n in names]")
        let pruned = try scene.json("prune phone.db --keep-last 1")
        #expect((pruned["removedVersions"] as? [Int])?.contains(1) == true)
        let kept = try scene.unseal("print(sum(read(p)[:4] != bytes([0, 0, 0, 3]) for p in glob.glob(ZONE + '/assets/*/*')))")
        #expect(kept == "0\n")
        try scene.join("late")
        try scene.succeed("sync late.db")
        #expect(try scene.scene.contents("late.db") == scene.scene.contents("phone.db"))
        #expect(try scene.succeed("check phone.db --all-versions --local").contains("all is well"))
        // A reader changes no keys, and publishes nothing.
        try scene.refuse("zone rotate-keys shelf.db --reseal", exit: 78, saying: ["it makes no commits"])
    }

    /// Whoever can write the cloud can put an older report of a device back; it is no sign of a copied database.
    @Test(arguments: [true, false]) func anOldReportThatIsPutBackStopsNobody(isKept: Bool) throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.forge("shutil.copytree(ZONE + '/devices/watch', 'old')")
        for _ in 0..<2 {
            try scene.scene.database("phone.db").run(Self.edit)
            try scene.succeed("sync phone.db")
            try scene.succeed("sync watch.db")
        }
        try scene.forge(
            """
            if not \(isKept ? "True" : "False"): shutil.rmtree(ZONE + '/devices/watch')
            write(ZONE + '/devices/watch/%020d.json' % 99, read(sorted(glob.glob('old/*.json'))[-1]))
            """)
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        // The device has written above it what is true.
        #expect(try scene.forge("print(sorted(os.listdir(ZONE + '/devices/watch'))[-1])") == "00000000000000000100.json\n")
        let newest = try scene.json("status phone.db")["version"] as? Int
        let devices = try #require(try scene.json("status phone.db")["devices"] as? [[String: Any]])
        #expect(devices.first { $0["device"] as? String == "watch" }?["version"] as? Int == newest)
        // A copy of the database that syncs with the same keys is still found.
        try scene.scene.scratch.copy(scene.scene.scratch.path("watch.db"), to: "copy.db")
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.succeed("sync copy.db")
        try scene.scene.database("phone.db").run(Self.edit)
        try scene.succeed("sync phone.db")
        try scene.refuse("sync watch.db", exit: 78, saying: ["another database has synced as watch"])
    }

    @Test(arguments: ["", "--sign", "--encrypt"]) func rowsThatCopiesOfTheFolderShowAreTold(_ kind: String) throws {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications 20 --buckets 3")
        try scene.succeed("init phone.db cloud --built-in --name phone \(kind)")
        try scene.succeed("sync phone.db")
        #expect(try !scene.succeed("check phone.db").contains("notice: encryption"))
        #expect(try !scene.succeed("status phone.db").contains("not sealed"))
        try FileManager.default.createDirectory(atPath: scene.scene.scratch.path("cloud/.stfolder"), withIntermediateDirectories: false)
        let told = try scene.succeed("check phone.db")
        #expect(told.contains("notice: encryption: the zone is not sealed, and Syncthing replicates its folder") == (kind != "--encrypt"), "\(told)")
        #expect(told.contains("all is well"))
        let status = try scene.succeed("status phone.db")
        #expect(status.contains("the oldest key is phone's, of 20") == !kind.isEmpty, "\(status)")
        let exposure = "not sealed, and Syncthing replicates its folder: whoever can read a copy of the folder can read every row"
        #expect(status.contains("  \(exposure)\n") == (kind != "--encrypt"), "\(status)")
        #expect(try scene.json("status phone.db")["exposure"] as? String == (kind == "--encrypt" ? nil : exposure))
    }
}
