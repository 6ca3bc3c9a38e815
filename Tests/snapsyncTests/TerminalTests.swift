import Foundation
import TestSupport
import Testing

/// What reaches a terminal: progress, and nothing that a stranger wrote to steer it.
@Suite(.runsPrograms) struct TerminalTests {
    /// Runs the command with standard error on a terminal (or in a file) and feeds it a container through a pipe that ends when the
    /// command says that it is at work, or, without a terminal, after as long as that took on one.
    private static let feed = """
        import json, os, pty, select, subprocess, sys, time, threading
        command, onTerminal, seconds = sys.argv[1], sys.argv[2] == 'terminal', float(sys.argv[3])
        main, side = pty.openpty()
        errors = side if onTerminal else open('errors', 'wb')
        os.mkfifo('feed.json')
        run = subprocess.Popen([command] + sys.argv[4:], stdout=subprocess.DEVNULL, stderr=errors)
        seen, done = b'', threading.Event()
        def watch():
            global seen
            while True:
                try: piece = os.read(main, 65536)
                except OSError: break
                if not piece: break
                seen += piece
                if b'import: ' in seen: done.set()
        if onTerminal: threading.Thread(target=watch, daemon=True).start()
        begin = time.monotonic()
        with open('feed.json', 'w') as feed:
            feed.write('{"syncTimestamp":"2099-01-01T00:00:00Z","buckets":[')
            feed.write(','.join(json.dumps({'id': f'b{n}', 'name': 'n' * 400, 'createdAt': 'x', 'updatedAt': 'y'}) for n in range(20000)))
            feed.flush()
            done.wait(None if onTerminal else seconds)
            feed.write(']}')
        status = run.wait()
        took = time.monotonic() - begin
        os.close(side)
        if onTerminal:
            while select.select([main], [], [], 0)[0] and not seen.endswith(b'\\r\\x1b[K'): pass
        os.remove('feed.json')
        print(json.dumps({'status': status, 'took': took, 'seen': (seen if onTerminal else open('errors', 'rb').read()).decode(errors='replace')}))
        """

    @Test func progressShowsOnATerminalOnly() throws {
        let scene = try Scene()
        try scene.succeed("generate any.db --notifications 0 --buckets 0")
        func run(_ arguments: [String]) throws -> [String: Any] {
            let text = try Python.run(Self.feed, [BuiltCommand.path()] + arguments + ["any.db", "--file", "feed.json"], in: scene.scratch.path)
            return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
        let terminal = try run(["terminal", "0", "import"])
        let seen = try #require(terminal["seen"] as? String)
        #expect(terminal["status"] as? Int == 0)
        #expect(seen.contains("\r\u{1B}[Kapply buckets: "))
        // The line is taken away when the command ends.
        #expect(seen.hasSuffix("\r\u{1B}[K"), "\(seen.suffix(40).debugDescription)")

        let took = try #require(terminal["took"] as? Double) + 0.5
        #expect(try run(["file", "\(took)", "import"])["seen"] as? String == "")
    }

    @Test func controlCharactersOfStrangersAreShownNotObeyed() throws {
        let scene = try Scene.phone(notifications: 0, buckets: 1)
        let evil = "\u{1B}]0;owned\u{07}\u{9B}2J\u{202E}x\r\n\u{2028}"
        func isClean(_ text: String) -> Bool {
            !text.unicodeScalars.contains {
                $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.generalCategory == .format || $0 == "\u{2028}")
            }
        }
        func check(_ arguments: [String], exit code: Int32, shows: String, at location: SourceLocation = #_sourceLocation) throws {
            let run = try BuiltCommand.run(arguments, in: scene.scratch.path)
            #expect(run.status == code, "\(run.errorText.debugDescription)", sourceLocation: location)
            #expect(isClean(run.text + run.errorText), "\((run.text + run.errorText).debugDescription)", sourceLocation: location)
            #expect((run.text + run.errorText).contains(shows), "\(run.text)\(run.errorText)", sourceLocation: location)
        }

        // Keys of rows, which errors show.
        try scene.database("phone.db").run(
            "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES(char(27) || '[2J' || char(155) || char(8238), x'00', '', '')")
        try check(["export", "phone.db"], exit: 65, shows: "column name")
        // Fields of a container that somebody else made.
        let field = String(decoding: try JSONEncoder().encode(evil), as: UTF8.self)
        try scene.scratch.write(
            #"{"syncTimestamp":"2099-01-01T00:00:00Z","buckets":[{"id":"a","name":"A","createdAt":"x","updatedAt":"y",\#(field):1}]}"#, to: "evil.json")
        try check(["import", "phone.db", "--file", "evil.json"], exit: 0, shows: "the fields \\u{1b}]0;owned\\u{7}\\u{9b}2J")
        // And a container that is refused.
        try scene.scratch.write(#"{"syncTimestamp":"2099-01-01T00:00:00Z","buckets":[],\#(field):1,\#(field):1}"#, to: "evil.json")
        try check(["import", "phone.db", "--file", "evil.json"], exit: 65, shows: "stands twice")
        // Names of files and directories.
        try check(["status", evil], exit: 66, shows: "\\u{1b}]0;owned")
        try check(["log", evil], exit: 66, shows: "\\u{1b}]0;owned")
        try scene.scratch.write("{}", to: "set\u{1B}[2J.json")
        try check(
            ["join", "phone.db", "cloud", "--datasets", "set\u{1B}[2J.json"], exit: 78, shows: "set\\u{1b}[2J.json")
        // Names in the cloud, which anyone may have put there.
        let device = "\(Scene.zone)/devices/\u{1B}[2Jx"
        try scene.scratch.write("{}", to: "\(device)/00000000000000000001.json")
        try check(["log", "cloud"], exit: 0, shows: "by phone")
        try CloudForgery.rewriteCommit(scene.scratch.path(scene.newest("commits")), "commit['device'] = 'a\\x1b[2J'")
        try check(["log", "cloud"], exit: 65, shows: "a name is not allowed")
    }

    @Test func namesOfDevicesThatCouldSteerATerminalAreRefused() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 1 --buckets 1")
        for name in ["\u{1B}[31m", "a b", "../up", ".hidden", "", "ünïcode", String(repeating: "d", count: 65)] {
            let run = try BuiltCommand.run(["init", "phone.db", "cloud", "--built-in", "--name", name], in: scene.scratch.path)
            Scene.checkRefusal(run, exit: 78, saying: ["device", "the name is not allowed", "use 1 to 64 of A-Z a-z 0-9 _ - ."])
        }
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
    }
}
