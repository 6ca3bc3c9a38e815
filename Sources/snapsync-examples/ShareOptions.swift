import ArgumentParser
import CommandSupport
import ProjectSharing
import SnapshotSync
import StrictText

/// The zone of shared projects: through a database's settings, or directly in a location.
struct ShareOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp("A database that is set up, or a shared folder or s3://BUCKET/PREFIX.", valueName: Place.databaseOrLocation), completion: .file())
    var place: String?
    @Option(name: .long, help: ArgumentHelp("The zone, in the public scope.", valueName: "name"))
    var zone = ProjectSharing.standardZone

    /// Opens the zone. Reading needs no device name, so a location is enough.
    func sharing(as device: String? = nil) throws -> ProjectSharing {
        guard let place else { throw ValidationError("Pass a location, or a database that snapsync init has set up, as the first argument.") }
        guard Place.isLocation(place) else { return try SyncEngine.ofCommand(database: place).sharing(device: device, zone: zone) }
        return try ProjectSharing(location: place, device: device ?? ProjectSharing.machineName, zone: zone)
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
