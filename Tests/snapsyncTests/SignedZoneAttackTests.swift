import Foundation
import TestSupport
import Testing

/// What somebody tries who can write the whole cloud: made by an independent implementation, refused by the built command with 65 or 78, without a
/// change to a database.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SignedZoneAttackTests {
    @Test func flippedBitsAreTold() throws {
        let scene = try SignedScene.phoneAndWatch()
        // In the fields of key and signature, and in every part between the documents' parts.
        let places = [
            "data.index(b'\"key\":\"') + 7", "data.index(b'\"key\":\"') + 40", "len(data) - 3", "len(data) - 66", "len(data) - 130", "len(data) - 131",
            "len(data) - 140",
            "len(data) - 145", "len(data) - 146", "len(data) - 200", "len(data) - 1", "3", "500",
        ]
        for (number, place) in places.enumerated() {
            let flip = "p = commit_path(2); data = read(p); flip(p, \(place), \(number % 3))"
            try scene.attack(flip, saying: ["commits/00000000000000000002.json"], independently: number < 8)
        }
    }

    @Test func commitsOfOthersAreRefused() throws {
        let scene = try SignedScene.phoneAndWatch()
        for (forgery, says) in [
            ("c = following('phone', Keys()); put(c, k := Keys())", "invalid signature"),
            ("k = Keys(); put(following('phone', k), k)", "by another key than phone's"),
            ("k = Keys(); put(following('stranger', k), k)", "stranger, which signed the commit, was no member"),
            // A device that reads and has never been approved.
            ("k = keys_of('watch'); put(following('watch', k), k)", "watch, which signed the commit, was no member"),
            // Another kind of document, signed by the right key.
            ("k = keys_of('phone'); put(following('phone', k), k, label='snapsync-message 1\\n')", "invalid signature"),
            ("k = keys_of('phone'); put(following('phone', k), None)", "the zone is signed, and this commit is not"),
            ("k = keys_of('phone'); c = following('phone', k); del c['requires']; put(c, k)", "the commit does not say so"),
            ("k = keys_of('phone'); c = following('phone', k); del c['key']; put(c, k)", "invalid signature"),
            ("k = keys_of('phone'); c = following('phone', k); c['deleted'] = ['snapshot_members']; put(c, k)", "deletes the list of members"),
            // Version 2 once more, as version 3; and one whose number was changed.
            ("shutil.copy(commit_path(2), commit_path(3))", "another number than its name"),
            ("k = keys_of('phone'); c = following('phone', k); c['parent'] = '0' * 64; put(c, k)", "another parent"),
        ] {
            try scene.attack(
                forgery, saying: ["commits/0000000000000000000", says], independently: !says.contains("does not say so") && !says.contains("deletes"))
        }
    }

    @Test func aCommitOfAnotherZoneOrCloudCountsNowhereElse() throws {
        let scene = try SignedScene.phoneAndWatch()
        try scene.succeed("generate other.db --notifications 5 --buckets 2")
        try scene.succeed("init other.db cloud2 --built-in --name phone --sign")
        for line in ["sync other.db", "generate other.db --mark-read 1", "sync other.db"] { try scene.succeed(line) }
        try scene.attack("shutil.copy(commit_path(2, 'cloud2/private/ZentikSyncZone'), commit_path(2))", saying: ["another location or zone"])
        // The whole zone, in the place of ours.
        try scene.attack(
            "shutil.rmtree(ZONE); shutil.copytree('cloud2/private/ZentikSyncZone', ZONE)", saying: ["another location or zone"], independently: false)
    }

    @Test func theListOfMembersCannotBeForged() throws {
        let scene = try SignedScene.phoneAndWatch()
        let stranger = "k = Keys(); s = keys_of('phone'); l = statements(); floor = dict(number=1, hash='0' * 64); "
        let put = "c = following('phone', s); c['saved'].append(members_record(l)); put(c, s)"
        for (forgery, says) in [
            // Who is no member admits itself, also in a commit of a member.
            (
                "l = statement(l, k, action='add', by='phone', device='x', role='writer', key=k.key, sealKey=k.seal_key, floor=floor); " + put,
                "invalid signature"
            ),
            (
                "l = statement(l, k, action='add', by='x', device='x', role='writer', key=k.key, sealKey=k.seal_key, floor=floor); " + put,
                "invalid signature"
            ),
            // The list is exchanged, cut, or put in another order.
            (
                "l = statement([], s, cloud=c0['cloud'], zone=c0['zone'], action='create', by='phone', device='phone', role='writer', key=s.key, sealKey=s.seal_key); "
                    + put, "takes statements out"
            ),
            ("l = []; " + put, "1 to 4096 statements"),
            ("l = l + l; " + put, "it does not follow the one before"),
            ("l = statement(l, s, action='remove', by='phone', device='phone'); " + put, "the last member that publishes"),
            (
                "l = statement(l, s, action='add', by='phone', device='x', role='king', key=k.key, sealKey=k.seal_key, floor=floor); " + put,
                "a member has a role and keys"
            ),
            (
                "l = statement(l, s, action='add', by='phone', device='x', role='reader', key=k.key, sealKey=k.seal_key, floor=floor, cloud='"
                    + String(repeating: "0", count: 8)
                    + "-0000-4000-8000-000000000000'); " + put, "another location or zone"
            ),
        ] {
            try scene.attack(stranger + "c0 = load(1); " + forgery, saying: ["list of members", says], independently: false)
        }
    }

    @Test func aHistoryOfTheAttackersOwnIsRefusedByWhoKnowsTheCreator() throws {
        let scene = try SignedScene.phoneAndWatch()
        let forgery = """
            k = Keys()
            parent = None
            for number in (1, 2):
                c = load(number)
                c['key'] = k.key
                if parent: c['parent'] = parent
                for record in c['saved']:
                    if record['name'] == 'snapshot_members':
                        first = json.loads(record['fields']['statements']['value'][0]['value'])['statement']
                        first.update(key=k.key, sealKey=k.seal_key)
                        record.update(members_record([seal(first, 'statement', k).decode()]))
                put(c, k)
                parent = sha(read(commit_path(number)))
            """
        // A device that has read version 1 meets another one.
        try scene.attack(forgery, saying: ["the commit there is not the one that this device has read"])
        let words = try scene.words("phone")
        try scene.refuse(
            "join new.db cloud --name new --trust \(words)", exit: 65, saying: ["this device trusts \(words)"])
        #expect(!scene.scene.scratch.exists("new.db"))
        // One that has only been set up knows the creator, too.
        try scene.restoreCloud()
        try scene.succeed("join new.db cloud --name new --trust \(words)")
        try scene.attack(forgery, saying: ["this device trusts \(words)"], reader: "new")
    }

    @Test func aDeviceThatKnowsTheZoneAsSignedIsNotTalkedOutOfIt() throws {
        let scene = try SignedScene.phoneAndWatch()
        let unsigned = """
            marker = json.load(open(ZONE + '/zone.json'))
            marker['features'] = []
            write(ZONE + '/zone.json', text(marker))
            """
        try scene.attack(unsigned, saying: ["zone.json", "knows the zone as a signed one"])
        try scene.refuse("sync phone.db", exit: 65, saying: ["zone.json"], watching: ["phone.db"])
        // A history without signatures that goes with it.
        let history =
            unsigned + """

                parent = None
                for number in (1, 2):
                    c = load(number)
                    del c['key'], c['requires']
                    c['saved'] = [r for r in c['saved'] if r['name'] != 'snapshot_members']
                    if parent: c['parent'] = parent
                    put(c, None)
                    parent = sha(read(commit_path(number)))
                """
        try scene.attack(history, saying: ["zone.json", "knows the zone as a signed one"])
        // A device without knowledge meets signed commits in an unsigned zone.
        try scene.restoreCloud()
        try scene.forge(unsigned)
        let run = try scene.run("check cloud --read-data")
        #expect(run.status == 65 && run.errorText.contains("zone.json does not list the zone as signed"), "\(run.errorText)")
    }

    @Test func anOlderZoneIsRefusedByWhoHasJoinedLater() throws {
        let scene = try SignedScene.phoneAndWatch()
        // Set up at version 2, it has imported nothing yet.
        try scene.succeed("join new.db cloud --name new --trust \(scene.words("phone"))")
        try scene.keepCloud()
        try scene.attack(
            "os.remove(commit_path(2))", saying: ["the zone ends at commit 1", "this device has joined it at commit 2"], reader: "new", independently: false)
        try scene.restoreCloud()
        try scene.succeed("sync new.db")
    }
}
