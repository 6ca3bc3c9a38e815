import Foundation
import TestSupport
import Testing

/// What attackers can and cannot do, beside the table of docs/security.md: forgers, and the cells that no other suite shows (`Tests/Threats/threats.md`).
@Suite(.runsPrograms) struct ThreatTests {
    private static let folder = Repository.path("Tests/Threats")

    private static func run(_ script: String, _ words: String...) throws {
        let run = try ProgramRun("python3", ["-B", "\(folder)/\(script)", BuiltCommand.path()] + words)
        #expect(run.status == 0, "\(run.text)\(run.errorText)")
    }

    @Test func forgedZonesReachNothingBesideTheirTables() throws { try Self.run("forge_zones.py", "1", "12") }

    @Test(.enabled(if: SignedScene.isAvailable)) func aMemberOfLesserRightForgesNothingInASignedZone() throws {
        let run = try SignedScene().runPython(["\(Self.folder)/forge_zones.py", BuiltCommand.path(), "1", "6", "--signed"])
        #expect(run.status == 0, "\(run.text)\(run.errorText)")
    }

    @Test func theJudgeOfForgedZonesFindsWhatIsWrong() throws { try Self.run("check_judge.py") }

    @Test func aFolderThatBecomesALinkWhileACommandRunsLeadsNowhere() throws {
        try Self.run("swap_links.py", "1", "8")
        if TracedRun.isPossible { try Self.run("swap_links.py", "2", "4", "--without-openat2") }
    }

