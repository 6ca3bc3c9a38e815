package import CloudStore
package import LocalStore
package import LocalTables
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Updates the descriptions of the datasets to the tables of this database and to the zone.
///
/// ``automatic()`` begins every run. It makes changes that add something and lose nothing, and refuses if a described table or column is gone.
/// ``adopt(_:)`` does what `snapsync tables adopt` requests.
package struct SchemaUpdate {
    package var context: SyncContext

    package init(context: SyncContext) { self.context = context }

    /// The device with its updated descriptions, and the changes as sentences.
    package struct Outcome {
        package var context: SyncContext
        package var notices: [String] = []
    }

    // MARK: automatic updates

    /// Adds new columns to descriptions that were made from the database or come from the zone. If the database's schema has not changed, this
    /// costs one query.
    ///
    /// - Throws: ``SyncError`` with `.refused` if a synced table or column was dropped or renamed.
    package func automatic() async throws -> Outcome {
        let (isSeen, source, states) = try context.database.read { transaction in
            (
                try transaction.state.tablesSeen() == transaction.tables.schemaVersion(), try transaction.settings.descriptionSource(),
                try transaction.datasetStates.all()
            )
        }
        if isSeen, states.allSatisfy(\.unknownFields.isEmpty) { return Outcome(context: context) }
        let found = try context.database.read { transaction in try context.settings.datasets.map(transaction.tables.differences) }
        // A publication would tell every device that the values are gone.
        if let refusal = MissingTables.refusal(
            found, context.settings, at: context.database.path, outcome: "nothing was \(context.settings.role.publishes ? "published" : "imported")")
        {
            throw refusal
        }
        var wanted: [(TableDifferences, [String])] = [], waiting: [String] = []
        if source != .file {
            let unknown = Dictionary(states.map { ($0.name, Set($0.unknownFields.map(\.exact))) }, uniquingKeysWith: { first, _ in first })
            for one in found where !one.newColumns.isEmpty && !DatasetSchema.builtIn.contains(one.schema) {
                let (left, described) = try context.database.read {
                    (try $0.state.leftColumns(of: one.schema), try $0.state.describedColumns(of: one.schema))
                }
                let names = one.newColumns.filter { name in
                    if unknown[one.schema.name]?.contains(name.exact) == true || described.contains(name.exact) { return true }
                    return context.settings.role.publishes && !left.contains(name.exact) && !one.unfillableColumns.contains(name.exact)
                }.prefix(one.schema.freeColumns)
                if !names.isEmpty { wanted.append((one, Array(names))) }
                if context.settings.role.publishes { waiting += notices(on: one, leaving: left.union(names.map(\.exact))) }
            }
        }
        guard !wanted.isEmpty else {
            // Until somebody decides about them, every run says so.
            if !waiting.isEmpty { return Outcome(context: context, notices: waiting) }
            if !isSeen { try context.database.write { try $0.state.setTablesSeen() } }
            return Outcome(context: context)
        }
        return try context.database.write { transaction in
            var outcome = Outcome(context: context)
            for (one, names) in wanted { try add(names, to: one.schema, &outcome, in: transaction) }
            if waiting.isEmpty { try transaction.state.setTablesSeen() }
            outcome.notices += waiting
            return outcome
        }
    }

    /// Adds columns of the table to the description of its dataset, with the zone's names for them.
    private func add(
        _ names: [String], to schema: DatasetSchema, as zone: DatasetSchema? = nil, _ outcome: inout Outcome, in transaction: LocalTransaction
    ) throws {
        let columns = try transaction.describer.columns(names, of: schema), own = try schema.with(columns: schema.columns + columns)
        let after = try zone.map(own.named) ?? own
        _ = try transaction.tables.check(of: after)
        try transaction.transition.adopt(schema, as: after, publishes: context.settings.role.publishes, codec: .json)
        outcome.context.settings.replace(after)
        try transaction.settings.setDatasets(outcome.context.settings.datasets)
        outcome.notices += columns.map { "\(after.name): the new column \($0.column) is synced from now on" }
    }

    /// Says which new columns wait for somebody to take them over: earlier versions have no values of them, and a row cannot be without.
    private func notices(on one: TableDifferences, leaving left: Set<ExactText>) -> [String] {
        one.newColumns.filter { !left.contains($0.exact) }.compactMap { column in
            if !one.unfillableColumns.contains(column.exact) { return Self.tooMany(column, in: one.schema) }
            return "\(one.schema.name): the new column \(column) is not synced, because it is NOT NULL and has no default; to sync it: "
                + "snapsync tables adopt \(context.database.path.shellWord)"
        }
    }

    /// Says that a new column finds no place in a dataset.
    package static func tooMany(_ column: String, in schema: DatasetSchema) -> String {
        "\(schema.name): the new column \(column) is not synced, because a dataset has at most \(DatasetSchema.columnLimit) columns"
    }

    /// Returns the zone's records and its descriptions of datasets; nil before its first version.
    package func zoneState() async throws -> (state: ZoneState, descriptions: [DatasetDescription])? {
        let state = try await context.records(at: nil, notBefore: context.database.read { try $0.state.appliedHere() })
        return state.token == nil ? nil : (state, try state.descriptions(in: context.zone))
    }

    /// Whether nothing was imported yet. `init` has then decided which datasets the device takes.
    private func isFirst() throws -> Bool { try context.database.read { try $0.state.applied() == nil } }

    /// Takes the columns that the zone's publisher has added to a dataset into this reader's descriptions where the tables have them, and those out
    /// that it has removed. The tables' columns and their values stay. Then takes over the choices (``followChoices(_:isFirst:_:)``).
    ///
    /// - Throws: ``SyncError`` with `.refused` at a publisher, whose next version would bring the columns back.
    func follow(_ changes: ZoneChanges) throws -> Outcome {
        var outcome = Outcome(context: context)
        let isFirst = try isFirst(), latest = latestDescriptions(changes, isFirst: isFirst)
        for (commit, zone) in latest {
            guard var schema = outcome.context.settings.datasets.first(where: { $0.name == zone.schema.name }) else {
                if isFirst { continue }
                outcome.notices.append(
                    "the zone has the dataset \(zone.schema.name), which this device does not know (snapsync tables adopt --create takes it in)")
                continue
            }
            // Before its first import, a device already describes the zone's present columns.
            if isFirst { continue }
            let names = Set(zone.schema.columns.map(\.name.exact)), named = try schema.named(as: zone.schema)
            if named != schema {
                try context.database.write { transaction in
                    try transaction.transition.rename(schema, as: named)
                    outcome.context.settings.replace(named)
                    try transaction.settings.setDatasets(outcome.context.settings.datasets)
                }
                schema = named
            }
            let (missing, removed, described, source) = try context.database.read {
                (
                    Set(try $0.state.missingColumns(of: schema).map(\.exact)), try $0.state.removedColumns(of: schema),
                    try $0.state.describedColumns(of: schema), try $0.settings.descriptionSource()
                )
            }
            let back = removed.intersection(names)
            if !back.isEmpty {
                try context.database.write { try $0.state.removedColumns.set(removed.subtracting(names), of: schema) }
            }
            let isReader = context.settings.role == .reader, added = names.subtracting(schema.columns.map(\.name.exact))
            if source != .file, isReader && !(added.isEmpty && described.isEmpty) || !back.isEmpty {
                try context.database.write { transaction in
                    if isReader { try transaction.state.describedColumns.set(added, of: schema) }
                    // A publisher takes its own new columns by itself, but not one that it has left out.
                    let new = Set(zone.schema.columns.filter { (isReader ? added : back).contains($0.name.exact) }.map(\.column.folded))
                    let here = try transaction.tables.differences(from: schema).newColumns.filter { new.contains($0.folded) }
                    guard !here.isEmpty, here.count <= schema.freeColumns else { return }
                    try add(here, to: schema, as: zone.schema, &outcome, in: transaction)
                    schema = outcome.context.settings.datasets.first { $0.name.exact == schema.name.exact } ?? schema
                }
            }
            let gone = schema.columns.filter { !names.contains($0.name.exact) && !missing.contains($0.name.exact) }
            guard !gone.isEmpty, source != .file else { continue }
            let list = gone.map(\.name).joined(separator: ", ")
            guard !context.settings.role.publishes else {
                throw SyncError(
                    .refused, step: .fetch, at: "version \(commit?.token.number ?? 0) of \(context.zone.place)",
                    "another device has taken \(list) out of the dataset \(schema.name), and this device still publishes it",
                    hint:
                        "to take it out here, too (the table keeps its column and values): snapsync tables adopt \(context.database.path.shellWord)"
                )
            }
            guard let after = try? schema.with(columns: schema.columns.filter { names.contains($0.name.exact) || missing.contains($0.name.exact) }) else {
                continue
            }
            try context.database.write { transaction in
                try transaction.transition.adopt(schema, as: after, publishes: false, codec: .json)
                outcome.context.settings.replace(after)
                try transaction.settings.setDatasets(outcome.context.settings.datasets)
            }
            outcome.notices.append(
                "\(schema.name): another device has taken \(list) out of the dataset; this table keeps the column and its values, and no import changes them"
            )
        }
        try followChoices(latest.map(\.description.schema), isFirst: isFirst, &outcome)
        return outcome
    }

    /// The newest description of each dataset, with its commit, except this device's own.
    private func latestDescriptions(_ changes: ZoneChanges, isFirst: Bool) -> [(commit: Commit?, description: DatasetDescription)] {
        // Of several commits, the last one counts.
        var latest: [String: (commit: Commit?, record: CloudRecord)] = [:]
        // A checkpoint does not contain a publisher's own unpublished choice, so a publisher ignores checkpoints.
        if isFirst || !context.settings.role.publishes {
            for record in changes.base where DatasetDescription.isRecord(record) { latest[record.name] = (nil, record) }
        }
        for commit in changes.commits {
            for record in commit.saved where DatasetDescription.isRecord(record) { latest[record.name] = (commit, record) }
        }
        return latest.values.sorted { $0.record.name < $1.record.name }.filter { $0.commit?.device != context.settings.device }.compactMap { one in
            (try? DatasetDescription(one.record, in: context.zone)).map { (one.commit, $0) }
        }
    }
}

