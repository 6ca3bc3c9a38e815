import LocalStore
import SnapshotEngine
import SnapshotModel
import SnapshotVersions

/// The facts about a database that `status` does not report.
struct DatabaseFacts: Sendable {
    let path: String
    let settings: SyncSettings
    /// What SQLite's integrity check reports; nil if the check was not run.
    let damage: DoctorFacts.Look<[String]>?
    /// Why this user cannot write the file; nil if it is writable.
    let obstacle: SyncError?
    let journalMode: DoctorFacts.Look<String>
    let datasets: [Dataset]
    let applied: AppliedVersion?
    /// Rows of the synced tables whose foreign keys refer to rows that do not exist; nil if they were not searched.
    let dangling: DoctorFacts.Look<DanglingReport>?

    /// Rows that break CHECK constraints of the synced tables; nil where they were not looked for.
    let brokenChecks: DoctorFacts.Look<[CheckReport]>?

    struct Dataset: Sendable {
        let schema: DatasetSchema
        let shape: DoctorFacts.Look<TableShape>
        /// Whether the triggers exist and are up to date.
        let isTracking: DoctorFacts.Look<Bool>
        /// How many rows of this device are held.
        let held: DoctorFacts.Look<Int>
        let unknownFields: [String]
        /// The application's triggers of the table.
        let applicationTriggers: DoctorFacts.Look<[TriggerReport]>
        /// Why only the application can write the table; nil if any program can.
        let unwritable: String?
    }

    init(_ database: LocalDatabase, _ settings: SyncSettings, _ depth: Examination.Depth) {
        func look<T>(_ body: () throws -> T) -> DoctorFacts.Look<T> {
            do { return .success(try body()) } catch { return .failure(SyncError(error, step: .read)) }
        }
        path = database.path
        self.settings = settings
        damage = depth == .brief ? nil : look { try database.integrityCheck() }
        obstacle = database.writingObstacle().map { SyncError($0, step: .open) }
        journalMode = look { try database.journalMode() }
        applied = try? database.read { try $0.state.applied() }
        dangling =
            depth == .brief
            ? nil
            : look {
                try database.read { DanglingReport(try $0.references.danglingRows(of: settings.datasets, limit: DanglingReport.limit), in: database.path) }
            }
        brokenChecks =
            depth == .brief
            ? nil
            : look {
                try database.read { transaction in
                    try settings.datasets.flatMap { schema in
                        try transaction.tables.rowsBreakingChecks(of: schema, keys: 3).map { CheckReport(schema, $0.check, $0.count, $0.keys) }
                    }
                }
            }
        let states = (try? database.read { try $0.datasetStates.all() }) ?? []
        let survey = look { try TriggerSurvey(database, settings.datasets) }
        datasets = settings.datasets.map { schema in
            let shape = look {
                try MissingTables.verify([schema], of: settings, in: database)
                return try database.read { try $0.tables.check(of: schema) }
            }
            return Dataset(
                schema: schema, shape: shape,
                isTracking: look { try database.read { try $0.tracking.isInstalled([schema]) } },
                held: look { try database.read { try max($0.waiting.rows(of: schema).count, $0.held.count(of: schema)) } },
                unknownFields: states.first { $0.name == schema.name }?.unknownFields ?? [],
                applicationTriggers: survey.map { $0.triggers.filter { $0.dataset == schema.name }.map { TriggerReport($0, datasets: settings.datasets) } },
                unwritable: (try? shape.get()) == nil ? nil : (try? survey.get())?.unwritable[schema.name])
        }
    }
}
