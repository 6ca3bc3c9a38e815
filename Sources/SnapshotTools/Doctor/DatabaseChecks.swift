import LocalStore
import LocalTables
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Findings about a database: its file, its tables and their triggers.
enum DatabaseChecks {
    static func findings(_ database: DatabaseFacts) -> [DoctorReport.Finding] {
        integrity(database) + [permission(database)] + journal(database)
            + datasets(database) + foreignKeys(database) + checks(database)
    }

    private static func datasets(_ database: DatabaseFacts) -> [DoctorReport.Finding] {
        switch database.datasets {
        case .failure(let error): [.error("table", error, means: "no dataset is imported or published")]
        case .success(let all):
            all.flatMap { one in
                table(one, database) + [triggers(one, database)] + applicationTriggers(one, database) + unknownFields(one, database) + held(one, database)
            }
        }
    }

    private static func checks(_ database: DatabaseFacts) -> [DoctorReport.Finding] {
        // A constraint that needs a function of the application is told with the table.
        guard case .success(let broken)? = database.brokenChecks else { return [] }
        return broken.map {
            .notice(
                "checks", $0.sentence, means: "such rows are synced as they are",
                do: "UPDATE the rows, or delete them")
        }
    }

    private static func foreignKeys(_ database: DatabaseFacts) -> [DoctorReport.Finding] {
        switch database.dangling {
        case nil: return []
        case .failure(let error): return [.error("foreignKeys", error, means: "whether rows refer to rows that are not there is not known")]
        case .success(let report):
            guard !report.rows.isEmpty else { return [.ok("foreignKeys", "every row of the synced tables refers to rows that are there")] }
            return report.warnings.map {
                .notice("foreignKeys", $0, means: "such rows are synced as they are", do: "PRAGMA foreign_key_check names all of them")
            }
        }
    }

    private static func integrity(_ database: DatabaseFacts) -> [DoctorReport.Finding] {
        let remedy =
            "make a copy of the file, then: sqlite3 \(database.path.shellWord) .recover | sqlite3 NEW, and compare it with the location: snapsync check --local"
        switch database.damage {
        case nil: return []
        case .failure(let error) where ["no such function", "unknown function", "no such collation"].contains(where: error.reason.exact.contains):
            return [
                .notice(
                    "database", "\(error.place): \(error.reason)", means: "SQLite cannot look the database through without the application; syncs need not",
                    do: "PRAGMA integrity_check in the application")
            ]
        case .failure(let error):
            return [
                .error(
                    "database", code: error.code, "\(error.place): \(error.reason)", means: "the database cannot be looked through",
                    do: error.code == .dataRefused ? remedy : error.hint)
            ]
        case .success(let lines):
            guard let first = lines.first else { return [.ok("database", "SQLite finds the database sound")] }
            return [
                .error(
                    "database", code: .dataRefused, "SQLite finds the database damaged: \(first)" + (lines.count > 1 ? ", and more" : ""),
                    means: "what is read from it may be wrong, and would be published", do: remedy)
            ]
        }
    }

    private static func permission(_ database: DatabaseFacts) -> DoctorReport.Finding {
        guard let obstacle = database.obstacle else { return .ok("permission", "this user may write the database") }
        return .error("permission", obstacle, means: "nothing is imported, and nothing that a sync finds is noted")
    }

    private static func journal(_ database: DatabaseFacts) -> [DoctorReport.Finding] {
        guard let mode = try? database.journalMode.get() else { return [] }
        guard mode != "wal" else { return [.ok("journal", "the journal mode is WAL")] }
        return [
            .notice(
                "journal", "the journal mode is \(mode)", means: "programs that write wait while an export reads",
                do: "sqlite3 \(database.path.shellWord) 'PRAGMA journal_mode=WAL'")
        ]
    }

    private static func table(_ one: DatabaseFacts.Dataset, _ database: DatabaseFacts) -> [DoctorReport.Finding] {
        switch one.shape {
        case .failure(let error): return [.error("table", error, means: "the dataset \(one.schema.name) is neither imported nor published")]
        case .success(let shape):
            guard !shape.undescribedColumns.isEmpty else { return [.ok("table", "the table \(one.schema.table) is as its dataset is described")] }
            let found = "the table \(one.schema.table) has columns that its dataset does not have: \(shape.undescribedColumns.joined(separator: ", "))"
            // A writer never imports into rows that exist; every other device does.
            if database.settings.role != .writer, let column = shape.unfillableColumns.first {
                return [
                    .error(
                        "table", code: .refused, found, means: "\(column) is NOT NULL and has no default, so an import cannot insert rows, and none is made",
                        do: "give the column a default, or let it be NULL")
                ]
            }
            return [
                .notice(
                    "table", found, means: "they are not synced, and an import leaves them alone",
                    // A reader's column is synced as soon as the zone has it.
                    do: database.settings.role == .reader ? nil : "to sync them: snapsync tables adopt \(database.path.shellWord)")
            ]
        }
    }

    private static func triggers(_ one: DatabaseFacts.Dataset, _ database: DatabaseFacts) -> DoctorReport.Finding {
        switch one.isTracking {
        case .failure(let error): return .error("triggers", error, means: "whether changes of \(one.schema.name) are noted is not known")
        case .success(true): return .ok("triggers", "changes of \(one.schema.name) are noted")
        case .success(false):
            let loss = database.settings.role.publishes ? "they are found by comparing all rows" : "an import may replace what was changed without a note"
            return .warning(
                "triggers", code: .tryAgainLater,
                "the triggers that note changes of \(one.schema.name) are not as they should be; a migration may have rebuilt the table",
                means: "changes are not noted now; \(loss)",
                do: "run: snapsync sync \(database.path.shellWord), which puts them in again")
        }
    }

