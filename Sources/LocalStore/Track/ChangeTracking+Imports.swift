import GRDB
package import SnapshotModel

// Imports: the triggers do not log their changes.
extension ChangeTracking {
    /// Runs `work`, whose changes come from a version, with logging off. Then ``TriggerReplay`` runs the application's triggers for the rows that
    /// differ.
    ///
    /// - Parameters:
    ///   - schemas: all datasets of the database.
    ///   - finish: changes tables that are not synced; runs last.
    package func importing<T>(_ schemas: [DatasetSchema], then finish: () throws -> Void = {}, _ work: () throws -> T) throws -> T {
        try transaction.observe(schemas)
        func body() throws -> T { try keepingOwnColumns(of: schemas, work) }
        return try settingChecks(off: transaction.ignoresChecks) {
            let triggers = try ApplicationTriggers(db)
            guard triggers.isEmpty else {
                return try unrecorded { try TriggerReplay(transaction, schemas, triggers).run(noting: false, then: { try end(schemas, finish) }, body) }
            }
            // All triggers are the tracking's. Turning them off costs no page of the log, which the import would have to write at its beginning
            // and again at its end.
            return try TriggerSwitch(db: db).off {
                let result = try body()
                try end(schemas, finish)
                return result
            }
        }
    }

    /// Runs `body` with CHECK constraints as they are, or without them.
    func settingChecks<T>(off isOff: Bool, _ body: () throws -> T) throws -> T {
        let wereOff = try Bool.fetchOne(db, sql: "PRAGMA ignore_check_constraints") ?? false
        guard isOff != wereOff, isOff || transaction.ignoresChecks else { return try body() }
        try db.execute(sql: "PRAGMA ignore_check_constraints = \(isOff ? "ON" : "OFF")")
        defer { try? db.execute(sql: "PRAGMA ignore_check_constraints = \(wereOff ? "ON" : "OFF")") }
        return try body()
    }

    /// Runs `work`, whose changes are this device's own: rows that differ afterwards are logged as changed now.
    ///
    /// If the application has triggers, they run for the difference alone, as in an import.
    package func changing<T>(_ schemas: [DatasetSchema], then finish: () throws -> Void = {}, _ work: () throws -> T) throws -> T {
        try transaction.observe(schemas)
        func body() throws -> T { try keepingOwnColumns(of: schemas, work) }
        let triggers = try ApplicationTriggers(db)
        guard triggers.isEmpty else {
            return try unrecorded { try TriggerReplay(transaction, schemas, triggers).run(noting: true, then: { try end(schemas, finish) }, body) }
        }
        let result = try body()
        try end(schemas, finish)
        return result
    }

    /// Ends a change that the toolkit made: runs `finish` for tables that are not synced, and moves the generated keys of new rows past those
    /// that exist.
    private func end(_ schemas: [DatasetSchema], _ finish: () throws -> Void) throws {
        try settingChecks(off: false, finish)
        try transaction.keyRanges.advance(schemas)
    }

    /// Runs `body`, which deletes and inserts rows, and preserves the values of columns that the datasets do not describe.
    private func keepingOwnColumns<T>(of schemas: [DatasetSchema], _ body: () throws -> T) throws -> T {
        let own = try schemas.enumerated().compactMap { try OwnColumns(transaction, $1, number: $0) }
        let result = try body()
        for one in own { try one.restore() }
        return result
    }

    private func unrecorded<T>(_ body: () throws -> T) throws -> T {
        guard try db.hasTable("snapsync_importing") else { return try body() }
        try db.execute(sql: "INSERT OR IGNORE INTO snapsync_importing VALUES(1)")
        let result = try body()
        // If `body` throws, the caller rolls the transaction back, which also removes this row.
        try db.execute(sql: "DELETE FROM snapsync_importing")
        return result
    }

    /// Runs `body`, which replaces all rows of a dataset, with the triggers off.
    ///
    /// SQLite empties a table without triggers at once instead of row by row.
    package func withoutTriggers<T>(_ body: () throws -> T) throws -> T { try TriggerSwitch(db: db).off(body) }
}
