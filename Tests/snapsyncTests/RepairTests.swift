import Foundation
import TestSupport
import Testing

/// `repair` brings back what is damaged or missing where its bytes are anywhere else, and says what is lost.
@Suite(.runsPrograms) struct RepairTests {
    private func removeSetAside(_ scene: Scene, _ folder: String) throws {
        for name in try scene.files(folder) where name.contains(".damaged-") {
            try FileManager.default.removeItem(atPath: scene.scratch.path("\(Scene.zone)/\(folder)/\(name)"))
        }
    }

    /// Whether every asset, index and checkpoint that a commit names has the size and hash that it says, told by Python alone.
    private func judge(_ scene: Scene) throws -> [String] {
        let said = try Python.run(
            """
            import glob, gzip, hashlib, json, os, sys
            zone = sys.argv[1]
            def sha(path): return hashlib.sha256(open(path, 'rb').read()).hexdigest() if os.path.exists(path) else None
            def assets(value):
                if isinstance(value, dict):
                    if 'path' in value: yield value
                    else:
                        for inner in value.values(): yield from assets(inner)
                if isinstance(value, list):
                    for inner in value: yield from assets(inner)
            parent = None
            for name in sorted(glob.glob(zone + '/commits/' + '[0-9]' * 20 + '.json')):
                commit = json.load(open(name))['commit']
                if parent and commit.get('parent') != parent: print('chain', name)
                parent = sha(name)
                for asset in assets(commit['saved']):
                    path = zone + '/' + asset['path']
                    if sha(path) != asset['sha256']: print('asset', asset['path'])
                    else: json.loads(gzip.open(path).read())
                    if 'index' in asset and sha(path.replace('.json.gz', '.index.json')) != asset['index']['sha256']: print('index', asset['path'])
                point = commit.get('checkpoint')
                if point and sha('%s/checkpoints/%020d.json' % (zone, point['number'])) != point['sha256']: print('checkpoint', point['number'])
            """, [scene.scratch.path(Scene.zone)])
        return said.split(separator: "\n").map(String.init)
    }

    @Test func damagedBlocksComeFromTheRows() throws {
        let scene = try Scene.phone(notifications: 3000, buckets: 3)
        let asset = try scene.asset("notifications"), good = try scene.scratch.read(asset)
        try #require(try scene.blocks(of: asset).count > 5)
        try scene.spoil(asset, blocks: [1, 2, 4])
        let bad = try scene.scratch.read(asset)

        let verify = try scene.run("check cloud --all-versions")
        #expect(
            verify.status == 65 && verify.text.contains("blocks 1, 2 and 4 of notifications_data@1") && verify.text.contains("run snapsync repair"),
            "\(verify.text)")
        #expect(!verify.text.contains("block 3"))
        let listing = try scene.cloudListing()
        let alone = try scene.run("repair cloud")
        #expect(alone.status == 65 && alone.text.contains("blocks 1, 2 and 4 are damaged here and nowhere else"), "\(alone.text)")
        #expect(alone.text.contains("hint: try snapsync repair FILE on a device") && alone.text.hasSuffix("0 files mended, 1 lost\n"))
        #expect(try scene.scratch.read(asset) == bad)

