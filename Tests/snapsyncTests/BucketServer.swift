import Foundation
import TestSupport
import Testing

/// An object store that runs for the tests of this process: on free ports, started once, ended with the process.
final class BucketServer: Sendable {
    /// The store that the tests with a bucket use, or why there is none: SeaweedFS, or another one of `Tests/Servers` (SNAPSYNC_BUCKET_SERVER=ceph).
    static let shared: Result<BucketServer, any Error> = Result {
        try BucketServer(ProcessInfo.processInfo.environment["SNAPSYNC_BUCKET_SERVER"] ?? "seaweedfs")
    }
    /// Stores that do not keep what a cloud with several publishers needs.
    static let rclone: Result<BucketServer, any Error> = Result { try BucketServer("rclone") }
    static let moto: Result<BucketServer, any Error> = Result { try BucketServer("moto") }

    /// Whether the tests can run: the server is there, or must be.
    static var isAvailable: Bool { shared.isAvailable }

    /// Why the server cannot be had here.
    struct CannotInstall: Error {}

    let endpoint: String
    private let folder: ScratchDirectory
    // The server ends when this end of its standard input is closed.
    private let input: Pipe

    /// - Parameter name: of the script in `Tests/Servers` that runs it.
    private init(_ name: String) throws {
        folder = try ScratchDirectory()
        input = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "\(Self.scripts)/\(name).py", folder.path]
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
            throw ToolFailure("\(name) did not start")
        }
        // A store with several gateways says where each is.
        endpoint = String(line.prefix { !$0.isWhitespace })
    }

    fileprivate static let scripts = Repository.path("Tests/Servers")

    /// Makes a bucket of its own and returns its name.
    func bucket() throws -> String {
        let name = "b\(UUID().uuidString.lowercased().prefix(18))"
        let run = try ProgramRun("python3", ["\(Self.scripts)/put_bucket.py", endpoint, name, "testkey", "testsecret"])
        guard run.status == 0 else { throw ToolFailure(run.errorText) }
        return name
    }
}

extension Result<BucketServer, any Error> {
    /// Whether tests with the server can run: it is there, or must be.
    var isAvailable: Bool {
        if case .failure(let error) = self, (error as? ToolFailure) == nil, ProcessInfo.processInfo.environment["CI"] != "true" {
            print("tests with a server are skipped, for it cannot be installed here: \(error)")
            return false
        }
        return true
    }
}

/// Devices that share a bucket.
struct BucketScene {
    let scene: Scene
    let server: BucketServer
    let bucket: String
    var location: String { "s3://\(bucket)/app" }

    init(_ server: BucketServer? = nil) throws {
        scene = try Scene()
        self.server = try server ?? BucketServer.shared.get()
        bucket = try self.server.bucket()
    }

    static let keys = [
        "AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1",
    ]

    func run(_ line: String, _ environment: [String: String] = keys) throws -> ProgramRun { try scene.run(line, environment: environment) }

    @discardableResult
    func succeed(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try scene.succeed(line, environment: Self.keys, at: location)
    }

    /// The keys of all objects in the bucket.
    func keys() throws -> [String] {
        let script = """
            import sys
            sys.path.insert(0, sys.argv[3])
            sys.dont_write_bytecode = True
            import s3
            for key in s3.Bucket(sys.argv[1], sys.argv[2]).keys(""): print(key)
            """
        return try Python.run(script, [server.endpoint, bucket, BucketServer.scripts]).split(separator: "\n").map(String.init)
    }

    /// A writer that has published version 1.
    func publish(notifications: Int = 30) throws {
        try succeed("generate phone.db --notifications \(notifications) --buckets 4")
        try succeed("init phone.db \(location) --built-in --endpoint \(server.endpoint) --name phone")
        try succeed("sync phone.db")
    }
}
