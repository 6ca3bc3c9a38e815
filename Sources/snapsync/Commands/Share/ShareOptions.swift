import ArgumentParser
import SnapshotSync

/// Where projects are shared: through a database's settings, or in a cloud directory directly.
struct ShareOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: ArgumentHelp("The zone of the public scope.", valueName: "name"))
    var zone = ProjectSharing.standardZone

    /// Opens the zone. Looking needs no device's name, so a database that is not set up, or none at all, will do with --cloud.
    func sharing(as device: String? = nil) throws -> ProjectSharing {
        if database.file.pathIfAny != nil {
            let engine = try database.engine()
            if try engine.isSetUp() { return try engine.sharing(device: device, zone: zone) }
        }
        guard let cloud = database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") else {
            throw ValidationError("Say where: --cloud DIR, or --db FILE with a database that snapsync init has set up.")
        }
        return try ProjectSharing(directory: cloud, device: device ?? ProjectSharing.machineName, zone: zone)
    }
}

/// In whose name a project is shared or a comment made.
struct ShareDeviceOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "This device's name, the only one of that name in the zone; only this device may replace or remove what it shares. Default: the name in the database's settings, else the machine's.",
            valueName: "name"))
    var device: String?
}

/// Which project.
struct ShareProjectOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The project's id.", valueName: "id"))
    var project: String
}

extension Printer {
    /// Runs a command's work; what the cloud has against it comes out at this step.
    func run(_ step: SyncStep, _ body: () async throws -> Void) async throws {
        try await run {
            do {
                try await body()
            } catch let error as ValidationError {
                throw error
            } catch let error as CommentNotSent {
                try SyncError.at(step) { throw error.cause }
            } catch {
                try SyncError.at(step) { throw error }
            }
        }
    }
}
