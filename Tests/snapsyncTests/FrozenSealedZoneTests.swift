import Foundation
import TestSupport
import Testing

/// The frozen sealed zones of `Fixtures` are read as they always were: `sealed-1`, and `sealed-2`, which is padded and has keys of X-Wing.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct FrozenSealedZoneTests {
    private static let files = ["buckets-1.json", "buckets-4.json", "notifications-1.json", "notifications-4.json"]

    /// A scene with a copy of the fixture's cloud, and the recovery code.
    private func scene(_ fixture: String) throws -> (scene: SignedScene, code: String) {
        let scene = try SignedScene(), folder = Repository.path("Fixtures/\(fixture)")
        for name in ["cloud", "expected"] { try scene.scene.scratch.copy("\(folder)/\(name)", to: name) }
        let code = try String(contentsOfFile: "\(folder)/recovery-code.txt", encoding: .utf8)
        return (scene, code.trimmingCharacters(in: .newlines))
    }

    @Test(arguments: ["sealed-1", "sealed-2"]) func theRecoveryCodeReadsEveryVersion(fixture: String) throws {
        let (scene, code) = try scene(fixture)
        let line = "join new.db cloud --name new --recover"
        let run = try BuiltCommand.run(
            line.split(separator: " ").map(String.init), in: scene.scene.scratch.path, environment: scene.environment, input: Data("\(code)\n".utf8))
        #expect(run.status == 0, "\(run.errorText)")
        try scene.succeed("sync new.db")
        for file in Self.files {
            let parts = file.dropLast(5).split(separator: "-")
            let found = try scene.succeed("show new.db \(parts[0]) --at \(parts[1])")
            #expect(try Data(found.utf8) == scene.scene.scratch.read("expected/\(file)"), "\(file)")
        }
        #expect(try scene.succeed("check new.db --all-versions --local").contains("all is well"))
        #expect(try scene.scene.database("new.db").run("SELECT count(*) FROM notifications") == "11\n")
    }

    @Test(arguments: ["sealed-1", "sealed-2"]) func anIndependentProgramReadsIt(fixture: String) throws {
        let (scene, code) = try scene(fixture)
        let found = try scene.unseal(
            """
            import assets as A
            z = open_zone(ZONE, seed_of_words('\(code)'))
            for number in (1, 4):
                for saved in load(number)['saved']:
                    if saved['name'].startswith('snapshot_'): continue
                    rows = A.version(z, ZONE, saved['name'], z.record(saved))
                    name = saved['name'].replace('_data', '')
                    wanted = json.load(open('expected/%s-%d.json' % (name, number)))[name]
                    assert rows == {row['id']: row for row in wanted}
                    print(name, number, len(rows))
            p = glob.glob(ZONE + '/messages/watch/*.json')[0]
            print(sorted(z.secrets), z.message('watch', os.path.basename(p)[:-5], json.loads(read(p))['message']['body'])['type'])
            """)
        for dataset in ["buckets", "notifications"] {
            let expected = try JSONSerialization.jsonObject(with: scene.scene.scratch.read("expected/\(dataset)-4.json")) as? [String: Any]
            let rows = (expected?[dataset] as? [[String: Any]] ?? []).sorted { "\($0["id"] ?? "")" < "\($1["id"] ?? "")" }
            #expect(try scene.readIndependently(dataset, code: code) as NSArray == rows as NSArray, "\(dataset)")
        }
        #expect(Set(found.split(separator: "\n")) == ["buckets 1 3", "notifications 1 12", "buckets 4 3", "notifications 4 11", "[1, 2] notificationRead"])
    }
}
