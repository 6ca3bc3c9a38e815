import Foundation
import TestSupport
import Testing

/// Zones in which keys say who may write: what a user does and sees.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SignedZoneTests {
    @Test func aSignedZoneIsReadByWhoTrustsItsCreator() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        let marker = try scene.scene.scratch.read("\(Scene.zone)/zone.json")
        #expect(String(decoding: marker, as: UTF8.self).contains("\"features\":[\"signed\"]"))
        let check = try scene.verifyIndependently(scene.words("phone"))
        #expect(check.status == 0 && check.text == "phone writer\ncommit 2\n", "\(check.text)")
        #expect(try scene.verifyIndependently(scene.words("watch")).status == 65)
        #expect(try scene.succeed("sync watch.db").contains("is here already"))
        for line in ["check watch.db --all-versions", "check cloud --all-versions", "check phone.db", "check cloud"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }
    }

    @Test func initSaysWhomItTrusts() throws {
        let scene = try SignedScene()
        let made = try scene.json("init phone.db cloud --built-in --name phone --sign")
        let own = try #require((made["signature"] as? [String: Any])?["fingerprint"] as? String)
        #expect(try own == scene.words("phone"))
        #expect(own.split(separator: "-").count == 8 && own.allSatisfy { $0.isLowercase || $0 == "-" })
        try scene.succeed("sync phone.db")
        let text = try scene.succeed("join first.db cloud --name first")
        #expect(text.contains("warning: the zone is signed; from now on this device trusts the creator that it has met: \(own)"))
        #expect(text.contains("snapsync zone approve first"))
        let told = try scene.succeed("join told.db cloud --name told --trust \(own.uppercased())")
        #expect(told.contains("the zone is signed, by its creator \(own)") && !told.contains("warning"))
        // Somebody else's words.
        try scene.refuse(
            "join other.db cloud --trust \(scene.words("first"))", exit: 65, saying: [own, "this device trusts"])
        #expect(!scene.scene.scratch.exists("other.db"))
        #expect(try scene.run("join other.db cloud --trust some-words").status == 64)
    }

    @Test func anUnsignedZoneIsRefusedWhereASignedOneIsMeant() throws {
        let scene = try SignedScene()
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("sync phone.db")
        let words = try scene.forge("print(Keys().words)").trimmingCharacters(in: .whitespacesAndNewlines)
        try scene.refuse("join watch.db cloud --trust \(words)", exit: 78, saying: ["the zone is not signed", "--trust"])
        try scene.refuse("init desk.db cloud --built-in --name phone --sign", exit: 78, saying: ["it is not signed", "--zone"])
        #expect(!scene.scene.scratch.exists("watch.db") && !scene.scene.scratch.exists("desk.db"))
        #expect(try scene.run("join watch.db cloud --sign").status == 64)
    }

    @Test func nothingIsPublishedWithoutTheKeys() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("generate phone.db --mark-read 3")
        let path = try scene.forge("print(os.path.abspath(key_file('phone')))").trimmingCharacters(in: .whitespacesAndNewlines)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        try scene.refuse("sync phone.db", exit: 78, saying: [path, "other users may read the key file", "chmod 600"])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let keys = try Data(contentsOf: URL(fileURLWithPath: path))
        try FileManager.default.removeItem(atPath: path)
        try scene.refuse("sync phone.db", exit: 78, saying: [path, "the keys of phone are not there", "bring the file back"])
        try FileManager.default.copyItem(
            atPath: scene.scene.scratch.path(scene.forge("print(key_file('watch'))").trimmingCharacters(in: .newlines)), toPath: path)
        try scene.refuse("sync phone.db", exit: 78, saying: [path, "the device watch"])
        try Data("{".utf8).write(to: URL(fileURLWithPath: path))
        try scene.refuse("sync phone.db", exit: 78, saying: [path, "the key file cannot be understood"])
        // SNAPSYNC_KEY_FILE comes before the usual place.
        let named = scene.scene.scratch.path("phone.key")
        #expect(FileManager.default.createFile(atPath: named, contents: keys, attributes: [.posixPermissions: 0o600]))
        try scene.scene.succeed("sync phone.db", environment: scene.environment.merging(["SNAPSYNC_KEY_FILE": named]) { $1 })
        // So does what systemd hands to a service.
        try scene.succeed("generate phone.db --mark-read 5")
        try FileManager.default.createDirectory(atPath: scene.scene.scratch.path("credentials"), withIntermediateDirectories: true)
        try keys.write(to: URL(fileURLWithPath: scene.scene.scratch.path("credentials/snapsync-key")))
        try scene.scene.succeed(
            "sync phone.db", environment: scene.environment.merging(["CREDENTIALS_DIRECTORY": scene.scene.scratch.path("credentials")]) { $1 })
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
    }

    @Test func noPrivateKeyLeavesItsFile() throws {
        let scene = try SignedScene.phoneAndWatch()
        var printed = ""
        for line in ["sync watch.db", "status phone.db", "status watch.db --json", "check phone.db -v", "log phone.db"] {
            let run = try scene.run(line)
            printed += run.text + run.errorText
        }
        // A key file that is damaged must not be quoted either.
        try scene.forge(
            "p = key_file('phone'); d = read(p).replace(b'\"formatVersion\":1', b'\"formatVersion\":x'); open(p + '.bad', 'wb').write(d); os.chmod(p + '.bad', 0o600)"
        )
        let bad = scene.scene.scratch.path(try scene.forge("print(key_file('phone') + '.bad')").trimmingCharacters(in: .newlines))
        try scene.succeed("generate phone.db --mark-read 4")
        let run = try scene.scene.run("sync phone.db", environment: ["SNAPSYNC_KEY_FILE": bad])
        #expect(run.status == 78)
        printed += run.text + run.errorText
        try Data(printed.utf8).write(to: URL(fileURLWithPath: scene.scene.scratch.path("printed")))
        let found = try scene.forge(
            """
            secrets = [json.load(open(key_file(d)))[s] for d in ('phone', 'watch') for s in ('signingSeed', 'sealingSeed')]
            needles = [s.encode() for s in secrets] + [bytes.fromhex(s) for s in secrets]
            for folder, _, names in os.walk('.'):
                for name in names:
                    path = os.path.join(folder, name)
                    if not path.startswith('./keys/') and any(n in read(path) for n in needles): print(path)
            print(len(needles))
            """)
        #expect(found == "8\n")
    }
}
