import Foundation
import TestSupport
import Testing

/// An object store that runs for the tests of this process: SeaweedFS on free ports, started once, ended with the process.
final class BucketServer: Sendable {
    /// The server, or why there is none.
    static let shared: Result<BucketServer, any Error> = Result { try BucketServer() }

    /// Whether the tests can run: the server is there, or must be.
    static var isAvailable: Bool {
        if case .failure(let error) = shared, (error as? ToolFailure) == nil, ProcessInfo.processInfo.environment["CI"] != "true" {
            print("tests with a bucket are skipped: \(error)")
            return false
        }
        return true
    }

    /// Why the server cannot be had here.
    struct CannotInstall: Error {}

    let endpoint: String
    private let folder: ScratchDirectory
    // The server ends when this end of its standard input is closed.
    private let input: Pipe

    private init() throws {
        folder = try ScratchDirectory()
        input = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "\(Self.scripts)/seaweedfs.py", folder.path]
        process.standardInput = input
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var line = ""
        while !line.hasSuffix("\n") {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { break }
            line += String(decoding: bytes, as: UTF8.self)
        }
        guard line.hasPrefix("http") else {
            process.waitUntilExit()
            if process.terminationStatus == 77 { throw CannotInstall() }
            throw ToolFailure("the server did not start")
        }
        endpoint = line.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Servers").path

    /// Makes a bucket of its own and returns its name.
    func bucket() throws -> String {
        let name = "b\(UUID().uuidString.lowercased().prefix(18))"
        let run = try ProgramRun("python3", ["\(Self.scripts)/put_bucket.py", endpoint, name, "testkey", "testsecret"])
        guard run.status == 0 else { throw ToolFailure(run.errorText) }
        return name
    }
}

/// Devices that share a bucket.
struct BucketScene {
    let scene: Scene
    let server: BucketServer
    let bucket: String
    var location: String { "s3://\(bucket)/app" }

    init() throws {
        scene = try Scene()
        server = try BucketServer.shared.get()
        bucket = try server.bucket()
    }

    static let keys = [
        "AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1",
    ]

    func run(_ line: String, _ environment: [String: String] = keys) throws -> ProgramRun { try scene.run(line, environment: environment) }

    @discardableResult
    func succeed(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try scene.succeed(line, environment: Self.keys, at: location)
    }

    /// A writer that has published version 1.
    func publish(notifications: Int = 30) throws {
        try succeed("generate --db phone.db --notifications \(notifications) --buckets 4")
        try succeed("init --db phone.db --cloud \(location) --endpoint \(server.endpoint) --role writer --device phone")
        try succeed("sync --db phone.db")
    }
}
