import Foundation
import TestSupport
import Testing

/// `zone sign` and `zone encrypt`: a zone that exists goes on signed or sealed, and everybody follows with nothing lost.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct TurnOverTests {
    private static let next = "cloud/private/ZentikSyncZone-sealed"

    private static func edit(_ word: String) -> String { "UPDATE notifications SET title = title || ' \(word)' WHERE id = (SELECT max(id) FROM notifications)" }

    /// A writer, and a reader that has its version 1, in a zone that is not signed.
    private func plainZone() throws -> SignedScene {
        SignedScene(
            scene: try Scene.copy(of: "a zone that is not signed") { scene in
                let scene = SignedScene(scene: scene)
                try scene.succeed("generate phone.db --notifications 30 --buckets 4")
                try scene.scene.database("phone.db").run("UPDATE notifications SET body = 'CANARY ' || id")
                try scene.succeed("init phone.db cloud --built-in --name phone")
                for line in ["sync phone.db", "join watch.db cloud --name watch", "sync watch.db"] { try scene.succeed(line) }
            })
    }

    private func words(_ device: String, in scene: SignedScene, zone: String) throws -> String {
        let list = try scene.json("zone members \(device).db")
        #expect(list["zone"] as? String == zone)
        return try #require(list["creator"] as? String)
    }

    @Test func aSealedZoneTakesTheReadersAlong() throws {
        let scene = try plainZone()
        // One message waits in the mailbox, one edit was never sent.
        try scene.succeed("generate watch.db --mark-read 2")
        try scene.succeed("sync watch.db")
        try scene.scene.database("watch.db").run("UPDATE buckets SET name = 'CANARY of watch' WHERE id = (SELECT min(id) FROM buckets)")
        try scene.scene.database("phone.db").run(Self.edit("CANARY of phone"))

        let plan = try scene.succeed("zone encrypt phone.db -n")
        #expect(plan.contains("zone ZentikSyncZone would end with version 2, and go on as the sealed zone ZentikSyncZone-sealed"), "\(plan)")
        #expect(plan.contains("watch would ask to be a member") && plan.contains("--prune-old would remove them"), "\(plan)")
        #expect(!scene.scene.scratch.exists(Self.next))

        let said = try scene.succeed("zone encrypt phone.db")
        #expect(said.contains("zone ZentikSyncZone goes on as the sealed zone ZentikSyncZone-sealed, which has version 1"), "\(said)")
        #expect(said.contains("the recovery code, shown this once and stored nowhere: "), "\(said)")
        #expect(said.contains("readable for whoever can read the store, until: snapsync zone encrypt phone.db --prune-old"), "\(said)")
        let words = try words("phone", in: scene, zone: "ZentikSyncZone-sealed")

        // The reader asks, waits, and keeps what was changed there.
        let waits = try scene.run("sync watch.db")
        #expect(waits.status == 75)
        for text in ["goes on as this sealed zone, made by \(words)", "watch has asked to be a member", "snapsync zone approve DB watch"] {
            #expect(waits.errorText.contains(text), "\(waits.errorText)")
        }
        let waiting = try scene.run("status watch.db")
        #expect(waiting.status == 75 && waiting.text.contains("it goes on as zone ZentikSyncZone-sealed"), "\(waiting.errorText)")
        #expect(try scene.succeed("zone approve phone.db watch --yes").contains("watch"))
        #expect(
            try scene.succeed("sync watch.db").contains(
                "zone ZentikSyncZone goes on as the sealed zone ZentikSyncZone-sealed; from now on this device trusts"))
        for name in ["phone", "watch", "phone", "watch"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        let phone = scene.scene.database("phone.db")
        #expect(try phone.run("SELECT count(*) FROM buckets WHERE name = 'CANARY of watch'") == "1\n")
        #expect(
            try phone.run("SELECT count(*) FROM notifications WHERE readAt IS NOT NULL")
                == scene.scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE readAt IS NOT NULL"))
        for line in ["check watch.db --all-versions --local", "check phone.db --all-versions --local"] {
            #expect(try scene.succeed(line).contains("all is well"), "\(line)")
        }
        try scene.expectNowhere(["CANARY"], in: [Self.next])

        // What was published before is said to be readable until it is removed.
        #expect(try scene.succeed("status phone.db").contains("it goes on from zone ZentikSyncZone, version 2, whose versions can still be read"))
        #expect(try scene.run("check phone.db").text.contains("zone ZentikSyncZone, which this one goes on from, has"))
        #expect(try scene.succeed("show cloud notifications --at 2 --zone ZentikSyncZone").contains("CANARY"))
        #expect(try scene.succeed("zone encrypt phone.db --prune-old").contains("were removed"))
        try scene.expectNowhere(["CANARY"])
        #expect(try scene.succeed("check phone.db -v").contains("zone ZentikSyncZone, which this one goes on from, says so, and has no data"))
        #expect(try scene.succeed("status phone.db").contains("whose versions were removed"))

        // A new device that knows the old name joins the new zone; a device that was away all the time does, too.
        let join = "join late.db cloud --zone ZentikSyncZone --name late --trust \(words)"
        #expect(try scene.run(join).status == 75)
        try scene.succeed("zone approve phone.db late --yes")
        #expect(try scene.succeed(join).contains("zone ZentikSyncZone goes on as zone ZentikSyncZone-sealed, which this device joins"))
        try scene.succeed("sync late.db")
        #expect(try scene.scene.contents("late.db") == scene.scene.contents("phone.db"))
        #expect(try scene.verifyIndependently(words, zone: Self.next).status == 0)
    }

    @Test func aReaderThatWasAwayFollowsAfterTheOldVersionsAreGone() throws {
        let scene = try plainZone()
        try scene.succeed("generate watch.db --mark-read 3")
        for number in 1...20 {
            try scene.scene.database("phone.db").run(
                "UPDATE buckets SET description = '\(number)'; DELETE FROM notifications WHERE \(number) % 3 = 0 AND id = (SELECT min(id) FROM notifications)")
            try scene.succeed("sync phone.db")
        }
        try scene.succeed("zone sign phone.db --prune-old")
        #expect(!scene.scene.scratch.exists("cloud/private/ZentikSyncZone/commits/00000000000000000021.json"))
        let warned = try scene.succeed("sync watch.db")
        #expect(warned.contains("goes on as the signed zone ZentikSyncZone-signed") && warned.contains("snapsync zone approve DB watch"), "\(warned)")
        try scene.succeed("zone approve phone.db watch --yes")
        for name in ["watch", "phone", "watch", "phone", "watch"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        #expect(try scene.succeed("check watch.db --all-versions --local").contains("all is well"))
        #expect(
            try scene.verifyIndependently(words("phone", in: scene, zone: "ZentikSyncZone-signed"), zone: "cloud/private/ZentikSyncZone-signed").status == 0)
    }

    @Test func peersFollowWithWhatTheyHaveNotPublished() throws {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications 20 --buckets 3")
        try scene.succeed("init phone.db cloud --peers --built-in --name phone")
        try scene.succeed("sync phone.db")
        for name in ["desk", "laptop"] {
            try scene.succeed("join \(name).db cloud --peer --name \(name)")
            try scene.succeed("sync \(name).db")
        }
        func title(_ name: String, _ text: String, row: Int) throws {
            try scene.scene.database("\(name).db").run(
                "UPDATE notifications SET title = '\(text)' WHERE id = (SELECT id FROM notifications ORDER BY id LIMIT 1 OFFSET \(row))")
        }
        try title("laptop", "CANARY laptop", row: 0)
        try title("desk", "CANARY desk", row: 1)
        try scene.scene.database("laptop.db").run("DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        try scene.succeed("sync desk.db")
        // Not the device that made the zone turns it over.
        try scene.succeed("zone encrypt desk.db")
        for name in ["phone", "laptop"] {
            #expect(try scene.run("sync \(name).db").status == 75)
            try scene.succeed("zone approve desk.db \(name) --yes")
            try scene.succeed("sync \(name).db")
        }
        for name in ["phone", "desk", "laptop", "phone", "desk", "laptop"] { try scene.succeed("sync \(name).db") }
        let contents = try scene.scene.contents("desk.db")
        for name in ["phone", "laptop"] { try #expect(scene.scene.contents("\(name).db") == contents) }
        #expect(try scene.scene.database("phone.db").run("SELECT count(*) FROM notifications") == "19\n")
        #expect(contents.contains("CANARY laptop"))
        for name in ["phone", "desk", "laptop"] { #expect(try scene.succeed("check \(name).db --local").contains("all is well")) }
        // A second one that wanted the same is told.
        try scene.refuse("zone encrypt laptop.db", exit: 78, saying: ["it is sealed already", "snapsync zone rotate-keys laptop.db --reseal"])
        try scene.refuse("zone sign laptop.db", exit: 78, saying: ["it is sealed already"])
        try scene.expectNowhere(["CANARY laptop"])
    }

    @Test func membersOfASignedZoneStayMembersOfTheSealedOne() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("zone approve phone.db watch --yes")
        try scene.succeed("join wall.db cloud --name wall")
        try scene.succeed("zone approve phone.db wall --role observer --yes")
        try scene.succeed("generate watch.db --mark-read 2")
        let report = try scene.json("zone encrypt phone.db --prune-old")
        #expect(report["admitted"] as? [String] == ["wall", "watch"] && report["isEarlierRemoved"] as? Bool == true)
        #expect((report["recoveryCode"] as? String)?.split(separator: "-").count == 18)
        for name in ["watch", "wall", "phone", "watch"] { try scene.succeed("sync \(name).db") }
        for name in ["watch", "wall"] { try scene.succeed("sync \(name).db") }
        for name in ["watch", "wall"] { #expect(try scene.scene.contents("\(name).db") == scene.scene.contents("phone.db")) }
        let members = try #require(try scene.json("zone members phone.db")["members"] as? [[String: Any]])
        #expect(members.map { "\($0["device"] ?? "") \($0["role"] ?? "")" }.sorted() == ["phone writer", "wall observer", "watch reader"])
        // The words of the zone that was left lead to the new one, for a member has signed where it goes on.
        let late = try scene.run("join late.db cloud --zone ZentikSyncZone --name late --trust \(scene.words("phone"))")
        #expect(late.status == 75 && late.errorText.contains("zone ZentikSyncZone-sealed: the zone is sealed"), "\(late.errorText)")
    }

    /// Copies of earlier data belong to the database, whichever zone goes on.
    @Test func keptCopiesStayReadable() throws {
        let scene = try Scene.phone()
        try scene.markRead(1)
        try scene.sync("phone")
        for line in ["restore phone.db 1", "undo phone.db"] { try scene.succeed(line) }
        try scene.succeed("zone sign phone.db")
        #expect(try scene.succeed("status phone.db").contains("  copy 1 of "))
        #expect(try scene.succeed("undo phone.db").hasPrefix("the data are now those of the state before the undo"))
        try scene.succeed("prune phone.db --copies --keep-last 0")
        #expect(!(try scene.succeed("status phone.db").contains("  copy ")))
    }

    /// Whoever can write the store takes the last version away and goes on in the clear.
    @Test func nobodyGoesBackToTheZoneThatWasLeft() throws {
        let scene = try plainZone()
        for line in ["join far.db cloud --name far", "sync far.db", "zone encrypt phone.db"] { try scene.succeed(line) }
        let words = try words("phone", in: scene, zone: "ZentikSyncZone-sealed")
        #expect(try scene.run("sync watch.db").status == 75)
        try scene.forge(
            """
            last = newest()
            body = dict(load(last), saved=load(last - 1)['saved'])
            for key in ('zoneEvent', 'requires'): body.pop(key, None)
            write(commit_path(last), seal(body, 'commit'))
            """)
        // Who has seen where the zone goes on does not look at the old one any more, a member or not yet.
        try scene.refuse("sync watch.db", exit: 75, saying: ["goes on as this sealed zone, made by \(words)"], watching: ["watch.db"])
        try scene.scene.database("phone.db").run(Self.edit("CANARY later"))
        for line in ["sync phone.db", "zone approve phone.db watch --yes", "sync watch.db"] { try scene.succeed(line) }
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        try scene.expectNowhere(["CANARY later"])
        #expect(try scene.run("check phone.db").text.contains("does not say any more that it goes on as zone ZentikSyncZone-sealed"))
        // A new device with the words is not led astray; nor is one that looks at what the zone says of itself now.
        try scene.refuse(
            "join late.db cloud --zone ZentikSyncZone --name late --trust \(words)", exit: 78,
            saying: ["the zone is not signed, and --trust says that it is"])
        try scene.forge("open('cloud/private/ZentikSyncZone-sealed/zone.json', 'w').write(read('cloud/private/ZentikSyncZone/zone.json').decode())")
        try scene.refuse("sync watch.db", exit: 65, saying: ["this device knows the zone as"], watching: ["watch.db"])
        try scene.refuse("sync phone.db", exit: 65, saying: ["this device knows the zone as"])
    }

    @Test func aZoneThatIsMadeOfAnotherKindThanWasSaidIsRefused() throws {
        let scene = try plainZone()
        try scene.succeed("zone encrypt phone.db")
        // Somebody puts a zone of his own there, of which the words differ.
        try scene.succeed("generate mallory.db --notifications 5 --buckets 1")
        try FileManager.default.moveItem(atPath: scene.scene.scratch.path(Self.next), toPath: scene.scene.scratch.path("aside"))
        try scene.succeed("init mallory.db cloud --built-in --zone ZentikSyncZone-sealed --name mallory --encrypt")
        try scene.succeed("sync mallory.db")
        let rows = try scene.scene.contents("watch.db")
        // It notes where the zone was said to go on, and takes no row from there.
        try scene.refuse("sync watch.db", exit: 65, saying: ["the zone was made by the holder of the key"])
        #expect(try scene.scene.contents("watch.db") == rows)
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path(Self.next))
        try scene.refuse("sync watch.db", exit: 75, saying: ["it has not arrived yet"])
        try FileManager.default.moveItem(atPath: scene.scene.scratch.path("aside"), toPath: scene.scene.scratch.path(Self.next))
        let waits = try scene.run("sync watch.db")
        #expect(waits.status == 75 && waits.errorText.contains("has asked to be a member"), "\(waits.errorText)")
    }

    @Test func whatCannotBeTurnedOverSaysWhy() throws {
        let scene = try plainZone()
        try scene.refuse("zone encrypt watch.db", exit: 78, saying: ["this device is a reader"])
        try scene.succeed("generate new.db --notifications 3 --buckets 1")
        try scene.succeed("init new.db cloud2 --built-in --name new")
        // The first version is made by the command itself.
        try scene.succeed("zone sign new.db --zone Signed")
        #expect(try scene.json("status new.db")["zone"] as? String == "Signed")
        // Run again, it has nothing to do but to remove what was left.
        #expect(try scene.succeed("zone sign new.db --prune-old").contains("were removed"))
    }
}
