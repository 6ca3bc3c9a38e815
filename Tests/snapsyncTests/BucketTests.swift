import Foundation
import TestSupport
import Testing

/// The built command with a cloud in a bucket of a real object store.
@Suite(.runsPrograms, .enabled(if: BucketServer.isAvailable))
struct BucketTests {
    @Test func aWriterAndAReaderShareABucket() throws {
        let devices = try BucketScene()
        try devices.publish(notifications: 300)
        try devices.succeed("join watch.db \(devices.location) --endpoint \(devices.server.endpoint) --name watch")
        try devices.succeed("sync watch.db")
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"))

        try devices.scene.database("phone.db").run("UPDATE notifications SET title = 'changed' WHERE id IN (SELECT id FROM notifications LIMIT 3)")
        try devices.scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-22T10:00:00Z' WHERE id IN (SELECT max(id) FROM notifications)")
        try devices.succeed("sync watch.db")
        try devices.succeed("sync phone.db")
        try devices.succeed("sync watch.db")
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"))
        #expect(try devices.scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-22T10:00:00Z'").contains("1"))
        #expect(try devices.succeed("sync watch.db").contains("nothing was changed"))
        #expect(try devices.succeed("check watch.db --all-versions --local").contains("all is well"))
        let doctor = try devices.succeed("check phone.db -v")
        #expect(doctor.contains("of 16 writers of one key exactly one won") && doctor.contains("a listing has all objects"))
        // What was tried out is removed again, with one request.
        #expect(try !devices.keys().contains { $0.contains("probe-") })
        #expect(try devices.succeed("log watch.db").contains("version 2"))
    }

    /// An idle reader asks for the next commit and the newest; reports and `status` say what a run took. Nothing is counted with a directory.
    @Test func requestsAreFewAndSaid() throws {
        let devices = try BucketScene()
        try devices.publish(notifications: 30)
        try devices.succeed("join watch.db \(devices.location) --endpoint \(devices.server.endpoint) --name watch")
        try devices.succeed("sync watch.db")
        func requests(_ command: String) throws -> [String: Int] {
            let report = try JSONSerialization.jsonObject(with: Data(devices.succeed(command + " --json").utf8)) as? [String: Any]
            return try #require(report?["requests"] as? [String: Int])
        }
        let idle = try requests("sync watch.db")
        #expect(idle["reads"] == 2 && idle["writes"] == 0 && idle["removals"] == 0 && idle["bytesSent"] == 0)
        let publisher = try requests("sync phone.db")
        #expect(publisher["reads"] == 4 && publisher["writes"] == 0 && publisher["removals"] == 0, "\(publisher)")
        try devices.scene.database("phone.db").run("UPDATE buckets SET name = 'later'")
        let publishing = try requests("export phone.db")
        #expect(publishing["reads"] == 15 && publishing["writes"] == 4 && publishing["removals"] == 1, "\(publishing)")
        #expect(try requests("import watch.db")["writes"] == 1)
        #expect(try devices.succeed("status phone.db").contains("requests to the bucket"))
        try devices.succeed("generate here.db --notifications 3 --buckets 1")
        try devices.succeed("init here.db there --built-in --name here")
        #expect(try !devices.succeed("sync here.db --json").contains("requests"))
    }

