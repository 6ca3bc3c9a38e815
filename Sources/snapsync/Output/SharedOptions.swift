import ArgumentParser
import Foundation
import Logging
import Platform
import SnapshotSync
import StrictText

/// Options of every command that prints.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object instead of text. Errors are JSON on standard error.")
    var json = false

    var printer: Printer { Printer(isJSON: json) }
}

/// The option for a database; the environment is the default.
struct DatabaseFile: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The SQLite database. Default: SNAPSYNC_DB.", valueName: "file"), completion: .file())
    var db: String?

    /// The path; nil if neither the option nor the environment gives one.
    var pathIfAny: String? { db ?? DatabaseOptions.environment("SNAPSYNC_DB") }

    func path() throws -> String {
        guard let path = pathIfAny else { throw ValidationError("Pass --db FILE, or set SNAPSYNC_DB.") }
        return path
    }
}

/// The options for a database and another path of its cloud; the environment is the default.
struct DatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFile

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Use this path of the shared folder for this run, instead of the one that init stored. It must be the same folder. Default: \
            SNAPSYNC_CLOUD.
            """,
            valueName: "dir"), completion: .directory)
    var cloud: String?

    /// The engine for this database.
    func engine(_ logger: Logger = Logger(label: "snapsync")) throws -> SyncEngine {
        try SyncEngine.ofCommand(database: file.path(), cloud: cloud ?? Self.environment("SNAPSYNC_CLOUD"), logger: logger)
    }

    static func environment(_ name: String) -> String? {
        System.environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The options of a command that works with the engine of a database.
struct EngineArguments: ParsableArguments {
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    var printer: Printer { output.printer }

    /// Opens the engine and works with it. An error is printed and ends the process with its status.
    ///
    /// - Parameters:
    ///   - title: a word for the work, shown on a terminal while it lasts; nil if nothing is shown, because the work is short or asks the user something.
    ///   - printer: prints errors; nil for that of the options.
    ///   - body: gets the engine, and the handler of its progress; nil if no progress is shown.
    func run(_ title: String? = nil, printer: Printer? = nil, _ body: (SyncEngine, ProgressHandler?) async throws -> Void) async throws {
        let printer = printer ?? self.printer
        try await printer.work(title) { progress in try await body(try database.engine(printer.logger), progress) }
    }

    /// Does the same, and prints the report of what was done.
    func done<Report: Encodable>(_ title: String? = nil, _ body: (SyncEngine, ProgressHandler?) async throws -> (Report, [String])) async throws {
        try await run(title) { engine, progress in
            let (report, lines) = try await body(engine, progress)
            try printer.done(report, lines)
        }
    }
}

/// The options for a database or a cloud alone, for commands that only read.
struct LookOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: ArgumentHelp("The zone, if you pass only --cloud.", valueName: "name"))
    var zone = "ZentikSyncZone"

    /// The cloud directory that is given without a database; nil if there is one.
    var cloudAlone: String? { database.file.pathIfAny == nil ? cloudDirectory : nil }

    private var cloudDirectory: String? { database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") }

    /// An inspector of the zone: through the database's settings, or directly if only a cloud is given.
    func inspector() async throws -> SnapshotInspector {
        if let cloudAlone { return try SnapshotInspector(cloud: cloudAlone, zone: zone) }
        return try await database.engine().inspector()
    }
}

/// The options that describe the server of a bucket. `init` stores them in the cloud's location, so later commands do not need them.
struct BucketOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The server of an s3:// bucket. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS.", valueName: "url"))
    var endpoint: String?
    @Option(name: .long, help: ArgumentHelp("The region of an s3:// bucket. Default: AWS_REGION, the profile's, or us-east-1.", valueName: "name"))
    var region: String?
    @Option(
        name: .long, help: ArgumentHelp("Trust the certificates in this file (PEM) for an s3:// bucket, instead of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?
    @Flag(
        name: .long,
        help: """
            Allow HTTP without TLS to an s3:// server on another machine. Anyone on the network path can then read and change the \
            data.
            """)
    var allowHttp = false

    /// Adds the options to a cloud's location.
    ///
    /// - Throws: `ValidationError` if options of a bucket are given and the cloud is a directory.
    func location(_ cloud: String) throws -> String {
        var pairs: [(String, String)] = []
        if let endpoint { pairs.append(("endpoint", endpoint)) }
        if let region { pairs.append(("region", region)) }
        if let caFile { pairs.append(("ca", URL(fileURLWithPath: caFile).standardizedFileURL.path)) }
        if allowHttp { pairs.append(("http", "allow")) }
        guard !pairs.isEmpty else { return cloud }
        guard cloud.exact.hasPrefix("s3://") else {
            throw ValidationError("--endpoint, --region, --ca-file and --allow-http require a bucket: --cloud s3://BUCKET/PREFIX.")
        }
        let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~:/[]"))
        let text = pairs.map { "\($0.0)=\($0.1.addingPercentEncoding(withAllowedCharacters: unreserved) ?? $0.1)" }.joined(separator: "&")
        return cloud + (cloud.exact.contains("?") ? "&" : "?") + text
    }
}

/// The option for datasets that may lose more than half of their entities.
struct ShrinkOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Let these datasets lose more than half of their rows, and record the approval in the version: names separated by commas, \
            or all. May be repeated.
            """, valueName: "a,b|all"))
    var allowShrink: [String] = []

    var approval: ShrinkApproval {
        let chosen = TableNames(allowShrink)
        return chosen.word == "all" ? .all : .datasets(chosen.names)
    }
}
