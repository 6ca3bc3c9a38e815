import ArgumentParser
import SnapshotSync
import StrictText

/// The zone of shared projects: through a database's settings, or directly in a cloud directory.
struct ShareOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: ArgumentHelp("The zone, in the public scope.", valueName: "name"))
    var zone = ProjectSharing.standardZone

    /// Opens the zone. Reading needs no device name, so `--cloud` is enough if the database is not set up or not given.
    func sharing(as device: String? = nil) throws -> ProjectSharing {
        if database.file.pathIfAny != nil {
            let engine = try database.engine()
            if try engine.isSetUp() { return try engine.sharing(device: device, zone: zone) }
        }
        guard let cloud = database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") else {
            throw ValidationError("Pass --cloud DIR, or --db FILE with a database that snapsync init has set up.")
        }
        return try ProjectSharing(location: cloud, device: device ?? ProjectSharing.machineName, zone: zone)
    }
}

/// The device in whose name a project is shared or a comment is posted.
struct ShareDeviceOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            This device's name, which must be unique in the zone. Default: the name in the database's settings, otherwise the \
            machine's name.
            """,
            valueName: "name"))
    var device: String?
}

/// The option that names a project.
struct ShareProjectOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The project's id.", valueName: "id"))
    var project: String
}

extension Printer {
    /// Runs a command's work; errors of the cloud name this step.
    func run(_ step: SyncStep, _ body: () async throws -> Void) async throws {
        try await run {
            do {
                try await body()
            } catch let error as ValidationError {
                throw error
            } catch let error as CommentNotSent {
                throw SyncError(error.cause, step: step)
            } catch {
                throw SyncError(error, step: step)
            }
        }
    }
}
