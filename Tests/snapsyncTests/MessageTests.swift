import Foundation
import TestSupport
import Testing

/// What is changed at a reader travels to the writer and comes back in the next version; all by the built command.
@Suite(.runsPrograms) struct MessageTests {
    /// Both sides in turn: the reader tells, the writer applies and publishes, the reader imports the answer.
    private func round(_ scene: Scene) throws { for database in ["watch.db", "phone.db", "watch.db"] { try scene.succeed("sync \(database)") } }

    /// The messages' files.
    private func mailbox(_ scene: Scene, of device: String = "watch") throws -> [String] {
        let folder = scene.scratch.path("\(Scene.zone)/messages/\(device)")
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private func expectSettled(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"), sourceLocation: location)
        #expect(try mailbox(scene) == [], sourceLocation: location)
        #expect(try scene.pendingEdits(of: "watch.db") == 0, sourceLocation: location)
        for database in ["watch.db", "phone.db"] { try scene.succeed("check \(database) --local", at: location) }
    }

    @Test func readMarksTravelAndTheOverlayEnds() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 3)")
        let read = "SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'"
        #expect(try scene.succeed("sync watch.db").hasSuffix("sent 3 edits to the publisher\n"))
        #expect(try mailbox(scene).count == 1)
        #expect(try scene.succeed("pending cloud").hasPrefix("3 edits in the mailbox of zone ZentikSyncZone\n  update notifications "))
        #expect(try scene.succeed("status watch.db").contains("\n  edits of readers: 3 handed over and not decided yet\n"))
        #expect(try scene.succeed("status phone.db").contains("\n  edits of readers: 3 to be decided here\n"))
        #expect(try scene.succeed("sync phone.db").contains("\n  edits of readers: 3 applied\n"))
        #expect(try scene.database("phone.db").run(read) == "3\n")
        try scene.sync("watch")
        #expect(try scene.database("watch.db").run(read) == "3\n")
        try expectSettled(scene)
        #expect(try scene.succeed("sync phone.db") == "nothing new since version 2; nothing was written\n")
    }

    @Test func aMessageIsJSONWithASealThatOtherToolsCheck() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z', updatedAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.sync("watch")
        let key = try scene.database("watch.db").run("SELECT min(id) FROM notifications").trimmingCharacters(in: .newlines)
        let name = try #require(try mailbox(scene).first)
        try Python.run(
            """
            import hashlib, json, re, sys
            raw = open(sys.argv[1], 'rb').read()
            assert raw.startswith(b'{"message":') and raw[-77:].startswith(b',"sha256":"'), raw
            assert hashlib.sha256(raw[11:-77]).hexdigest() == raw[-66:-2].decode()
            message = json.loads(raw)['message']
            assert re.fullmatch('[0-9a-f]{32}', message['id']) and message['id'] + '.json' == sys.argv[2]
            assert message['sender'] == 'watch' and message['zone'] == 'private/ZentikSyncZone'
            body = message['body']
            (edit,) = body.pop('edits')
            assert body == {'format': 1, 'id': message['id'], 'device': 'watch'}, body
            assert edit['dataset'] == 'notifications' and edit['id'] == sys.argv[3] and edit['number'] > 0, edit
            assert {column['name'] for column in edit['columns']} == {'readAt', 'updatedAt'}, edit
            assert json.loads(edit['row'])['readAt'] == '2026-11-20T10:00:00Z', edit
            """, [scene.scratch.path("\(Scene.zone)/messages/watch/\(name)"), name, key])
    }

    /// The reader's deletion is under way, and a later edit of the publisher brings the notification back. The mark is of that one.
    @Test func aMarkOfANotificationThatCameBackBringsNothingBack()
        throws
    {
        let scene = try Scene.phoneAndWatch()
        let phone = scene.database("phone.db"), watch = scene.database("watch.db"), folder = scene.scratch.path("\(Scene.zone)/messages")
        let one = "WHERE id = (SELECT min(id) FROM notifications)"
        try watch.run("DELETE FROM notifications \(one)")
        try scene.sync("watch")
        try phone.run("UPDATE notifications SET title = 'of the phone' \(one)")
        try FileManager.default.moveItem(atPath: folder, toPath: folder + ".held")
        try scene.sync("phone")
        try FileManager.default.moveItem(atPath: folder + ".held", toPath: folder)
        try scene.sync("watch")
        #expect(try watch.run("SELECT title FROM notifications \(one)") == "of the phone\n")
        try phone.run("DELETE FROM notifications \(one)")
        try watch.run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' \(one)")
        try scene.sync("phone")
        try round(scene)
        #expect(try watch.run("SELECT count(*) FROM notifications") == "29\n")
        try expectSettled(scene)
    }

    @Test func bucketsAreCreatedUpdatedAndDeleted() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            """
            INSERT INTO buckets VALUES('new', 'A ''quoted'' 🛰️', NULL, '', NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 1);
            INSERT INTO buckets VALUES('gone', 'x', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL);
            UPDATE buckets SET name = 'renamed' WHERE id = (SELECT min(id) FROM buckets WHERE id NOT IN ('new', 'gone'));
            """)
        try round(scene)
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM buckets WHERE name = 'renamed' OR id = 'new' OR id = 'gone'") == "3\n")
        try expectSettled(scene)
        try scene.database("watch.db").run("DELETE FROM buckets WHERE id = 'gone'; UPDATE buckets SET color = '#fff' WHERE id = 'new'")
        try round(scene)
        #expect(try scene.database("phone.db").run("SELECT id, color FROM buckets WHERE id IN ('gone', 'new')") == "new|#fff\n")
        try expectSettled(scene)
    }

    private static let bucket = "INSERT INTO buckets VALUES('b', 'of both', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL)"

    @Test func bucketThatAReaderAddedAndDeletedIsImportedEvenIfItsVersionWasPruned() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("phone.db").run(Self.bucket)
        try scene.sync("phone")
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        try scene.database("watch.db").run(Self.bucket)
        try scene.database("watch.db").run("DELETE FROM buckets WHERE id = 'b'")
        try round(scene)
        for database in ["watch.db", "phone.db"] { #expect(try scene.database(database).run("SELECT name FROM buckets WHERE id = 'b'") == "of both\n") }
        try expectSettled(scene)
    }

    @Test func deletionThatTheWriterMadeLaterIsNotSent() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(Self.bucket)
        try scene.sync("watch", "phone")
        // The reader has not read the answer yet when it deletes its bucket.
        for database in ["watch.db", "phone.db"] { try scene.database(database).run("DELETE FROM buckets WHERE id = 'b'") }
        try scene.sync("phone")
        #expect(!(try scene.succeed("sync watch.db")).contains("sent "))
        #expect(try scene.succeed("sync phone.db") == "nothing new since version 3; nothing was written\n")
        try expectSettled(scene)
    }

    @Test func aTextEditedByTheWriterLaterKeepsTheReadMark() throws {
        let scene = try Scene.phoneAndWatch()
        let key = "(SELECT min(id) FROM notifications)"
        let look = "SELECT title, readAt FROM notifications WHERE id = \(key)"
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = \(key)")
        try scene.database("phone.db").run("UPDATE notifications SET title = 'corrected' WHERE id = \(key)")
        try scene.sync("phone")
        // The text of the writer comes in, and the mark stays: with an import alone, too.
        try scene.succeed("import watch.db")
        #expect(try scene.database("watch.db").run(look) == "corrected|2026-11-20T10:00:00Z\n")
        #expect(try mailbox(scene) == [])
        try scene.sync("watch")
        #expect(try scene.database("watch.db").run(look) == "corrected|2026-11-20T10:00:00Z\n")
        try scene.database("phone.db").run("UPDATE notifications SET title = 'corrected again' WHERE id = \(key)")
        try scene.sync("phone")
        #expect(try scene.database("phone.db").run(look) == "corrected again|2026-11-20T10:00:00Z\n")
        try scene.sync("watch")
        #expect(try scene.database("watch.db").run(look) == "corrected again|2026-11-20T10:00:00Z\n")
        try expectSettled(scene)
    }

    @Test func whatReadersMayNotEditStaysAndIsCounted() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            """
            UPDATE notifications SET title = 'mine' WHERE id = (SELECT min(id) FROM notifications);
            UPDATE notifications SET title = 'mine, too', readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications);
            INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId)
                SELECT 'made here', 'new', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', min(id) FROM buckets;
            """)
        for _ in 0..<2 {
            try round(scene)
            try scene.database("phone.db").run(
                "UPDATE notifications SET body = 'of the writer' WHERE id = (SELECT id FROM notifications ORDER BY id LIMIT 1 OFFSET 5)")
            #expect(try scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE title IN ('mine', 'mine, too', 'new')") == "3\n")
            #expect(try mailbox(scene) == [])
            let messages = try #require(try scene.json("status watch.db")["messages"] as? [String: Int])
            #expect(messages == ["unanswered": 0, "missing": 0, "overlays": 3, "waiting": 0])
        }
        #expect(
            try scene.database("phone.db").run("SELECT count(*), max(title) LIKE 'mine%' FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "1|0\n")
        try scene.succeed("check watch.db --local")
        #expect(try scene.succeed("pending watch.db").contains("  stays here: insert notifications made here: readers may not add rows\n"))
    }

    @Test func whatIsNoMessageIsSetAsideAndStopsNothing() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 2)")
        try scene.sync("watch")
        try Python.run(
            """
            import hashlib, json, os, sys, time
            box = sys.argv[1] + '/messages'
            names = sorted(os.listdir(box + '/watch'))
            good = json.load(open(box + '/watch/' + names[0]))['message']
            good['body']['edits'] = good['body']['edits'][:1]
            count = 0
            def put(message, sender='watch', name=None, raw=None):
                global count
                count += 1
                body = json.dumps(message, sort_keys=True, separators=(',', ':'))
                raw = raw if raw is not None else ('{"message":' + body + ',"sha256":"' + hashlib.sha256(body.encode()).hexdigest() + '"}').encode()
                os.makedirs(box + '/' + sender, exist_ok=True)
                path = box + '/' + sender + '/' + (name or message['id'] + '.json')
                open(path, 'wb').write(raw)
                # An hour ago: a beginning of a message that is young would count as still arriving.
                os.utime(path, (time.time() - 3600,) * 2)
            def like(edit={}, **changes):
                message = json.loads(json.dumps(good))
                message['id'] = message['body']['id'] = '%032x' % (1000 + count)
                for key, value in changes.items():
                    (message if key in message and key != 'id' else message['body'])[key] = value
                if isinstance(message['body'], dict):
                    first = message['body']['edits'][0]
                    first['number'] += 10**12
                    for key, value in edit.items():
                        first[key] = value
                        if value is None: del first[key]
                return message
            put(like(sender='phone'))
            put(like(cloud='00000000-0000-4000-8000-000000000000'))
            put(like(zone='public/ZentikSyncZone'))
            put(like(format=2))
            put(like(device='phone'))
            put(like({'at': 'yesterday'}))
            put(like({'at': None}))
            put(like({'id': 7}))
            put(like({'number': -1}))
            put(like({'dataset': 'notes'}))
            put(like({'row': 'no JSON'}))
            put(like({'row': good['body']['edits'][0]['row'].replace('"id":"', '"id":"x')}))
            put(like({'columns': [{'name': 'mood', 'at': '2026-01-01T00:00:00Z'}]}))
            put(like(), name='x.json')
            put(like(), sender='somebody')
            put(like(), raw=open(box + '/watch/' + names[0], 'rb').read()[:-30])
            put(like(), raw=b'')
            put(like(body=7))
            put(like(), raw=b'{"message":' + b' ' * (1 << 20) + b'}')
            put(like(), raw=b'[' * 60000)
            os.mkdir(box + '/watch/' + '%032x.json' % 5)
            os.symlink('/etc/passwd', box + '/watch/' + '%032x.json' % 6)
            assert count == 20
            """, [scene.scratch.path(Scene.zone)])
        let report = try scene.json("pending phone.db")
        #expect((report["waiting"] as? [[String: Any]])?.count == 2)
        let setAside = try #require(report["setAside"] as? [[String: String]])
        let reasons = setAside.compactMap { $0["reason"] }
        #expect(setAside.count == 22, "\(reasons)")
        for reason in [
            "it is a message of another location or zone", "its sender is not the device whose folder it lies in", "its format is 2; update snapsync here",
            "its body says another id or device than its place in the mailbox", "it is not a message of this format, or lacks a field",
            "an edit of notifications lacks its key or its time", "the numbers of its edits do not ascend",
            "it is about a dataset that this device does not have", "a row of notifications is another than the one that its edit names",
            "an edit of notifications has columns that this device does not know", "a row is not one of notifications",
            "its name is not 32 hexadecimal digits and .json", "cut short or not a message", "its body is not a JSON object", "not a plain file",
        ] { #expect(reasons.contains { $0.contains(reason) }, "\(reason) is not in \(reasons)") }
        #expect(reasons.contains { $0.hasSuffix("at most 1048576 are allowed") })
        let exported = try scene.succeed("sync phone.db")
        #expect(
            exported.contains(
                "edits of readers: 2 applied, 1 refused\n  warning: 21 messages in the mailbox were set aside; snapsync pending phone.db says why"),
            "\(exported)"
        )
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM snapsync_changes") == "0\n")
    }

    @Test func aFullSyncIsAskedForAndComes() throws {
        let scene = try Scene.phoneAndWatch()
        let asset = try scene.asset("notifications")
        for _ in 0..<2 {
            #expect(try scene.succeed("repair watch.db --request-full") == "the publisher will write every dataset whole at its next sync\n")
        }
        #expect(try scene.succeed("pending watch.db").contains("\n  fullSync from watch\n"))
        #expect(try mailbox(scene).count == 1)
        #expect(try scene.succeed("sync phone.db").hasPrefix("published version 2\n  buckets: 4 entities"))
        #expect(try scene.asset("notifications") != asset)
        #expect(try scene.succeed("sync phone.db") == "nothing new since version 2; nothing was written\n")
        try scene.sync("watch")
        try expectSettled(scene)
        Scene.checkRefusal(try scene.run("repair phone.db --request-full"), exit: 78, saying: ["publishes itself", "snapsync export phone.db --full"])
    }

    /// Both devices tell of it, and the reader has the publisher's row.
    @Test func aRefusedEditIsKeptInBothJournalsAndNotSentAgain() throws {
        let scene = try Scene.phoneAndWatch()
        // A rule of the writer's that the reader does not have.
        let names = try scene.database("phone.db").run("CREATE UNIQUE INDEX one_name ON buckets(name); SELECT name FROM buckets ORDER BY id LIMIT 2").split(
            separator: "\n")
        try scene.database("watch.db").run("UPDATE buckets SET name = '\(names[1])' WHERE name = '\(names[0])'")
        try round(scene)
        #expect(try scene.database("phone.db").run("SELECT name FROM buckets ORDER BY id LIMIT 2").split(separator: "\n") == names)
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.succeed("conflicts phone.db").contains("(valueTaken)"))
        #expect(try scene.succeed("conflicts watch.db").contains("(refused)"))
        #expect(try mailbox(scene) == [])
        try scene.sync("watch")
        #expect(try mailbox(scene) == [])
        #expect(try scene.succeed("sync phone.db").hasPrefix("nothing new"))
    }

    /// Of a pair: a writer that takes all edits of its readers, and one of them.
    private static let roles = ("writer --reader-edits all", "reader")

    /// What the publisher's triggers raise refuses an edit as a CHECK does: they see it as they see a statement of the application.
    @Test(
        arguments: zip(["BEFORE INSERT", "BEFORE UPDATE OF name", "AFTER UPDATE", "BEFORE DELETE"], ["ABORT", "FAIL", "ABORT", "FAIL"]))
    func aTriggerOfThePublisherRefusesAnEdit(event: String, raise: String) throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id INT PRIMARY KEY NOT NULL, name TEXT, n INT); INSERT INTO t VALUES(1, 'one', 1), (2, 'two', 2), (3, 'three', 3)",
            roles: Self.roles)
        let row = event.hasSuffix("INSERT") || event.contains("UPDATE") ? "NEW" : "OLD"
        try scene.database("a.db").run("CREATE TRIGGER closed \(event) ON t WHEN \(row).id IN (2, 4) BEGIN SELECT RAISE(\(raise), 'it is closed'); END")
        let refused =
            event.hasSuffix("INSERT")
            ? "INSERT INTO t VALUES(4, 'four', 4)" : event.hasSuffix("DELETE") ? "DELETE FROM t WHERE id = 2" : "UPDATE t SET name = 'x' WHERE id = 2"
        try scene.database("b.db").run("\(refused); UPDATE t SET n = 30 WHERE id = 3; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES(5, 'five', 5)")
        try scene.sync("b")
        #expect(try scene.sync("a").contains("edits of readers: 3 applied, 1 refused"))
        try scene.sync("b")
        for (name, reason) in [("a", "(refused: the trigger closed failed (it is closed))"), ("b", "(refused)")] {
            #expect(try scene.database("\(name).db").run("SELECT group_concat(id || name || n) FROM t") == "2two2,3three30,5five5\n")
            #expect(try scene.succeed("conflicts \(name).db").contains(reason))
        }
        #expect(try scene.sync("b").contains("nothing") && scene.sync("a").contains("nothing"))
    }

    /// A row that its author deletes after handing it over has lost to nobody.
    @Test func whatAReaderDeletesAgainIsNoConflict() throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id INT PRIMARY KEY NOT NULL, a TEXT, u TEXT UNIQUE); INSERT INTO t VALUES(1, 'a', 'one'), (2, 'b', 'two')", roles: Self.roles)
        try scene.database("b.db").run("INSERT INTO t VALUES(3, 'c', 'three')")
        try scene.sync("b")
        try scene.database("b.db").run("DELETE FROM t WHERE id = 3")
        try scene.sync("a", "b", "a", "b")
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT count(*) FROM t") == "2\n")
            #expect(try scene.succeed("conflicts \(name).db") == "no edit has lost to another one\n")
        }
        // Of an edit of two columns only one is refused.
        try scene.database("a.db").run("UPDATE t SET u = 'taken' WHERE id = 1")
        try scene.database("b.db").run("UPDATE t SET a = 'x', u = 'taken' WHERE id = 2")
        try scene.sync("b", "a", "b")
        #expect(try scene.database("b.db").run("SELECT a, u FROM t WHERE id = 2") == "x|two\n")
        let told = try scene.succeed("conflicts b.db")
        #expect(told.contains(#"u: "taken" lost"#) && !told.contains("a: "), "\(told)")
    }

    /// A statement that changes no value does not make a change of the whole row of a mark, also where the version that the mark was made on is pruned.
    @Test(arguments: ["readAt = readAt", "title = title", "tapAction = NULL"])
    func aStatementThatChangesNothingLeavesAMarkAMark(assignment: String) throws {
        let scene = try Scene.phoneAndWatch()
        let row = "WHERE id = (SELECT min(id) FROM notifications WHERE tapAction IS NULL)"
        let key = try scene.database("watch.db").run("SELECT id FROM notifications \(row)").trimmingCharacters(in: .newlines)
        try scene.database("phone.db").run("DELETE FROM notifications WHERE id = '\(key)'")
        try scene.sync("phone")
        try scene.database("watch.db").run(
            "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = '\(key)'; UPDATE notifications SET \(assignment) WHERE id = '\(key)'")
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        for _ in 0..<2 { try round(scene) }
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM snapsync_changes; SELECT count(*) FROM notifications WHERE id = '\(key)'") == "0\n0\n")
        try expectSettled(scene)
    }
}
