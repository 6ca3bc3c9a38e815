import ArgumentParser
import CloudStore
import SnapshotSync

/// The zone of shared projects: through a database's settings, or directly in a cloud directory.
struct ShareOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .long, help: ArgumentHelp("The zone, in the public scope.", valueName: "name"))
    var zone = ProjectSharing.standardZone
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Require that the zone was made by the creator with these eight words. Default: SNAPSYNC_TRUST, otherwise the first creator \
            that is found.
            """,
            valueName: "words"))
    var trust: String?

    func validate() throws {
        guard words.map({ KeyFingerprint($0) != nil }) ?? true else {
            throw ValidationError("--trust requires eight words of five letters, as share members prints them: \(KeyFingerprint.example)")
        }
    }

    private var words: String? { trust ?? DatabaseOptions.environment("SNAPSYNC_TRUST") }

    /// Opens the zone. Reading needs no device name, so `--cloud` is enough if the database is not set up or not given.
    ///
    /// - Parameter makesSigned: whether a zone that is made is signed, and one that is there must be.
    func sharing(as device: String? = nil, makesSigned: Bool = false) async throws -> ProjectSharing {
        let words = words.flatMap { KeyFingerprint($0) }
        if database.file.pathIfAny != nil {
            let engine = try database.engine()
            if try engine.isSetUp() { return try await engine.sharing(device: device, zone: zone, trust: words, makesSigned: makesSigned) }
        }
        guard let cloud = database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") else {
            throw ValidationError("Pass --cloud DIR, or --db FILE with a database that snapsync init has set up.")
        }
        return try await ProjectSharing(
            openingAt: cloud, device: device ?? ProjectSharing.machineName, zone: zone, trust: words, makesSigned: makesSigned,
            keys: FileKeyStore.ofCommand())
    }
}

extension ShareOptions {
    /// The members of the zone.
    ///
    /// - Throws: ``SyncError`` with `.refused` if it is not signed.
    func members(as device: String?) async throws -> MembersReport {
        if let report = try await sharing(as: device).members() { return report }
        throw SyncError(
            .refused, step: .fetch, at: "zone public/\(zone)", "it is not there, or it is not signed, so it has no members",
            hint: "whoever shares first makes a signed zone with: snapsync share publish … --signed")
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
                try SyncError.at(step) { throw error.cause }
            } catch {
                try SyncError.at(step) { throw error }
            }
        }
    }
}