    /// The readers' and observers' keys open every box, and sign no version; an observer's edits do not count.
    @Test(.enabled(if: SignedScene.isAvailable)) func aMemberOfASealedZoneDoesNoMoreThanItsRole() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.join("shelf")
        try scene.succeed("zone role phone.db shelf observer")
        for name in ["shelf", "watch"] { try scene.succeed("sync \(name).db") }
        try scene.scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z'")
        try scene.succeed("sync watch.db")
        try scene.keepCloud()
        for (name, signer, says) in [
            ("watch", "watch", "watch, which signed the commit, had the role reader"), ("shelf", "shelf", "observer, which does not publish"),
            ("phone", "watch", "by another key than phone's"),
        ] {
            try scene.restoreCloud()
            try scene.unseal(
                """
                z, k = open_zone(ZONE, seed_of('\(signer)')), keys_of('\(signer)')
                c = following('\(name)', k)
                f = z.record([r for r in load(1)['saved'] if r['name'] == 'buckets_data'][0])
                c['saved'] = [z.seal_record('buckets_data', 'BucketsData', f)]
                put(c, k)
                """)
            for database in ["watch.db", "phone.db"] { try scene.refuse("sync \(database)", exit: 65, saying: [says], watching: [database]) }
        }
        try scene.restoreCloud()
        try scene.unseal(
            """
            z = open_zone(ZONE, seed_of('shelf'))
            p = glob.glob(ZONE + '/messages/watch/*.json')[0]
            m = json.loads(read(p))['message']
            body = z.message('watch', m['id'], m['body'])
            m['sender'] = body['device'] = 'shelf'
            m['key'] = keys_of('shelf').key
            m['body'] = z.seal_message('shelf', m['id'], body)
            os.remove(p)
            write(p.replace('/watch/', '/shelf/'), seal(m, 'message', keys_of('shelf')))
            """)
        let before = try scene.scene.contents("phone.db")
        #expect(try scene.run("sync phone.db").text.contains("1 message in the mailbox was set aside"))
        #expect(try scene.run("pending phone.db").text.contains("shelf is an observer, which sends nothing"))
        #expect(try scene.scene.contents("phone.db") == before)
    }

    /// A version that was taken away is missed by those alone who have read it (`RollbackTests`), and no device can be removed.
    @Test func aPlainZoneHasNoMembersAndHidesItsVersions() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "old")
        try scene.publishMore(1)
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("old"), to: "cloud")
        #expect(try scene.succeed("sync watch.db").contains("version 1 is here already"))
        try scene.succeed("join late.db cloud --name late")
        #expect(try scene.succeed("sync late.db").contains("imported version 1"))
        for line in ["zone revoke phone.db watch", "zone members phone.db"] {
            try scene.refuse(line, exit: 78, saying: ["its zone is not signed, so it has no members"])
        }
        // What every program that unpacks gzip sees.
        let rows = try ProgramRun("gzip", ["-dc", scene.scratch.path(scene.asset("notifications"))]).text
        #expect(try rows.contains(scene.database("phone.db").run("SELECT min(id) FROM notifications").trimmingCharacters(in: .newlines)))
    }

    /// Of a sender that leaves message upon message, and removes none, no more is in memory at once than an honest one ever has there.
    @Test func aMailboxThatIsFilledTakesLittleMemory() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.sync("watch")
        try Python.run(
            """
            import copy, sys
            sys.path.insert(0, sys.argv[2])
            from zone import Zone
            zone = Zone(sys.argv[1])
            message = next(iter(zone.messages.values()))
            for n in range(40):
                new = copy.deepcopy(message)
                new['id'] = new['body']['id'] = '%032x' % n
                new['body']['edits'][0]['row'] += ' ' * 1_000_000
                zone.messages['messages/watch/%s.json' % new['id']] = new
            zone.save()
            """, [scene.scratch.path(Scene.zone), Self.folder])
        #expect(try scene.run("sync phone.db").text.contains("24 more messages wait; the next sync goes on with them"))
    }

    /// Rows that are held for want of a parent, which is held itself, and so on: at a reader with an edit, which puts its edits on the version's rows.
    @Test func aChainOfHeldRowsIsAsLongAsATable() throws {
        let scene = try Scene()
        try scene.database("desk.db").run("CREATE TABLE people(id TEXT PRIMARY KEY NOT NULL, boss REFERENCES people); INSERT INTO people(id) VALUES('a')")
        try scene.succeed("init desk.db cloud --name desk --reader-edits all")
        try scene.sync("desk")
        try scene.succeed("join copy.db cloud --name copy")
        try scene.sync("copy")
        try scene.database("desk.db").run("INSERT INTO people VALUES('b', 'a')")
        try scene.sync("desk")
        try Python.run(
            """
            import sys
            sys.path.insert(0, sys.argv[2])
            from zone import Zone
            zone = Zone(sys.argv[1])
            names = ['c%06d' % n for n in range(20000)]
            zone.asset(zone.record('people_data')).lists['held'] = [dict(id=one, boss=parent) for one, parent in zip(names, names[1:] + ['a'])]
            zone.save()
            """, [scene.scratch.path(Scene.mainZone), Self.folder])
        try scene.database("copy.db").run("INSERT INTO people(id) VALUES('own')")
        try scene.sync("copy")
        #expect(try scene.database("copy.db").run("SELECT count(*) FROM people") == "20003\n")
    }

    /// Each cell of the page's table has tests in `threats.md`, whose names Scripts/counts.py looks for.
    @Test func eachCellOfThePagesTableHasATest() throws {
        func table(_ path: String) throws -> [[Substring]] {
            let text = try String(contentsOfFile: Repository.path(path), encoding: .utf8)
            let part = try #require(text.components(separatedBy: "\n## Who can do what\n").last)
            let lines = part.split(separator: "\n").drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
            return lines.map { $0.split(separator: "|").map { Substring($0.trimmingCharacters(in: .whitespaces)) } }
        }
        let page = try table("docs/security.md"), tests = try table("Tests/Threats/threats.md")
        #expect(page.count > 2 && page.map(\.first) == tests.map(\.first) && page.first == tests.first)
        for (line, cells) in zip(page, tests).dropFirst(2) {
            #expect(line.count == cells.count)
            for cell in cells.dropFirst() { #expect(cell.contains(/Tests\.\w+/), "no test of \(line[0]): \(cell)") }
        }
    }
}
