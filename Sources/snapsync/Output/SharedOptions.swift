import ArgumentParser
import Foundation
import Platform
import SnapshotSync

/// Options of every command that prints.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object instead of sentences; errors too, on standard error.")
    var json = false

    var printer: Printer { Printer(isJSON: json) }
}

/// The option for a database; the environment is the default.
struct DatabaseFile: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The SQLite database. Default: SNAPSYNC_DB.", valueName: "file"), completion: .file())
    var db: String?

    /// The path; nil if neither the option nor the environment gives one.
    var pathIfAny: String? { db ?? DatabaseOptions.environment("SNAPSYNC_DB") }

    /// The path.
    func path() throws -> String {
        guard let path = pathIfAny else { throw ValidationError("Say which database: --db FILE, or set SNAPSYNC_DB.") }
        return path
    }
}

/// The options for a database and another path of its cloud; the environment is the default.
struct DatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFile

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The cloud directory, for this run, instead of the one that init wrote down (the same cloud under another path). Default: SNAPSYNC_CLOUD.",
            valueName: "dir"), completion: .directory)
    var cloud: String?

    /// The engine for this database.
    func engine() throws -> SyncEngine {
        try SyncEngine.ofCommand(database: file.path(), cloud: cloud ?? Self.environment("SNAPSYNC_CLOUD"))
    }

    /// The engine for this database; the command's printer prints errors.
    func prepare(_ output: OutputOptions) throws -> SyncEngine {
        try output.printer.open(file.path(), cloud: cloud ?? Self.environment("SNAPSYNC_CLOUD"))
    }

    static func environment(_ name: String) -> String? {
        System.environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The options for a database or a cloud alone, for commands that only read.
struct LookOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: ArgumentHelp("The zone, where only --cloud is given.", valueName: "name"))
    var zone = "ZentikSyncZone"

    /// Whether a cloud directory is given and no database.
    var isCloudAlone: Bool { cloudAlone != nil }

    /// The cloud directory that is given without a database; nil if there is one.
    var cloudAlone: String? { database.file.pathIfAny == nil ? cloudDirectory : nil }

    private var cloudDirectory: String? { database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") }

    /// An inspector of the zone: through the database's settings, or directly if only a cloud is given.
    func inspector() async throws -> SnapshotInspector {
        if let cloudAlone { return try SnapshotInspector(cloud: cloudAlone, zone: zone) }
        return try await database.engine().inspector()
    }
}
