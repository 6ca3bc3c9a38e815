import GRDB
import GRDBSQLite
import LocalTables
import SnapshotModel
import StrictText

/// Runs an application's triggers for the net changes of an import, independent of how the import makes them.
///
/// The import itself runs with the triggers off, so that the tables become what the version says, whatever the triggers do. Afterwards the rows
/// that differ are restored and changed once more with the triggers on: a DELETE for each row that is gone, an UPDATE of the differing columns
/// for each row that stays, an INSERT for each new row. What triggers write into tables that are not synced is kept. What they write into synced
/// tables is ignored, row by row, so that nothing has to be repaired afterwards.
///
/// If the triggers of a row fail, the row is changed with the triggers off, and a notice names the trigger. If anything else fails, the tables
/// are as the import made them, and a notice says that no trigger ran. Costs nothing if the application has no triggers.
struct TriggerReplay {
    private let transaction: LocalTransaction
    private let schemas: [DatasetSchema]
    private let triggers: ApplicationTriggers
    private let toggle: TriggerSwitch
    private var db: Database { transaction.db }

    /// - Parameter schemas: all datasets of the database.
    init(_ transaction: LocalTransaction, of schemas: [DatasetSchema], _ triggers: ApplicationTriggers) {
        self.transaction = transaction
        self.schemas = schemas
        self.triggers = triggers
        toggle = TriggerSwitch(db: transaction.db)
    }

    /// Runs `body`, then the triggers, then `finish`, which changes tables that are not synced.
    ///
    /// - Parameters:
    ///   - noting: whether the rows that differ in the end are logged as changes of this device.
    ///   - refusing: whether a change that a trigger refuses ends the run with an error.
    func run<T>(noting: Bool, refusing: Bool = false, then finish: () throws -> Void, _ body: () throws -> T) throws -> T {
        let concerned = schemas.filter { !triggers.of($0).isEmpty }
        let firing = Set(try concerned.filter { try fires($0) }.map(\.table.exact))
        let images = try schemas.filter { noting || firing.contains($0.table.exact) }.enumerated().map { try TableImage(db, $1, name: "\($0)") }
        let result = try toggle.off {
            // Recursive triggers make the temporary triggers run also for rows that REPLACE removes.
            let recursion = try Bool.fetchOne(db, sql: "PRAGMA recursive_triggers") ?? false
            if !recursion { try db.execute(sql: "PRAGMA recursive_triggers = ON") }
            defer { if !recursion { try? db.execute(sql: "PRAGMA recursive_triggers = OFF") } }
            return try body()
        }
        for image in images { try image.close() }
        if noting { for image in images { if let id = try transaction.trackingID(image.schema) { try image.record(id: id) } } }
        // What the tracking's triggers log from here on is no change: the rows become what they are.
        let last = try db.hasTable(LocalTable.log.name) ? transaction.changeLog.lastEntry() : nil
        let seen = images.filter { firing.contains($0.schema.table.exact) }
        if !seen.isEmpty { try replay(seen, refusing) }
        for image in images { try image.drop() }
        try self.finish(refusing, finish)
        if let last { try db.execute(sql: "DELETE FROM snapsync_log WHERE seq > ?", arguments: [last]) }
        return result
    }

    private func fires(_ schema: DatasetSchema) throws -> Bool {
        guard schema.triggers == .fire else { return false }
        guard let reason = transaction.silenced.reason(schema.table.folded) else { return true }
        notice("\(reason); no trigger of \(schema.table) ran in this import")
        return false
    }

    private func notice(_ text: String) { transaction.triggerNotices.append(text) }

    // MARK: - The rows

    private func replay(_ images: [TableImage], _ refusing: Bool) throws {
        do {
            try inSavepoint {
                try toggle.off { for image in images { try image.restore() } }
                try guardTables()
                let run = ReplayRun(transaction, images, isRefusable: refusing)
                let failed = try run.run()
                if refusing { try run.refuse(failed) }
                try unguardTables()
                if !failed.isEmpty {
                    try toggle.off { try run.force(failed) }
                    for text in run.notices(failed) { notice(text) }
                }
                guard try images.allSatisfy({ try $0.isAsImported() }) else {
                    throw DatabaseError(resultCode: .SQLITE_CONSTRAINT, message: "the rows were not what the import made them")
                }
            }
        } catch let error as DatabaseError where error.isOfTriggers {
            let names = images.flatMap { triggers.of($0.schema) }.joined(separator: ", ")
            notice(
                "the triggers \(names) could not run (\(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")); the import is whole, what they do was not done"
            )
        }
    }

    private func inSavepoint(_ body: () throws -> Void) throws {
        try db.execute(sql: "SAVEPOINT snapsync_replay")
        do {
            try body()
            try db.execute(sql: "RELEASE snapsync_replay")
        } catch {
            if sqlite3_get_autocommit(db.sqliteConnection) == 0 { try db.execute(sql: "ROLLBACK TO snapsync_replay; RELEASE snapsync_replay") }
            throw error
        }
    }

    // MARK: - Tables that are not synced

    private func finish(_ refusing: Bool, _ body: () throws -> Void) throws {
        guard transaction.silenced.reason(TriggerRollback.otherTables) == nil else { return try toggle.off(body) }
        let trace = TriggerTrace(db)
        do {
            try inSavepoint {
                try guardTables()
                try body()
                try unguardTables()
            }
        } catch let error as DatabaseError where error.isOfTriggers {
            let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
            let name = trace.last.map { "the trigger \($0)" } ?? "a trigger"
            guard sqlite3_get_autocommit(db.sqliteConnection) == 0 else {
                if refusing { throw EditRollback(reason: "\(name) failed (\(message))") }
                transaction.silenced.add(TriggerRollback.otherTables, message)
                throw TriggerRollback()
            }
            try toggle.off(body)
            notice("\(name) failed (\(message)) where rows of an application's own tables followed a foreign key; they were changed with triggers off")
        }
    }

    // MARK: - Guarding synced tables against triggers

    /// Temporary triggers run before those of the main database. The first statement that changes a row finds a permission and consumes it. When
    /// a trigger then writes a synced table, there is no permission, and the write is ignored.
    private func guardTables() throws {
        try db.execute(sql: "CREATE TEMP TABLE \(ReplayRun.permission)(one INTEGER PRIMARY KEY)")
        for (number, schema) in schemas.enumerated() {
            for event in ["INSERT", "UPDATE", "DELETE"] {
                try db.execute(
                    sql: """
                        CREATE TEMP TRIGGER snapsync_guard_\(number)_\(event) BEFORE \(event) ON main.\(schema.table.sqlIdentifier) BEGIN
                        SELECT RAISE(IGNORE) WHERE NOT EXISTS (SELECT 1 FROM temp.\(ReplayRun.permission)); DELETE FROM \(ReplayRun.permission); END
                        """)
            }
        }
    }

    private func unguardTables() throws {
        for number in schemas.indices {
            for event in ["INSERT", "UPDATE", "DELETE"] { try db.execute(sql: "DROP TRIGGER temp.snapsync_guard_\(number)_\(event)") }
        }
        try db.execute(sql: "DROP TABLE temp.\(ReplayRun.permission)")
    }
}

extension DatabaseError {
    /// Whether a trigger may have caused the failure, rather than the disk, a lock or the memory.
    var isOfTriggers: Bool {
        switch resultCode {
        case .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE, .SQLITE_ABORT, .SQLITE_AUTH: true
        case .SQLITE_CORRUPT: extendedResultCode == .SQLITE_CORRUPT_VTAB
        default: false
        }
    }
}
