import Foundation
import TestSupport
import Testing

/// One request of a sync is spoiled by a proxy in front of a real object store. Whatever the store has done by then, no edit is lost, and each is published once.
@Suite(.enabled(if: BucketServer.isAvailable))
struct BucketFaultTests {
    /// `Tests/Servers/faulty_proxy.py` says what they are, and which exit codes a run may have: one attempt that fails is made again, but a refusal is not.
    private static let faults: [(name: String, codes: Set<Int32>)] =
        ["request-cut", "answer-lost", "answer-cut", "body-cut", "too-long", "twice", "500", "503", "409", "refused"].map { ($0, [0]) } + [("403", [0, 77])]

    /// Each fault spoils every request in `SNAPSYNC_TORTURE`, otherwise one in four, another one for each fault.
    private static let isWhole = ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE"] != nil

    @Test(arguments: faults.indices) func editIsPublishedOnceWhateverBecomesOfARequest(number: Int) throws {
        let (fault, codes) = Self.faults[number]
        let devices = try BucketScene(), proxy = try FaultyProxy(before: devices.server.endpoint)
        try devices.succeed("generate --db phone.db --notifications 5 --buckets 2")
        try devices.succeed("init --db phone.db --cloud \(devices.location) --endpoint \(proxy.endpoint) --role writer --device phone")
        try devices.succeed("sync --db phone.db")
        try devices.succeed("init --db watch.db --cloud \(devices.location) --endpoint \(proxy.endpoint) --role reader --device watch --create")
        try devices.succeed("sync --db watch.db")

        var version = 1
        for device in ["phone", "watch"] {
            var request = Self.isWhole ? 1 : 1 + number % 4, isReached = true
            // A run that was not spoiled has had fewer requests.
            while isReached {
                version += 1
                try devices.scene.database("phone.db").run("UPDATE buckets SET name = '\(device) \(request)' WHERE id = (SELECT min(id) FROM buckets)")
                if device == "watch" { try devices.succeed("sync --db phone.db") }
                let run = try proxy.spoiling(request, with: fault) { try devices.run("sync --db \(device).db") }
                #expect(codes.contains(run.status), "\(fault) of request \(request): \(run.status), \(run.errorText)")
                isReached = proxy.seen >= request
                try devices.succeed("sync --db phone.db")
                try devices.succeed("sync --db watch.db")
                #expect(try devices.scene.contents("phone.db") == devices.scene.contents("watch.db"), "\(fault) of request \(request)")
                let status = try JSONSerialization.jsonObject(with: Data(devices.succeed("status --db phone.db --json").utf8)) as? [String: Any]
                #expect(status?["version"] as? Int == version, "\(fault) of request \(request)")
                request += Self.isWhole ? 1 : 4
            }
            #expect(request > 8)
        }
        #expect(try devices.succeed("verify --db watch.db --all --local").contains("all is well"))
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
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Servers/faulty_proxy.py")
            .path
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

    func spoiling<T>(_ request: Int, with fault: String, _ body: () throws -> T) throws -> T {
        let plan = URL(fileURLWithPath: folder.path("plan"))
        try Data("\(UUID().uuidString) \(request) \(fault)".utf8).write(to: plan, options: .atomic)
        defer { try? FileManager.default.removeItem(at: plan) }
        return try body()
    }
}
