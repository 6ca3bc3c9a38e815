import Foundation
import TestSupport
import Testing

/// What anyone who may write to the directory can put there: no command leaves the directory, hangs, or takes it for what it is not.
@Suite(.runsPrograms) struct HostileFileTests {
    /// A writer, a reader that has sent a message, and a reader that has nothing yet; a good copy of it all in `good`.
    private func prepare() throws -> Scene {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        try scene.succeed("join tablet.db cloud --name tablet")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.sync("watch")
        for name in ["cloud", "phone.db", "tablet.db"] { try scene.scratch.copy(scene.scratch.path(name), to: "good/\(name)") }
        return scene
    }

    private func putBack(_ scene: Scene) throws {
        for name in ["cloud", "phone.db", "tablet.db"] {
            try FileManager.default.removeItem(atPath: scene.scratch.path(name))
            try scene.scratch.copy(scene.scratch.path("good/\(name)"), to: name)
        }
    }

    private enum Stand: String, CaseIterable {
        case link, fifo, folder, socket, device

        /// Puts this in the place of what was moved to `original`.
        func put(at path: String, for original: String) throws {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: original, isDirectory: &isFolder)
            switch self {
            case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: original)
            case .fifo: #expect(mkfifo(path, 0o600) == 0)
            case .folder where isFolder.boolValue: try Data().write(to: URL(fileURLWithPath: path))
            case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            // A path of a socket is short, so it is made from within its directory.
            case .socket:
                try Python.run(
                    "import os, socket, sys; os.chdir(os.path.dirname(sys.argv[1])); socket.socket(socket.AF_UNIX).bind(os.path.basename(sys.argv[1]))", [path])
            // The zero device.
            case .device: #expect((geteuid() == 0 ? mknod(path, 0o600 | S_IFCHR, 1 << 8 | 5) : mkfifo(path, 0o600)) == 0)
            }
        }
    }

    /// What a place is for, and so what must happen when something else stands there.
    private enum Need {
        /// Nobody can read without it, and a writer cannot publish.
        case everybody
        /// Readers need it; a writer that has its own data goes on.
        case readers
        /// Nobody needs it now.
        case nobody
    }

    private func places(_ scene: Scene) throws -> [(String, Need)] {
        let zone = Scene.zone, asset = try scene.asset("notifications")
        let message = try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("\(zone)/messages/watch"))[0]
        return [
            ("cloud/cloud.json", .everybody), ("\(zone)/zone.json", .everybody), (try scene.newest("commits"), .everybody),
            (asset, .readers), (asset.replacingOccurrences(of: ".json.gz", with: ".index.json"), .readers),
            ("\(zone)/messages/watch/\(message)", .nobody), (try scene.newest("devices/watch"), .nobody),
            ("cloud/private", .everybody), (zone, .everybody), ("\(zone)/commits", .everybody), ("\(zone)/assets", .readers),
            ("\(zone)/assets/notifications_data", .readers), ("\(zone)/checkpoints", .nobody), ("\(zone)/messages", .nobody),
            ("\(zone)/messages/watch", .nobody), ("\(zone)/devices/watch", .nobody),
        ]
    }

    @Test func nothingElseIsTakenForAFileOrDirectoryOfTheCloud() throws {
        let scene = try prepare()
        let before = try scene.contents("tablet.db")
        for (number, (place, need)) in try places(scene).enumerated() {
            // Each place has a link, which alone could lead out of the directory, and one of the others in turn.
            for stand in [Stand.link, Stand.allCases[1 + number % 4]] {
                let path = scene.scratch.path(place), original = scene.scratch.path("outside")
                try FileManager.default.moveItem(atPath: path, toPath: original)
                try stand.put(at: path, for: original)
                let outside = try fingerprint(original)
                let what = Comment(rawValue: "\(stand.rawValue) in place of \(place)")

                let imported = try scene.run("import tablet.db")
                #expect(imported.status == (need == .nobody ? 0 : 65), "\(what): \(imported.errorText)")
                if need != .nobody {
                    #expect(try scene.contents("tablet.db") == before, what)
                    #expect(
                        imported.errorText.contains(URL(fileURLWithPath: place).lastPathComponent) && imported.errorText.contains("plain file"),
                        "\(what): \(imported.errorText)")
                }
                if stand == .link {
                    let doctor = try scene.run("check cloud --zone ZentikSyncZone")
                    #expect(doctor.status == 65, "\(what): \(doctor.status) \(doctor.text)")
                }
                if stand == .link || need == .nobody {
                    let synced = try scene.run("sync phone.db")
                    #expect(need == .everybody ? synced.status == 65 : [0, 65].contains(synced.status), "\(what): \(synced.errorText)")
                }

                #expect(try fingerprint(original) == outside, what)
                try FileManager.default.removeItem(atPath: original)
                try putBack(scene)
            }
        }
    }

    /// The names and bytes at a path that is a file or a directory.
    private func fingerprint(_ path: String) throws -> [String: Data] {
        var found = ["": FileManager.default.contents(atPath: path) ?? Data()]
        for name in (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? [] {
            found[name] = FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data()
        }
        return found
    }

    @Test func assetsOfAnotherVersionOrZoneAreRefused() throws {
        let cloud = try DamagedCloud(notifications: 5)
        let zone = Scene.zone, scene = cloud.scene
        let first = try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path(cloud.folder)).sorted().first {
            $0.hasPrefix("00000000000000000001-") && $0.hasSuffix(".json.gz")
        }
        let old = "\(cloud.folder)/\(try #require(first))"
        // The new commit with the old assets, and the other way round.
        try cloud.refuse(saying: [cloud.name]) { try $0.write($0.read(old), to: cloud.asset) }
        try cloud.refuse(saying: [cloud.name]) { scratch in
            try scratch.write(scratch.read(old), to: cloud.asset)
            try scratch.write(scratch.read(old.replacingOccurrences(of: ".json.gz", with: ".index.json")), to: cloud.index)
        }
        // A commit replayed under the next number, and one that was put back over the newest.
        try cloud.refuse(saying: ["commits/00000000000000000003.json", "another number than its name"]) { scratch in
            try scratch.write(scratch.read(cloud.commit), to: "\(zone)/commits/00000000000000000003.json")
        }
        try cloud.refuse(saying: ["commits/00000000000000000002.json", "another number than its name"]) { scratch in
            try scratch.write(scratch.read("\(zone)/commits/00000000000000000001.json"), to: cloud.commit)
        }
        // A commit of another cloud, whose own number and parent would fit.
        let other = try Scene.phone(notifications: 2, buckets: 1)
        try other.succeed("generate phone.db --mark-read 1")
        try other.succeed("export phone.db")
        try cloud.refuse(saying: ["commits/00000000000000000002.json", "another location or zone"]) { scratch in
            try scratch.write(other.scratch.read(other.newest("commits")), to: cloud.commit)
        }
    }

    /// As many folders as there may be files, and more than a process may have open.
    @Test func moreFoldersThanAProcessMayHaveOpenStopNobody() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        try Python.run(
            "import os, sys\nfor kind in ('devices', 'messages', 'assets'):\n    for n in range(300): os.mkdir(f'{sys.argv[1]}/{kind}/d{n}')",
            [scene.scratch.path(Scene.zone)])
        try scene.markRead(1)
        for line in ["sync phone.db", "sync watch.db", "status phone.db", "check phone.db", "prune phone.db --keep-last 1"] {
            let run = try ProgramRun("sh", ["-c", "ulimit -n 100; exec \"$0\" \(line)", BuiltCommand.path()], in: scene.scratch.path)
            #expect(run.status == 0, "\(line): \(run.text)\(run.errorText)")
        }
        #expect(try scene.json("status watch.db")["version"] as? Int == 2)
    }

    @Test func foreignFilesInGreatNumberStopNobodyAndFillNoScreen() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        let count = Sample.isWhole ? 100_000 : 5000
        try Python.run(
            "import sys\nfor n in range(int(sys.argv[2])): open(f'{sys.argv[1]}/stranger {n}', 'x').close()",
            [scene.scratch.path("\(Scene.zone)/commits"), "\(count)"])
        try scene.markRead(1)
        try scene.sync("phone")
        #expect(try scene.succeed("sync watch.db").contains("imported version 2"))
        try scene.succeed("check cloud --all-versions")
        let doctor = try scene.run("check cloud")
        #expect(doctor.text.contains(count == 5000 ? "5,000 " : "100,000 ") && doctor.text.utf8.count < 8000, "\(doctor.text.prefix(4000))")
    }
}
