import LocalTables
package import MaterializedViews
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

extension SyncEngine {
    /// Syncs the audiences of this database, before it publishes: edits of their readers change its rows.
    func syncAudiences(_ allowed: ShrinkApproval) async throws -> [Result<AudienceReport, any Error>] {
        try await forEachAudience { engine in
            try await engine.sync(allowing: allowed).exported.map { AudienceReport(database: engine.database.path, exported: $0) }
        }
    }

    /// Passes on the engine of each audience of this database that is turned on.
    ///
    /// - Returns: what `body` returned for each, or why it failed.
    package func forEachAudience<T>(_ body: (SyncEngine) async throws -> T?) async throws -> [Result<T, any Error>] {
        var results: [Result<T, any Error>] = [], options = options
        (options.cloudPath, options.openCloud) = (nil, nil)
        for name in try database.read({ try $0.settings.exists() ? $0.state.audiences() : [] }).sorted() {
            let path = MaterializedViews.path(name.text, besides: database.path)
            do {
                let engine = try SyncEngine(database: path, options: options)
                guard try engine.gate.standing() == .open else { continue }
                if let result = try await body(engine) { results.append(.success(result)) }
            } catch {
                var error = SyncError(error)
                if error.database == .notFound {
                    let remove =
                        "UPDATE snapsync_state SET value = json_remove(value, (SELECT fullkey FROM json_each(snapsync_state.value) WHERE atom = \(name.text.sqlText))) WHERE key = 'audiences'"
                    error = SyncError(
                        .nothingThere, step: .open, at: path, "there is no such database, and it is an audience of \(database.path)",
                        hint: "restore the file, or end the audience: sqlite3 \(database.path.shellWord) \(remove.shellWord)")
                }
                // The database of this run is another one, by which the command would complete the hint.
                if let hint = error.hint, hint.exact.contains("snapsync ") { error.hint = "on the database \(path): \(hint)" }
                results.append(.failure(error))
            }
        }
        return results
    }

    /// Adds a table to an audience, or gives a table another query.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the query cannot fill the table; nothing is changed then.
    package func define(_ view: ViewQuery) async throws -> DescriptionUpdateReport {
        let isNew = try await locked {
            guard let views = try MaterializedViews(database) else {
                throw SyncError(
                    .refused, step: .open, at: database.path, "its tables are its own, and only those of an audience are filled from a query",
                    hint:
                        "set up a database file for the audience: snapsync init NEW.db LOCATION --zone NAME --source \(database.path.shellWord) --from 'TABLE=SELECT …'"
                ).asSlip
            }
            let settings = try database.read { try $0.settings.read() }
            try views.define(view, edited: settings.edited)
            return !settings.datasets.contains { $0.table.folded == view.table.folded }
        }
        return try await updateDescriptions(DescriptionUpdateRequest(tables: isNew ? TableChoice(tables: [view.table]) : nil))
    }
}

extension AudienceNote {
    /// Refuses tables that readers may edit although the source cannot be.
    func refuseEdits(of datasets: [DatasetSchema]) throws {
        let fixed = Set(views.filter { $0.base == nil }.map(\.table.folded))
        guard let schema = datasets.first(where: { !$0.messages.isEmpty && fixed.contains($0.table.folded) }) else { return }
        throw SyncError(
            .refused, step: .open, at: "the query of \(schema.table)", "readers cannot edit its rows, which are not those of one table of the source",
            hint: "leave \(schema.table) out of --reader-edits, or write SELECT, columns of one table with its key, FROM the table, and WHERE"
        ).asSlip
    }
}