    /// Importing a large asset keeps a part of it in memory, not all of it.
    @Test func aLargeAssetIsNotKeptInMemory() throws {
        let devices = try BucketScene()
        func peak(ofImporting value: String, as name: String) throws -> Int {
            try devices.scene.database("\(name).db").run(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO t SELECT i, \(value) FROM n;
                """)
            let place = "s3://\(try devices.server.bucket())/app --endpoint \(devices.server.endpoint)"
            try devices.succeed("init \(name).db \(place) --name w")
            try devices.succeed("sync \(name).db")
            try devices.succeed("join \(name)-copy.db \(place) --name r")
            let script = """
                import os, resource, subprocess, sys
                subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
                print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
                """
            let words = [try BuiltCommand.path(), "sync", devices.scene.scratch.path("\(name)-copy.db")]
            return try #require(Int(Python.run(script, words, environment: BucketScene.keys).trimmingCharacters(in: .whitespacesAndNewlines)))
        }
        let small = try peak(ofImporting: "NULL", as: "small")
        let large = try peak(ofImporting: "randomblob(60000)", as: "large")
        #expect(large - small < 56 << 10, "\(small) and \(large) KiB")
    }

    @Test func peersThatPublishAtTheSameTimeLoseNothing() throws {
        let devices = try BucketScene()
        try devices.succeed("generate p0.db --notifications 10 --buckets 2")
        for number in 0..<3 {
            let how = number == 0 ? ("init", "--peers --built-in") : ("join", "--peer")
            try devices.succeed(
                "\(how.0) p\(number).db \(devices.location) \(how.1) --endpoint \(devices.server.endpoint) --name p\(number)")
            try devices.succeed("sync p\(number).db")
        }
        let failures = try concurrently(3) { peer in
            for edit in 0..<6 {
                try devices.scene.database("p\(peer).db").run(
                    "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('p\(peer)-\(edit)', 'n', '2026-11-22T10:00:00Z', '2026-11-22T10:00:00Z')")
                let run = try devices.run("sync p\(peer).db")
                guard run.status == 0 else { return "\(run.status): \(run.errorText)" }
            }
            return nil
        }
        #expect(failures.isEmpty, "\(failures)")
        for _ in 1...2 { for number in 0..<3 { try devices.succeed("sync p\(number).db") } }
        let contents = try (0..<3).map { try devices.scene.contents("p\($0).db") }
        #expect(contents[0] == contents[1] && contents[1] == contents[2])
        #expect(try devices.scene.database("p0.db").run("SELECT count(*) FROM buckets").contains("20"))
    }

    @Test func aCloudIsMirroredIntoABucketAndBack() throws {
        let devices = try BucketScene()
        try devices.succeed("generate phone.db --notifications 500 --buckets 3")
        try devices.succeed("init phone.db cloud --built-in --name phone")
        try devices.succeed("sync phone.db")
        let bucket = "\(devices.location)?endpoint=\(devices.server.endpoint)"
        #expect(try devices.succeed("copy cloud \(bucket)").contains("copied 1 version and 2 assets"))
        try devices.scene.database("phone.db").run("UPDATE buckets SET name = 'later'")
        try devices.succeed("sync phone.db")
        #expect(try devices.succeed("copy cloud \(bucket)").contains("copied 1 version and 1 asset"))
        #expect(try devices.succeed("copy cloud \(bucket)").contains("nothing was missing"))
        // A move: the devices go on in the bucket, and the directory is its copy from then on.
        try devices.succeed("device move phone.db \(bucket)")
        try devices.scene.database("phone.db").run("UPDATE buckets SET name = 'in the bucket'")
        try devices.succeed("sync phone.db")
        #expect(try devices.succeed("copy \(bucket) cloud").contains("copied 1 version and 1 asset"))
        #expect(try devices.succeed("check cloud --all-versions").contains("all is well"))
        try devices.succeed("join watch.db cloud --name watch")
        try devices.succeed("sync watch.db")
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"))
    }

    /// Object names are file names: any tool that copies a folder to a bucket converts a cloud, in both directions.
    @Test func aCloudIsCopiedIntoADirectoryAndBack() throws {
        let devices = try BucketScene()
        try devices.publish()
        let copy = """
            import sys, os
            sys.path.insert(0, sys.argv[4])
            sys.dont_write_bytecode = True
            import s3
            endpoint, bucket, folder = sys.argv[1:4]
            store = s3.Bucket(endpoint, bucket)
            keys = store.keys("app/")
            for key in keys:
                target = os.path.join(folder, key[len("app/"):])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                open(target, "wb").write(store.get(key))
            print(len(keys))
            """
        let scripts = Repository.path("Tests/Servers")
        try FileManager.default.createDirectory(atPath: devices.scene.scratch.path("cloud"), withIntermediateDirectories: false)
        let count = try Python.run(copy, [devices.server.endpoint, devices.bucket, devices.scene.scratch.path("cloud"), scripts])
        #expect(Int(count.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 >= 6)
        // The directory is the same cloud: the writer goes on there.
        #expect(try devices.succeed("check cloud --read-data").contains("all is well"))
        try devices.succeed("join watch.db cloud --name watch")
        try devices.succeed("sync watch.db")
        try devices.scene.database("phone.db").run("UPDATE buckets SET name = 'elsewhere'")
        try devices.succeed("sync phone.db --location cloud")
        try devices.succeed("sync watch.db")
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"))
    }

    @Test(arguments: [
        ("s3://BUCKET/app --endpoint http://127.0.0.1:1", Int32(69), "cannot be reached"),
        ("s3://nosuchbucket-x/app --endpoint ENDPOINT", 69, "no such bucket"),
        ("s3://BUCKET/app --endpoint http://store.example.org", 78, "--allow-http"),
        ("s3://BUCKET/../app --endpoint ENDPOINT", 78, "prefix"),
        ("s3://BU/app --endpoint ENDPOINT", 78, "bucket's name"),
    ])
    func aPlaceThatCannotBeUsedIsTold(_ place: String, _ status: Int32, _ words: String) throws {
        let devices = try BucketScene()
        try devices.succeed("generate phone.db --notifications 3 --buckets 1")
        let before = try devices.scene.contents("phone.db")
        let line = place.replacingOccurrences(of: "BUCKET", with: devices.bucket).replacingOccurrences(of: "ENDPOINT", with: devices.server.endpoint)
        let run = try devices.run("init phone.db \(line) --built-in --name phone")
        #expect(run.status == status && run.errorText.contains(words), "\(run.status): \(run.errorText)")
        #expect(!run.errorText.contains("testsecret"))
        #expect(try devices.scene.contents("phone.db") == before)
    }

    @Test func aBucketSeesNothingOfASealedZone() throws {
        let devices = try BucketScene()
        let environment = BucketScene.keys.merging(["XDG_DATA_HOME": devices.scene.scratch.path("keys")]) { $1 }
        @discardableResult func run(_ line: String, exit code: Int32 = 0) throws -> String {
            let run = try devices.run(line, environment)
            #expect(run.status == code, "\(line): \(run.errorText)")
            return run.text
        }
        let place = "\(devices.location) --endpoint \(devices.server.endpoint)"
        try run("generate phone.db --notifications 200 --buckets 4")
        try run("init phone.db \(place) --peers --built-in --name phone --encrypt")
        try run("sync phone.db")
        for name in ["desk", "watch"] {
            let line = Scene.join("\(name).db", at: place, as: name == "desk" ? "peer" : "reader", "--name \(name)")
            try run(line, exit: 75)
            try run("zone approve phone.db \(name) --yes")
            try run(line)
            try run("sync \(name).db")
        }
        try devices.scene.database("desk.db").run("UPDATE notifications SET title = 'CANARY of the desk' WHERE id = (SELECT max(id) FROM notifications)")
        try devices.scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-22T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try run("zone revoke phone.db watch")
        for name in ["desk", "phone", "desk"] { try run("sync \(name).db") }
        try run("sync watch.db", exit: 78)
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("desk.db"))
        #expect(try run("check desk.db --all-versions --local").contains("all is well"))
        try run("copy \(devices.location)?endpoint=\(devices.server.endpoint) copy", exit: 0)
        let files = try FileManager.default.subpathsOfDirectory(atPath: devices.scene.scratch.path("copy"))
        #expect(files.contains { $0.hasSuffix(".json.gz") })
        for file in files where devices.scene.scratch.isPlainFile("copy/\(file)") {
            let data = try devices.scene.scratch.read("copy/\(file)")
            // The whole header of a gzip member: three bytes of it are in one of some hundred sealed files by chance.
            let header = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])
            for needle in [Data("CANARY".utf8), header, Data("recordCount".utf8)] { #expect(data.range(of: needle) == nil, "\(file)") }
        }
    }

    @Test func wrongCredentialsAreToldWithoutShowingThem() throws {
        let devices = try BucketScene()
        try devices.publish()
        var keys = BucketScene.keys
        keys["AWS_SECRET_ACCESS_KEY"] = "wrong-canary-secret"
        let wrong = try devices.run("sync phone.db", keys)
        #expect(wrong.status == 77 && wrong.errorText.contains("credentials"), "\(wrong.status): \(wrong.errorText)")
        keys["AWS_ACCESS_KEY_ID"] = ""
        keys["HOME"] = devices.scene.scratch.path
        let none = try devices.run("sync phone.db", keys)
        #expect(none.status == 77 && none.errorText.contains("AWS_ACCESS_KEY_ID"), "\(none.status): \(none.errorText)")
        // Neither an error nor the database has a secret in it.
        for text in [wrong.text, wrong.errorText, none.text, none.errorText] { #expect(!text.contains("canary")) }
        let bytes = try devices.scene.scratch.read("phone.db")
        #expect(bytes.range(of: Data("testsecret".utf8)) == nil && bytes.range(of: Data("canary".utf8)) == nil)
        #expect(try devices.run("status phone.db").status == 0)
    }

    @Test func aUserWhoMayOnlyReadImports() throws {
        let devices = try BucketScene()
        try devices.publish()
        var keys = BucketScene.keys
        (keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"]) = ("readkey", "readsecret")
        let setUp = try devices.run(
            "join watch.db \(devices.location) --endpoint \(devices.server.endpoint) --name watch", keys)
        #expect(setUp.status == 0, "\(setUp.errorText)")
        let run = try devices.run("sync watch.db", keys)
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"), "\(run.errorText)")
    }

    private func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) throws -> String?) throws -> [String] {
        let lock = NSLock()
        nonisolated(unsafe) var failures: [String] = []
        DispatchQueue.concurrentPerform(iterations: count) { number in
            let failure: String?
            do { failure = try body(number) } catch { failure = "\(error)" }
            if let failure { lock.withLock { failures.append(failure) } }
        }
        return failures
    }
}