    private static func applicationTriggers(_ one: DatabaseFacts.Dataset, _ database: DatabaseFacts) -> [DoctorReport.Finding] {
        var findings: [DoctorReport.Finding] = []
        if let reason = one.unwritable {
            findings.append(
                .notice(
                    "applicationTriggers", "the table \(one.schema.table) cannot be written without the application (\(reason))",
                    means: "restore and undo fail here",
                    do: "rebuild the table, or its index, without what only the application registers"))
        }
        switch one.applicationTriggers {
        case .failure(let error): findings.append(.error("applicationTriggers", error, means: "what the application's triggers do at an import is not known"))
        case .success(let triggers):
            findings += triggers.map { trigger in
                trigger.runs
                    ? .ok("applicationTriggers", trigger.sentence)
                    : .notice(
                        "applicationTriggers", trigger.sentence,
                        means: "tables that are not synced and that the trigger fills do not follow an import",
                        do: "bring such tables up to date from the application after an import")
            }
        }
        return findings
    }

    private static func unknownFields(_ one: DatabaseFacts.Dataset, _ database: DatabaseFacts) -> [DoctorReport.Finding] {
        guard !one.unknownFields.isEmpty else { return [] }
        let found = "the entities of \(one.schema.name) have fields that this device does not know: \(one.unknownFields.joined(separator: ", "))"
        let remedy = "update the description (snapsync tables adopt, or the dataset file) or snapsync on this device"
        guard database.settings.role.publishes else { return [.notice("unknownFields", found, means: "they are not shown here", do: remedy)] }
        return [.error("unknownFields", code: .refused, found, means: "publishing would lose them, so nothing is published", do: remedy)]
    }

    private static func held(_ one: DatabaseFacts.Dataset, _ database: DatabaseFacts) -> [DoctorReport.Finding] {
        switch one.held {
        case .failure(let error): return [.error("held", error, means: "whether rows of \(one.schema.name) are held is not known")]
        case .success(0): return []
        case .success(let count):
            let found = "\(Format.count(count, "row")) of \(one.schema.name) \(Format.word(count, "is", or: "are")) held: "
            return [
                .warning(
                    "held", code: .tryAgainLater, found + "a value that only one row may have is taken, or a row that they refer to is missing",
                    means: "they are kept, and return when they fit",
                    do: "look at them: snapsync conflicts \(database.path.shellWord)")
            ]
        }
    }
}

/// The facts about a database that `status` does not report.
struct DatabaseFacts: Sendable {
    let path: String
    let settings: SyncSettings
    /// What SQLite's integrity check reports; nil if the check was not run.
    let damage: DoctorFacts.Look<[String]>?
    /// Why this user cannot write the file; nil if it is writable.
    let obstacle: SyncError?
    let journalMode: DoctorFacts.Look<String>
    let datasets: DoctorFacts.Look<[Dataset]>
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

    init(_ database: LocalDatabase, _ settings: SyncSettings, isBrief: Bool) {
        func look<T>(_ body: () throws -> T) -> DoctorFacts.Look<T> {
            do { return .success(try body()) } catch { return .failure(SyncError(error, step: .read)) }
        }
        path = database.path
        self.settings = settings
        damage = isBrief ? nil : look { try database.integrityCheck() }
        obstacle = database.writingObstacle().map { SyncError($0, step: .open) }
        journalMode = look { try database.journalMode() }
        applied = try? database.read { try $0.state.applied() }
        dangling =
            isBrief
            ? nil
            : look {
                try database.read { DanglingReport(try $0.references.danglingRows(of: settings.datasets, limit: DanglingReport.limit), in: database.path) }
            }
        brokenChecks =
            isBrief
            ? nil
            : look {
                try database.read { transaction in
                    try settings.datasets.flatMap { schema in
                        try transaction.tables.rowsBreakingChecks(of: schema, keys: 3).map { CheckReport(schema, $0.check, count: $0.count, keys: $0.keys) }
                    }
                }
            }
        let survey = look { try TriggerSurvey(database, settings.datasets) }
        // One transaction, so that what the database has is looked up once, not once for each dataset.
        datasets = look {
            try database.read { transaction in
                let states = (try? transaction.datasetStates.all()) ?? []
                return settings.datasets.map { schema in
                    let shape = look {
                        let differences = try transaction.tables.differences(from: schema)
                        if let refusal = MissingTables.refusal([differences], settings, at: database.path) { throw refusal }
                        return try transaction.tables.check(of: schema)
                    }
                    return Dataset(
                        schema: schema, shape: shape,
                        isTracking: look { try transaction.tracking.isInstalled([schema]) },
                        held: look { try max(transaction.waiting.rows(of: schema).count, transaction.held.count(of: schema)) },
                        unknownFields: states.first { $0.name == schema.name }?.unknownFields ?? [],
                        applicationTriggers: survey.map { survey in
                            survey.triggers.filter { $0.dataset == schema.name }.map { TriggerReport($0, datasets: settings.datasets) }
                        },
                        unwritable: (try? shape.get()) == nil ? nil : (try? survey.get())?.unwritable[schema.name])
                }
            }
        }
    }
}