/// Imports. If the version has columns that this database's tables have but its descriptions lacked, updates the descriptions and imports again.
package func adoptingUnknownColumns(_ context: SyncContext, _ run: (SyncContext) async throws -> ImportReport) async throws -> ImportReport {
    let report = try await run(context)
    var current = context
    current.settings = try context.database.read { try $0.settings.read() }
    current.notices = []
    let outcome = try await SchemaUpdate(context: current).automatic()
    guard !outcome.notices.isEmpty else { return report }
    current = outcome.context
    current.notices = outcome.notices
    return try await report.followed(by: run(current))
}

extension DatasetSchema {
    /// How many more columns the dataset may have.
    var freeColumns: Int { Self.columnLimit - columns.count }
}

extension SyncSettings {
    /// Replaces the description of the dataset with the same name.
    mutating func replace(_ schema: DatasetSchema) { datasets = datasets.map { $0.name == schema.name ? schema : $0 } }
}

/// Finds synced tables and columns that an application has dropped or renamed.
package enum MissingTables {
    /// The error that names the first such table, and the command that takes the change over; nil if there is none.
    ///
    /// - Parameter outcome: what the run has not done, for the error; nil if nothing is being done.
    package static func refusal(_ found: [TableDifferences], _ settings: SyncSettings, at path: String, outcome: String? = nil) -> SyncError? {
        guard let one = found.first(where: \.isBreaking) else { return nil }
        let file = path.shellWord, update = "snapsync tables adopt \(file)"
        let reason: String, hint: String
        if let table = one.table, one.isRenamed {
            (reason, hint) = ("the table is named \(table) now", "to take the new name over: \(update)")
        } else if one.table == nil {
            (reason, hint) = (
                "there is no such table",
                "to stop syncing it: \(settings.removal(of: one.schema, at: path)); else make the table again"
            )
        } else if let renamed = one.renamedColumns.first {
            (reason, hint) = ("the column \(renamed.column.column) is named \(renamed.name) now", "to take the new name over: \(update)")
        } else if case let computed = one.computedColumns, !computed.isEmpty {
            let (columns, verb) = (Format.word(computed.count, "column"), Format.word(computed.count, "is", or: "are"))
            (reason, hint) = (
                "the \(columns) \(computed.map(\.column).joined(separator: ", ")) \(verb) computed now",
                "the values follow from the other columns; to take \(Format.word(computed.count, "it", or: "them")) out of the dataset: \(update)"
            )
        } else {
            let names = one.lostColumns.map(\.column).joined(separator: ", ")
            (reason, hint) = (
                "it has no column \(names)",
                "if \(Format.word(one.lostColumns.count, "it was", or: "they were")) dropped on purpose: \(update); else add the column again"
            )
        }
        return SyncError(
            .refused, step: .open, at: "\(path), table \(one.schema.table)",
            "dataset \(one.schema.name): \(reason)\(outcome.map { "; \($0)" } ?? "")", hint: hint)
    }

    /// Compares the tables of some datasets with their descriptions.
    ///
    /// - Throws: ``SyncError`` with `.refused` for the first table that is gone or renamed, or lacks a described column.
    package static func verify(_ schemas: [DatasetSchema], of settings: SyncSettings, in database: LocalDatabase) throws {
        let found = try database.read { transaction in try schemas.map(transaction.tables.differences) }
        if let refusal = refusal(found, settings, at: database.path) { throw refusal }
    }
}
