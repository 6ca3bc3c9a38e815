import ArgumentParser
import CloudStore
import CommandSupport
import Foundation
import Logging
import SnapshotSync
import StrictText

/// Another path of a database's location.
struct LocationOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Use this path of the shared folder for this run, instead of the one that init stored. It must be the same folder. Default: \
            SNAPSYNC_LOCATION.
            """,
            valueName: "dir"), completion: .directory)
    var location: String?

    var path: String? { location ?? Self.ofEnvironment }

    static var ofEnvironment: String? { Place.environment("SNAPSYNC_LOCATION") }
}

/// A database, and another path of its location.
struct DatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFile
    @OptionGroup(title: "Common options") var location: LocationOption

    /// The engine for this database.
    func engine(_ logger: Logger = Logger(label: "snapsync")) throws -> SyncEngine {
        try SyncEngine.ofCommand(database: file.path(), location: location.path, logger: logger)
    }
}

/// The options of a command that works with the engine of a database.
struct EngineArguments: ParsableArguments {
    @OptionGroup var database: DatabaseOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

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

/// What a command that only reads looks at: a database that is set up, or a location.
struct LookOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The database, or a shared folder or s3://BUCKET/PREFIX without one. Default: SNAPSYNC_DB, or SNAPSYNC_LOCATION.",
            valueName: Place.databaseOrLocation),
        completion: .file())
    var place: String?
    @OptionGroup(title: "Common options") var location: LocationOption
    @OptionGroup(title: "Common options") var zone: ZoneOption

    func validate() { HintCommands.place = place }

    /// The database; nil if there is only a location.
    var database: String? { place.flatMap { Place.isLocation($0) ? nil : $0 } }

    /// The location that is given without a database, with its zone; nil if there is a database.
    func locationAlone() async throws -> (location: String, zone: String)? {
        guard let place, Place.isLocation(place) else { return nil }
        return (place, try await zone.name(in: place))
    }

    func required() throws -> String {
        guard let place else { throw ValidationError("Pass a database or a location as the first argument, or set SNAPSYNC_DB.") }
        return place
    }

    /// The engine for the database.
    func engine() throws -> SyncEngine { try SyncEngine.ofCommand(database: required(), location: location.path) }

    /// An inspector of the zone: through the database's settings, or directly if only a location is given.
    func inspector() async throws -> SnapshotInspector {
        guard let place, Place.isLocation(place) else { return try await engine().inspector() }
        return try await SnapshotInspector(cloud: place, zone: zone.zone)
    }
}

/// The option for one of several zones of a location.
struct ZoneOption: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The zone of the location. Default: its only zone, or main.", valueName: "name"))
    var zone: String?

    /// The zone of a location.
    ///
    /// - Parameter new: the zone of a new location.
    func name(in location: String, new: String = ZoneID.main) async throws -> String {
        if let zone { return zone }
        // What works with the location reports why it cannot be read.
        do { return try await CloudLocation.open(location).zoneName(new: new) } catch is CloudError { return new }
    }
}

/// The option to print little.
struct QuietOption: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print only warnings and problems, on standard error, so that cron reports them.")
    var quiet = false
}

/// The option to change nothing.
struct DryRunOption: ParsableArguments {
    @Flag(name: [.customShort("n"), .long], help: "Print what would be done, and change nothing.")
    var dryRun = false
}

/// The option to answer a question in advance.
struct ConfirmationOption: ParsableArguments {
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    /// - Parameter purpose: what the answer allows: `replace the shared data`.
    func validate(for purpose: String) throws {
        guard yes || StandardStream.isInputTerminal else { throw ValidationError("Standard input is not a terminal. Pass --yes to \(purpose).") }
    }

    /// Asks on the terminal, unless the answer is yes already.
    func isConfirmed(_ question: String) throws -> Bool {
        try yes
            || ProgressLine.pausing {
                try StandardStream.error.write("\(question) Type yes: ")
                if readLine() == "yes" { return true }
                try StandardStream.error.write("nothing was changed\n")
                return false
            }
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
            throw ValidationError("--endpoint, --region, --ca-file and --allow-http require a bucket: s3://BUCKET/PREFIX.")
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
