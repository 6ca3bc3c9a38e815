import Foundation
import TestSupport
import Testing

/// One request of a sync is spoiled by a proxy in front of a real object store. Whatever the store has done by then, no edit is lost, and each is published once.
@Suite(.runsPrograms, .enabled(if: BucketServer.isAvailable))
struct BucketFaultTests {
    /// `Tests/Servers/faulty_proxy.py` says what they are, and which exit codes a run may have: one attempt that fails is made again, but a refusal is not.
    private static let faults: [(name: String, codes: Set<Int32>)] =
        ["request-cut", "request-cut@40", "answer-lost", "answer-cut", "answer-cut@36", "body-cut", "too-long", "twice", "500", "503", "409", "refused"].map {
            ($0, [0])
        } + [("403", [0, 77])]

    /// With `make torture` each fault spoils every request, otherwise every other fault one request in seven, another one for each fault.
    @Test(arguments: Sample.of(faults.indices, oneIn: 2)) func editIsPublishedOnceWhateverBecomesOfARequest(number: Int) throws {
        let (fault, codes) = Self.faults[number]
        let devices = try BucketScene(), proxy = try FaultyProxy(before: devices.server.endpoint)
        try devices.succeed("generate phone.db --notifications 5 --buckets 2")
        try devices.succeed("init phone.db \(devices.location) --built-in --endpoint \(proxy.endpoint) --name phone")
        try devices.succeed("sync phone.db")
        try devices.succeed("join watch.db \(devices.location) --endpoint \(proxy.endpoint) --name watch")
        try devices.succeed("sync watch.db")

        var version = 1
        for device in ["phone", "watch"] {
            var request = Sample.isWhole ? 1 : 1 + number % 7, isReached = true
            // A run that was not spoiled has had fewer requests.
            while isReached {
                version += 1
                try devices.scene.database("phone.db").run("UPDATE buckets SET name = '\(device) \(request)' WHERE id = (SELECT min(id) FROM buckets)")
                if device == "watch" { try devices.succeed("sync phone.db") }
                let run = try proxy.spoiling(request, with: fault) { try devices.run("sync \(device).db") }
                #expect(codes.contains(run.status), "\(fault) of request \(request): \(run.status), \(run.errorText)")
                isReached = proxy.seen >= request
                try devices.succeed("sync phone.db")
                try devices.succeed("sync watch.db")
                #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"), "\(fault) of request \(request)")
                let status = try JSONSerialization.jsonObject(with: Data(devices.succeed("status phone.db --json").utf8)) as? [String: Any]
                #expect(status?["version"] as? Int == version, "\(fault) of request \(request)")
                request += Sample.isWhole ? 1 : 7
            }
            // A publish has six requests, and one beyond them is tried.
            #expect(request > 6)
        }
        #expect(try devices.succeed("check watch.db --all-versions --local").contains("all is well"))
    }

    /// A request for a commit arrives when its run, and a second one with a request of its own, have long given up.
    @Test(arguments: ["writer", "peer"], [true, false]) func commitThatArrivesLateIsThisDevicesOwn(role: String, isInTheMiddle: Bool) throws {
        let devices = try BucketScene(), proxy = try FaultyProxy(before: devices.server.endpoint)
        try devices.succeed("generate phone.db --notifications 9 --buckets 3")
        try devices.succeed(Scene.setUp("phone.db", at: devices.location, as: role, "--built-in --endpoint \(proxy.endpoint) --name phone"))
        try devices.succeed("sync phone.db")
        try devices.succeed("join watch.db \(devices.location) --endpoint \(proxy.endpoint) --name watch")
        let phone = devices.scene.database("phone.db")
        let bucket = "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('%', '%', '2026-11-22T10:00:00Z', '2026-11-22T10:00:00Z')"
        for (number, edit) in [
            bucket.replacingOccurrences(of: "%", with: "brief") + "; UPDATE buckets SET name = 'first' WHERE id = (SELECT min(id) FROM buckets)",
            "DELETE FROM buckets WHERE id = 'brief'; DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications)",
        ].enumerated() {
            try phone.run(edit)
            let run = try proxy.spoiling("PUT:/commits/", with: "held") { try devices.run("sync phone.db") }
            #expect(run.status == 75 && run.errorText.contains("the server did not say whether it has stored the object"), "run \(number): \(run.errorText)")
        }
        try phone.run(bucket.replacingOccurrences(of: "%", with: "last") + "; UPDATE buckets SET name = 'third' WHERE id = (SELECT min(id) FROM buckets)")
        // The first request arrives before the next run looks, or after it has looked and just before its own.
        let late = try proxy.spoiling(isInTheMiddle ? "PUT:/commits/" : "1", with: "overtaken") { try devices.run("sync phone.db") }
        // A peer tries again by itself.
        #expect(late.status == (isInTheMiddle && role == "writer" ? 75 : 0), "\(late.errorText)")
        let next = try devices.run("sync phone.db")
        #expect(next.status == 0, "\(next.errorText)")
        let words = "found version 2, which an earlier run had published without noting it"
        #expect((late.text + late.errorText + next.text + next.errorText).contains(words), "\(late.text)\(next.text)")
        try devices.succeed("sync watch.db")
        #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"))
        #expect(try phone.run("SELECT count(*) FROM buckets WHERE id IN ('brief', 'last')").hasPrefix("1"))
        #expect(try devices.succeed("check phone.db --all-versions --local").contains("all is well"))
        let status = try JSONSerialization.jsonObject(with: Data(devices.succeed("status phone.db --json").utf8)) as? [String: Any]
        #expect(status?["version"] as? Int == 3 && status?["device"] as? String == "phone", "\(status ?? [:])")
    }
}

/// A proxy that spoils one request of a run.
private final class FaultyProxy {
    let endpoint: String
    private let folder: ScratchDirectory
    // The proxy ends when this end of its standard input is closed.
    private let input = Pipe()

    init(before upstream: String) throws {
        folder = try ScratchDirectory()
        let script = Repository.path("Tests/Servers/faulty_proxy.py")
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", script, upstream, folder.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard line.hasPrefix("http") else { throw ToolFailure("the proxy did not start") }
        endpoint = line.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// How many requests came in the last run.
    var seen: Int { (try? folder.read("seen")).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0 }

    func spoiling<T>(_ request: Int, with fault: String, _ body: () throws -> T) throws -> T { try spoiling("\(request)", with: fault, body) }

    /// - Parameter which: a request's number, or `METHOD:PART` for each one with that in its path.
    func spoiling<T>(_ which: String, with fault: String, _ body: () throws -> T) throws -> T {
        let plan = URL(fileURLWithPath: folder.path("plan"))
        try Data("\(UUID().uuidString) \(which) \(fault)".utf8).write(to: plan, options: .atomic)
        defer { try? FileManager.default.removeItem(at: plan) }
        return try body()
    }
}
