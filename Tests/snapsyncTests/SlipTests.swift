import Foundation
import TestSupport
import Testing

/// What a person asks for by mistake is refused at once, in its own words, and leaves nothing that looks like a failure of syncing.
@Suite(.runsPrograms) struct SlipTests {
    @Test func slipsAreNotNotedAsTheLastError() throws {
        let scene = try Scene.phoneAndWatch()
        for (line, exit) in [
            ("restore phone.db 99", 66), ("export watch.db", 64),
            ("import watch.db --accept-rollback 1", 64),
            ("import watch.db --allow-shrink bucket", 64),
        ] {
            let database = line.hasSuffix("phone.db") ? "phone.db" : "watch.db"
            if line.contains("allow-shrink") { try scene.publishMore(1) }
            #expect(try scene.run(line).status == Int32(exit), "\(line)")
            #expect(try scene.json("status \(database)")["lastError"] == nil, "\(line)")
        }
        // A failure of syncing still is.
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        #expect(try scene.run("sync watch.db").status == 69)
        try FileManager.default.moveItem(atPath: scene.scratch.path("away"), toPath: scene.scratch.path("cloud"))
        #expect(try scene.json("status watch.db")["lastError"] != nil)
    }

    @Test func everyNameOfADatabaseHasOneLock() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.createDirectory(atPath: scene.scratch.path("elsewhere"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: scene.scratch.path("elsewhere/link.db"), withDestinationPath: "../watch.db")
        try scene.succeed("sync elsewhere/link.db")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("elsewhere")) == ["link.db"])
        let text = try Python.run(
            """
            import fcntl, struct, subprocess, sys
            with open('watch.db.snapsync-lock', 'r+') as lock:
                # F_OFD_SETLK, as another run would.
                fcntl.fcntl(lock, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))
                for name in ('watch.db', 'elsewhere/link.db'):
                    print(subprocess.run([sys.argv[1], 'sync', name], capture_output=True).returncode)
            """, [BuiltCommand.path()], in: scene.scratch.path)
        #expect(text == "75\n75\n")
        // What a run with nothing to do notes is found by either name.
        #expect(try scene.json("status elsewhere/link.db")["lastSuccess"] as? String == scene.json("status watch.db")["lastSuccess"] as? String)
    }

    @Test func waitForAnotherProgramsLockIsToldAfterASecond() throws {
        let scene = try Scene.phoneAndWatch()
        // The other program lets go once the notice has come, however long that takes.
        let hold = """
            import os, sqlite3, subprocess, sys
            c = sqlite3.connect('phone.db', isolation_level=None); c.execute('BEGIN IMMEDIATE')
            run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            line = run.stderr.readline(); c.execute('ROLLBACK')
            print(line.strip()); run.communicate(); print(run.returncode)
            """
        for (program, command) in [("snapsync", ["sync", "phone.db", "-n"]), ("snapsync-examples", ["generate", "phone.db", "--mark-read", "1"])] {
            let text = try Python.run(hold, [BuiltCommand.path(of: program)] + command, in: scene.scratch.path)
            #expect(text == "snapsync: notice: another program holds the lock of phone.db; waiting for it, up to 10 s\n0\n", "\(command): \(text)")
        }
    }

    @Test func readerWithRowsIsRefusedAtInit() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate watch.db --notifications 3 --buckets 1 --seed 9")
        let line = "join watch.db cloud --name watch"
        try scene.refuse(
            line, exit: 78, saying: ["watch.db, table buckets", "rows that did not come from this location", "--keep-local", "--replace-local"],
            watching: ["watch.db"])
        try scene.succeed(line + " --keep-local")
        try scene.sync("watch")
        #expect(try scene.value("SELECT count(*) FROM notifications", in: "watch.db") == "33")
        // A publisher's own rows are what it publishes, or merges.
        try scene.succeed("generate desk.db --notifications 3 --buckets 1")
        try scene.succeed("init desk.db other --peers --built-in --name desk")
    }

    @Test func containerIsComparedAtInitAndAtEachRun() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 3 --buckets 1")
        try scene.succeed("init phone.db cloud --built-in --name phone --container iCloud.org.example.one")
        try scene.sync("phone")
        for line in ["join watch.db cloud", "init watch.db cloud --built-in --zone Second"] {
            try scene.refuse(
                line + " --name watch --container iCloud.org.example.two", exit: 78,
                saying: ["belongs to iCloud.org.example.one, not to iCloud.org.example.two"])
            #expect(!scene.scratch.exists("watch.db"))
        }
        try scene.refuse("init watch.db none --built-in --container iCloud.two", exit: 78, saying: ["not a container identifier"])
        try scene.succeed("join watch.db cloud --name watch")
        try scene.sync("watch")
        #expect(try scene.value("SELECT value FROM snapsync_settings WHERE key = 'container'", in: "watch.db") == "iCloud.org.example.one")
        let marker = try String(decoding: scene.scratch.read("cloud/cloud.json"), as: UTF8.self)
        try scene.scratch.write(marker.replacing("example.one", with: "example.two"), to: "cloud/cloud.json")
        try scene.refuse("sync watch.db", exit: 78, saying: ["belongs to iCloud.org.example.two, not to iCloud.org.example.one"])
    }
}
