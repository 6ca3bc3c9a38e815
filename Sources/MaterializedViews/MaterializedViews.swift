import Foundation
import GRDB
package import LocalTables
import SnapshotModel
package import StrictText

/// How many rows of a table a refresh writes.
package struct ViewChanges: Sendable {
    package let table: String
    package var added = 0
    package var changed = 0
    package var removed = 0
}

/// The tables of an audience: a database whose tables have the rows of queries on another database, the source.
///
/// A refresh writes into the tables what differs, so their triggers track it like the edits of any program. If readers may edit a table, a copy of it
/// has the rows of the last refresh: what differs from the copy is an edit, and the next refresh makes it in the source first. Each refresh is two
/// transactions, one that writes the source and one that writes the audience. After a crash between them, the next refresh finds the edits made.
package struct MaterializedViews {
    package let database: LocalDatabase
    private let note: AudienceNote
    /// The path of the source.
    package let source: String

    /// - Returns: nil if the database is no audience.
    package init?(_ database: LocalDatabase) throws {
        guard let note = try database.read({ try $0.settings.exists() ? $0.state.audience() : nil }) else { return nil }
        (self.database, self.note) = (database, note)
        source = Self.path(note.source, besides: database.path)
    }

    // MARK: - Definitions

    /// Creates the tables of a new audience, with their rows.
    ///
    /// - Returns: what `snapsync_state` has to keep.
    /// - Throws: ``SyncError`` with `.refused` for a query that cannot fill a table; nothing is created then.
    package static func create(_ views: [ViewQuery], from source: String, in database: LocalDatabase) throws -> AudienceNote {
        guard canonical(source).exact != canonical(database.path).exact else {
            throw SyncError(
                .refused, step: .open, at: database.path, "the source is the same file", hint: "name a new file for the audience: snapsync init NEW.db LOCATION"
            ).asSlip
        }
        return try connected(database, to: source) { db in
            let definitions = try views.map { try ViewDefinition($0, in: db, of: source) }
            try fill(definitions, in: db, of: source) { view in
                let found = try String.fetchOne(db, sql: "SELECT sql FROM audience.sqlite_schema WHERE name = ? COLLATE NOCASE", arguments: [view.table])
                let sql = "CREATE TABLE \(view.table.sqlIdentifier)\(view.body)"
                // An interrupted run has created it.
                if found?.exact == sql.exact { return }
                guard found == nil else {
                    throw SyncError(
                        .refused, step: .open, at: "\(database.path), table \(view.table)", "there is such a table, and a query would replace its rows",
                        hint: "choose another name for the query, or a new file for the audience"
                    ).asSlip
                }
                try db.execute(sql: "CREATE TABLE audience.\(view.table.sqlIdentifier)\(view.body)")
            }
            return AudienceNote(
                source: name(source, besides: database.path), views: definitions.map { .init(table: $0.table, query: $0.query, base: $0.base) })
        }
    }

    /// Adds a table, or gives a table another query. Its rows are those of the query then.
    ///
    /// - Parameter edited: the tables that readers may edit.
    package func define(_ view: ViewQuery, edited: Set<ExactText>) throws {
        guard let old = note.views.first(where: { $0.table.folded == view.table.folded }) else {
            let added = try Self.create([view], from: source, in: database)
            return try save(note.views + added.views)
        }
        let changed = try Self.connected(database, to: source) { db in
            let new = try ViewDefinition(ViewQuery(table: old.table, query: view.query, key: view.key), in: db, of: source)
            let refusal = { (reason: String, hint: String) in
                SyncError(.refused, step: .open, at: "\(database.path), table \(old.table)", reason, hint: hint).asSlip
            }
            guard try new.key.map(\.name.folded) == Self.key(of: old.table, db).map(\.folded) else {
                throw refusal(
                    "the query has another key, \(new.key.map(\.name).joined(separator: ", "))",
                    "take the table out, sync, and add it under another name: snapsync tables remove \(old.table.shellWord)")
            }
            guard new.base != nil || !edited.contains(old.table.folded) else {
                throw refusal("readers may edit it, and the rows of this query cannot be edited", "snapsync tables edits none")
            }
            try Self.fill([new], edited: edited, in: db, of: source) { view in
                for column in try Self.columns(of: view.table, db) where !view.columns.contains(where: { $0.name.folded == column.folded }) {
                    for table in try [view.table, view.filled] where try isThere(table, db) {
                        try db.execute(sql: "ALTER TABLE audience.\(table.sqlIdentifier) DROP COLUMN \(column.sqlIdentifier)")
                    }
                }
                try Self.addColumns(of: view, db, for: database.path)
            }
            return AudienceNote.View(table: old.table, query: new.query, base: new.base)
        }
        try save(note.views.map { $0.table.folded == old.table.folded ? changed : $0 })
    }

    private func save(_ views: [AudienceNote.View]) throws {
        var note = note
        note.views = views
        try database.write { try $0.state.audience.set(note) }
    }

    // MARK: - Refreshing

    /// Makes the edits of the rows in the source, then gives the tables the rows of their queries.
    ///
    /// - Parameter edited: the tables that readers may edit, in lower case.
    /// - Returns: sentences about edits that the source did not take.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if another program keeps the source locked, `.refused` if a query does not fit the source any longer.
    package func refresh(edited: Set<ExactText>) throws -> [String] {
        try Self.connected(database, to: source) { db in
            let views = try definitions(db)
            var notices: [String] = []
            let editable = views.filter { $0.base != nil && edited.contains($0.table.folded) }
            for view in editable { try Self.addColumns(of: view, db, for: database.path) }
            let edits = try editable.enumerated().compactMap { try SourceEdits($1, number: $0, in: db) }
            if !edits.isEmpty {
                try db.inTransaction(.immediate) {
                    try SourceEdits.make(edits)
                    return .commit
                }
                notices = try edits.flatMap { try $0.refusals(source) }
            }
            try Self.fill(views, edited: edited, in: db, of: source) { try Self.addColumns(of: $0, db, for: database.path) }
            return notices
        }
    }

    /// What a refresh would write, without the edits of readers. Changes nothing.
    ///
    /// - Throws: as ``refresh(edited:)``.
    package func pending(edited: Set<ExactText>) throws -> [ViewChanges] {
        try Self.connected(database, to: source) { db in
            let views = try definitions(db)
            var changes: [ViewChanges] = []
            try db.inTransaction(.deferred) {
                try Self.gather(views, in: db, of: source)
                for (number, view) in views.enumerated() {
                    let hasCopy = try view.base != nil && edited.contains(view.table.folded) && isThere(view.filled, db)
                    let known = try Self.knownColumns(of: view, db, for: database.path).map(\.sqlIdentifier).joined(separator: ", ")
                    let last = "temp.snapsync_filled_\(number)"
                    try db.execute(
                        sql: """
                            CREATE TEMP TABLE snapsync_filled_\(number)\(view.body);
                            INSERT INTO \(last)(\(known)) SELECT \(known) FROM audience.\((hasCopy ? view.filled : view.table).sqlIdentifier)
                            """)
                    changes.append(try view.copy("temp.snapsync_rows_\(number)", to: last, db))
                }
                return .rollback
            }
            return changes
        }
    }

    private func definitions(_ db: Database) throws -> [ViewDefinition] {
        try note.views.map { view in
            do {
                return try ViewDefinition(ViewQuery(table: view.table, query: view.query, key: Self.key(of: view.table, db)), in: db, of: source)
            } catch let error as SyncError where error.code == .refused {
                throw Self.refusal(view.table, at: error.place, error.reason, for: database.path)
            }
        }
    }

    /// Gives tables the rows of their queries, in one transaction.
    ///
    /// - Parameter prepare: makes the table fit the query.
    private static func fill(
        _ views: [ViewDefinition], edited: Set<ExactText> = [], in db: Database, of source: String, _ prepare: (ViewDefinition) throws -> Void
    ) throws {
        try db.inTransaction(.deferred) {
            // The source is read first: all queries see one state of it, and the audience is not locked while they run.
            try gather(views, in: db, of: source)
            for (number, view) in views.enumerated() {
                try prepare(view)
                let log = try Int64.fetchOne(db, sql: isThere("snapsync_log", db) ? "SELECT coalesce(max(seq), 0) FROM audience.snapsync_log" : "SELECT NULL")
                try view.copy("temp.snapsync_rows_\(number)", to: "audience.\(view.table.sqlIdentifier)", db)
                if let log { try view.dateChanges(after: log, db) }
                if view.base != nil, edited.contains(view.table.folded) {
                    try db.execute(sql: "CREATE TABLE IF NOT EXISTS audience.\(view.filled.sqlIdentifier)\(view.body)")
                    try view.copy("temp.snapsync_rows_\(number)", to: "audience.\(view.filled.sqlIdentifier)", db)
                } else {
                    try db.execute(sql: "DROP TABLE IF EXISTS audience.\(view.filled.sqlIdentifier)")
                }
                try db.execute(sql: "DROP TABLE temp.snapsync_rows_\(number)")
            }
            return .commit
        }
    }

    /// Copies the rows of the queries into temporary tables.
    private static func gather(_ views: [ViewDefinition], in db: Database, of source: String) throws {
        for (number, view) in views.enumerated() {
            try db.execute(sql: "CREATE TEMP TABLE snapsync_rows_\(number)\(view.body)")
            do {
                try db.execute(sql: "INSERT INTO temp.snapsync_rows_\(number) SELECT * FROM (\(view.query)\n)")
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                throw try badRows(of: view, in: db, source)
            }
        }
    }

    /// The error for rows without a key, or two with one.
    private static func badRows(of view: ViewDefinition, in db: Database, _ source: String) throws -> SyncError {
        let keys = view.key.map(\.name.sqlIdentifier), names = view.key.map(\.name).joined(separator: ", ")
        let isNull = keys.map { "\($0) IS NULL" }.joined(separator: " OR ")
        let hasNull = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM (\(view.query)\n) WHERE \(isNull))") == true
        let list = keys.joined(separator: ", "), shown = keys.map { "quote(\($0))" }.joined(separator: " || ', ' || ")
        let twice = try String.fetchOne(db, sql: "SELECT \(shown) FROM (\(view.query)\n) GROUP BY \(list) HAVING count(*) > 1 LIMIT 1")
        return SyncError(
            .refused, step: .read, at: "\(source), the query of \(view.table)",
            hasNull ? "a row has NULL in the key (\(names))" : "two rows have one key (\(names)): \(twice ?? "")",
            hint: "correct the SELECT, or name the key's columns: --key")
    }

    private static func refusal(_ view: String, at place: String, _ reason: String, for path: String) -> SyncError {
        SyncError(
            .refused, step: .read, at: place, reason,
            hint:
                "if the source was changed intentionally, give the table another query: snapsync tables add \(path.shellWord) \(view.shellWord) --from 'SELECT …'"
        )
    }

    /// Adds the columns that the query has and the table lacks.
    private static func addColumns(of view: ViewDefinition, _ db: Database, for path: String) throws {
        let known = try Set(knownColumns(of: view, db, for: path).map(\.folded))
        for column in view.columns where !known.contains(column.name.folded) {
            for table in try [view.table, view.filled] where try isThere(table, db) {
                try db.execute(sql: "ALTER TABLE audience.\(table.sqlIdentifier) ADD COLUMN \(column.name.sqlIdentifier)\(column.declaration)")
            }
        }
    }

    /// The columns that the table has, which the query must have.
    private static func knownColumns(of view: ViewDefinition, _ db: Database, for path: String) throws -> [String] {
        let known = try columns(of: view.table, db), names = Set(view.columns.map(\.name.folded))
        guard let lost = known.first(where: { !names.contains($0.folded) }) else { return known }
        throw refusal(view.table, at: "\(path), table \(view.table)", "its query has no column \(lost) any longer", for: path)
    }

    private static func columns(of table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?, 'audience')", arguments: [table])
    }

    private static func key(of table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?, 'audience') WHERE pk > 0 ORDER BY pk", arguments: [table])
    }

    // MARK: - The files

    /// Runs `body` on a connection to the source, to which the audience is attached.
    private static func connected<T>(_ database: LocalDatabase, to source: String, _ body: (Database) throws -> T) throws -> T {
        let queue = try database.attached(to: source)
        defer { try? queue.close() }
        return try SyncError.translating(at: source, .read) { try queue.writeWithoutTransaction(body) }
    }

    private static func canonical(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

    /// The name by which a database knows another one: that of the file if both are in one folder, so that they can be moved together.
    package static func name(_ path: String, besides database: String) -> String {
        let other = URL(fileURLWithPath: canonical(path)), own = URL(fileURLWithPath: canonical(database))
        return other.deletingLastPathComponent().path.exact == own.deletingLastPathComponent().path.exact ? other.lastPathComponent : other.path
    }

    /// The path of a database that another one knows by a name.
    package static func path(_ name: String, besides database: String) -> String {
        name.exact.hasPrefix("/") ? name : URL(fileURLWithPath: canonical(database)).deletingLastPathComponent().appendingPathComponent(name).path
    }
}
