import ArgumentParser
import Foundation
import SnapshotSync

/// Options of every command that prints.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object instead of sentences; errors too, on standard error.")
    var json = false

    var printer: Printer { Printer(isJSON: json) }
}

/// The database alone, given or from the environment.
struct DatabaseFile: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The SQLite database. Default: SNAPSYNC_DB.", valueName: "file"), completion: .file())
    var db: String?

    /// The path; nil if neither flag nor environment says one.
    var pathIfAny: String? { db ?? DatabaseOptions.environment("SNAPSYNC_DB") }

    /// The path.
    func path() throws -> String {
        guard let path = pathIfAny else { throw ValidationError("Say which database: --db FILE, or set SNAPSYNC_DB.") }
        return path
    }
}

/// The database, and another path of its cloud, given or from the environment.
struct DatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFile

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The cloud directory, for this run, instead of the one that init wrote down (the same cloud under another path). Default: SNAPSYNC_CLOUD.",
            valueName: "dir"), completion: .directory)
    var cloud: String?

    /// The engine on that database.
    func engine() throws -> SyncEngine {
        try SyncEngine.ofCommand(database: file.path(), cloud: cloud ?? Self.environment("SNAPSYNC_CLOUD"))
    }

    /// The engine, with its errors printed as the command prints them.
    func prepare(_ output: OutputOptions) throws -> SyncEngine {
        try output.printer.open(file.path(), cloud: cloud ?? Self.environment("SNAPSYNC_CLOUD"))
    }

    static func environment(_ name: String) -> String? {
        // SAFETY: nothing here changes the environment, whose text is copied at once.
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A database, or a cloud directory alone: for commands that look and change nothing.
struct LookOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: ArgumentHelp("The zone, where only --cloud is given.", valueName: "name"))
    var zone = "ZentikSyncZone"

    /// Whether a cloud directory is given and no database.
    var isCloudAlone: Bool { cloudAlone != nil }

    /// The cloud directory that is given without a database; nil if there is one.
    var cloudAlone: String? { database.file.pathIfAny == nil ? cloudDirectory : nil }

    private var cloudDirectory: String? { database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") }

    /// What looks into the cloud: through the database's settings, or with --cloud alone directly.
    func inspector() async throws -> SnapshotInspector {
        if let cloudAlone { return try SnapshotInspector(cloud: cloudAlone, zone: zone) }
        return try await database.engine().inspector()
    }
}