        let before = try scene.cloudListing(), rows = try scene.contents("phone.db")
        let dry = try scene.succeed("repair phone.db -n")
        #expect(
            dry.hasPrefix("would mend: assets/notifications_data/") && dry.contains("(blocks 1, 2, 4), which was damaged, from the rows of phone.db")
                && dry.hasSuffix("1 file can be mended\n"), "\(dry)")
        #expect(try scene.cloudListing() == before)
        #expect(before.entries.keys.sorted() == listing.entries.keys.sorted())

        let done = try scene.json("repair phone.db")
        let mended = try #require((done["mended"] as? [[String: Any]])?.first)
        #expect(mended["kind"] as? String == "snapshot" && mended["wasMissing"] as? Bool == false && mended["blocks"] as? [Int] == [1, 2, 4])
        #expect(mended["sources"] as? [String] == ["the rows of phone.db"] && (done["lost"] as? [Any])?.isEmpty == true)
        #expect(try scene.scratch.read(asset) == good && judge(scene) == [])
        let aside = try #require(mended["setAside"] as? String)
        #expect(try scene.scratch.read("\(Scene.zone)/\(aside)") == bad)
        try scene.succeed("check cloud --all-versions")
        #expect(try scene.contents("phone.db") == rows)
        #expect(try scene.succeed("repair phone.db") == "nothing to mend: every file is as its commit says\n")
        // What was set aside is told of, is in nobody's way, and nobody removes it.
        #expect(try scene.succeed("check cloud").contains(aside))
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        #expect(scene.scratch.exists("\(Scene.zone)/\(aside)"))
        try scene.succeed("join watch.db cloud --name watch")
        try scene.succeed("import watch.db")
        #expect(try scene.contents("watch.db") == rows)
    }

    @Test func blocksComeFromOtherVersionsAndWhatIsNowhereIsLost() throws {
        let scene = try Scene.phone(notifications: 3000, buckets: 3)
        let first = try scene.asset("notifications"), good = try scene.scratch.read(first)
        // One block differs in the second version; the rest is in both.
        try scene.database("phone.db").run("UPDATE notifications SET title = 'other' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.succeed("export phone.db --full")
        try #require(try scene.asset("notifications") != first)
        try scene.spoil(first, blocks: [2, 3])
        let said = try scene.succeed("repair cloud")
        #expect(said.contains("(blocks 2, 3)") && said.contains("from assets/notifications_data/00000000000000000002-"), "\(said)")
        #expect(try scene.scratch.read(first) == good && judge(scene) == [])

        // Spoilt again, and what was set aside, which has a good copy of block 0, is gone.
        try removeSetAside(scene, "assets/notifications_data")
        try scene.spoil(first, blocks: [0, 3])
        let lost = try scene.run("repair phone.db")
        #expect(lost.status == 65 && lost.errorText == "")
        #expect(
            lost.text.contains(
                "of version 1: block 0 is damaged here and nowhere else; hint: try snapsync repair on other devices; else leave it: only older versions need it"
            ), "\(lost.text)")
        // A mended part is no mended file: nothing was put in its place.
        #expect(try scene.scratch.read(first) != good && !scene.files("assets/notifications_data").contains { $0.contains(".damaged-") })
        let object = try #require(try JSONSerialization.jsonObject(with: scene.run("repair phone.db --json").output) as? [String: Any])
        let one = try #require((object["lost"] as? [[String: Any]])?.first)
        #expect(one["blocks"] as? [Int] == [0] && one["versions"] as? [Int] == [1] && one["isMissing"] as? Bool == false)

        // A reader's rows will do as well as a writer's.
        try scene.succeed("join watch.db cloud --name watch")
        try scene.succeed("import watch.db")
        let second = try scene.asset("notifications"), whole = try scene.scratch.read(second)
        try FileManager.default.removeItem(atPath: scene.scratch.path(second))
        let half = try scene.run("repair watch.db")
        #expect(
            half.status == 65 && half.text.contains("mended: assets/notifications_data/00000000000000000002-")
                && half.text.contains("which was missing, from "), "\(half.text)")
        #expect(try scene.scratch.read(second) == whole)
    }

    /// Each file of a version that a copy, the asset or the rows can bring back, whatever happened to it.
    @Test func filesOfAVersionComeFromCopiesRowsAndTheAsset() throws {
        let scene = try Scene.phone(notifications: 8000, buckets: 3)
        try scene.markRead(5)
        try scene.succeed("export phone.db --full")
        let names = try scene.files("assets/notifications_data").filter { $0.hasPrefix("00000000000000000002") }
        #expect(names.count == 3)
        for name in names {
            let path = "\(Scene.zone)/assets/notifications_data/\(name)", good = try scene.scratch.read(path), isChange = name.contains(".changes.")
            // Nothing else has what a version changed.
            if isChange { try scene.scratch.write(good, to: path.replacing(".json", with: " (copy).json")) }
            for damage in [
                { $0[33] ^= 4 }, { $0 = $0.prefix($0.count / 2) }, { $0 += Data([1, 2, 3]) }, { for offset in [20, 30, 40] { $0[offset] ^= 0xFF } },
            ] as [(inout Data) -> Void] {
                try scene.scratch.edit(path, damage)
                let said = try scene.succeed("repair phone.db")
                #expect(try scene.scratch.read(path) == good && judge(scene) == [], "\(said)")
            }
            try FileManager.default.removeItem(atPath: scene.scratch.path(path))
            let said = try scene.succeed("repair phone.db")
            #expect(said.contains("/\(name)") && said.contains("which was missing, from "), "\(said)")
            #expect(try scene.scratch.read(path) == good && judge(scene) == [], "\(said)")
            guard isChange else { continue }
            try FileManager.default.removeItem(atPath: scene.scratch.path(path.replacing(".json", with: " (copy).json")))
            try removeSetAside(scene, "assets/notifications_data")
            try scene.scratch.edit(path) { $0[33] ^= 4 }
            let lost = try scene.run("repair phone.db")
            #expect(lost.status == 65 && lost.text.contains("what the version changed is damaged, and nowhere else"), "\(lost.text)")
            try scene.scratch.write(good, to: path)
        }
        try scene.succeed("check cloud --all-versions")
    }

    @Test func commitsAndCheckpointsAreBroughtBack() throws {
        let scene = try Scene.phoneAndWatch(notifications: 5, buckets: 2)
        for number in 2...20 {
            try scene.database("phone.db").run("UPDATE buckets SET name = 'name \(number)'")
            try scene.succeed("export phone.db")
        }
        let checkpoint = try scene.newest("checkpoints"), folded = try scene.scratch.read(checkpoint)
        // The checkpoint follows from the commits, missing or damaged.
        for spoil in [{ try FileManager.default.removeItem(atPath: scene.scratch.path(checkpoint)) }, { try scene.scratch.write("{}", to: checkpoint) }] {
            try spoil()
            let said = try scene.succeed("repair cloud")
            #expect(said.contains("from the commits that it follows from"), "\(said)")
            #expect(try scene.scratch.read(checkpoint) == folded && judge(scene) == [])
        }
        // A commit, the newest or another, by a copy of it.
        for number in [20, 19, 7] {
            let path = "\(Scene.zone)/commits/\(String(repeating: "0", count: 20 - "\(number)".count))\(number).json", good = try scene.scratch.read(path)
            try scene.scratch.write(good, to: path.replacing(".json", with: " (copy).json"))
            try scene.scratch.edit(path) { $0 = $0.prefix(200) }
            let device = number == 20 ? "phone.db" : "cloud"
            let said = try scene.succeed("repair \(device)")
            #expect(said.contains("from the copy"), "\(said)")
            #expect(try scene.scratch.read(path) == good && judge(scene) == [])
            try FileManager.default.removeItem(atPath: scene.scratch.path(path.replacing(".json", with: " (copy).json")))
        }
        // Without a copy the commit is lost, and that is said.
        try removeSetAside(scene, "commits")
        let third = "\(Scene.zone)/commits/00000000000000000019.json"
        try scene.scratch.write("{}", to: third)
        let lost = try scene.run("repair cloud")
        #expect(
            lost.status == 65 && lost.text.contains("lost: commits/00000000000000000019.json of version 19: ")
                && lost.text.contains("bring the file back from a copy of the directory"), "\(lost.text)")
        #expect(try scene.scratch.read(third) == Data("{}".utf8))
    }

    @Test func repairIsRefusedWhereNothingCanBeDone() throws {
        let scene = try Scene.phone(notifications: 20, buckets: 3)
        try scene.refuse("repair none.db", exit: 66, saying: ["there is no such database"], asJSONToo: true)
        try scene.refuse("repair none", exit: 66, saying: ["there is no such database"], asJSONToo: true)
        try scene.succeed("config set phone.db sync off")
        #expect(try scene.run("repair phone.db").status == 78)
    }
}
