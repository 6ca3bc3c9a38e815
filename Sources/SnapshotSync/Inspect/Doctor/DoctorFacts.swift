import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// Everything that the checks look at, collected before the first of them: each part by itself, so that one that cannot be had
/// hides no other.
struct DoctorFacts: Sendable {
    /// What a look gave, or why it failed.
    typealias Look<T> = Result<T, SyncError>

    /// How the database, or the cloud alone, is named on the command line.
    let place: String
    let now: Instant
    /// nil where there is no database, or the gate is closed and the cloud is not to be touched.
    var directory: DirectoryFacts?
    var zone: Look<ZoneSurvey>?
    var database: DatabaseFacts?
    /// What `status` says; nil without a database.
    var status: Look<StatusReport>?

    /// Looks, and keeps what it gave or why it failed.
    static func look<T>(_ step: SyncStep, _ body: () async throws -> T) async -> Look<T> {
        do { return .success(try await body()) } catch { return .failure(SyncError(error, step: step)) }
    }
}

/// What a cloud's directory is like.
struct DirectoryFacts: Sendable {
    let path: String
    let fileSystem: DoctorFacts.Look<FileSystemFacts>
    /// The tool that replicates the folder, and what shows it; nil if none does.
    let tool: (name: String, sign: String)?
    /// Why events of the file system do not tell everything; nil if they do.
    let polling: String?
    /// What the file system can do; nil where nothing is to be written, for the device does not publish.
    var probe: DoctorFacts.Look<DirectoryProbe>?
    /// The directories of the zone in which this device makes files and may not, beneath the cloud.
    var forbidden: [String] = []
    var foreign: DoctorFacts.Look<[ForeignFile]> = .success([])

    /// Looks at a directory.
    ///
    /// - Parameter publishes: whether the device publishes, so that the file system may be tried out.
    init(_ cloud: DirectoryCloud, zone: ZoneID, publishes: Bool) async {
        path = cloud.path
        fileSystem = await DoctorFacts.look(.open) { try FileSystemFacts(ofDirectory: cloud.path) }
        tool = ReplicatedFolder.tool(of: cloud.path)
        polling = ZoneEvents(cloud: cloud.path, zone: zone) { _ in }.arm()
        guard (try? await cloud.zone(zone)) != nil else { return }
        foreign = await DoctorFacts.look(.fetch) { try await cloud.foreignFiles(in: zone) }
        guard publishes else { return }
        let folders = ["", CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.devices].map { "\(zone)" + ($0.isEmpty ? "" : "/\($0)") }
        forbidden = folders.filter { !FileSystemFacts.isWritable("\(cloud.path)/\($0)") }
        // What may not be written is not tried out either.
        if forbidden.isEmpty { probe = await DoctorFacts.look(.store) { try await cloud.probe(zone) } }
    }
}

/// What a database is like, besides what `status` says of it.
struct DatabaseFacts: Sendable {
    let path: String
    let settings: SyncSettings
    /// What SQLite finds wrong with the file.
    let damage: DoctorFacts.Look<[String]>
    let journalMode: DoctorFacts.Look<String>
    let datasets: [Dataset]
    let applied: AppliedVersion?

    struct Dataset: Sendable {
        let schema: DatasetSchema
        let shape: DoctorFacts.Look<TableShape>
        /// Whether the triggers are there and as they should be.
        let isTracking: DoctorFacts.Look<Bool>
        /// How many entities were set aside, by the reason's name.
        let setAside: DoctorFacts.Look<[String: Int]>
        let unknownFields: [String]
    }

    init(_ database: LocalDatabase, _ settings: SyncSettings) {
        func look<T>(_ body: () throws -> T) -> DoctorFacts.Look<T> {
            do { return .success(try body()) } catch { return .failure(SyncError(error, step: .read)) }
        }
        path = database.path
        self.settings = settings
        damage = look { try database.quickCheck() }
        journalMode = look { try database.journalMode() }
        applied = try? database.read { try $0.applied() }
        let states = (try? database.read { try $0.datasetStates() }) ?? []
        datasets = settings.datasets.map { schema in
            Dataset(
                schema: schema, shape: look { try database.read { try $0.checkTable(of: schema) } }, isTracking: look { try database.read { try $0.isTracking([schema]) } },
                setAside: look { try database.read { Dictionary(grouping: try $0.setAsideEntities(of: schema), by: \.reason.name).mapValues(\.count) } },
                unknownFields: states.first { $0.name == schema.name }?.unknownFields ?? [])
        }
    }
}
