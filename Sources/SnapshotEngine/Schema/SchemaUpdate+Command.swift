import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The options of ``SyncEngine/updateDescriptions(_:)``.
package struct DescriptionUpdateRequest: Sendable {
    /// Tables to sync from now on, and timestamps; nil for none. A publisher describes them from this database; a reader takes them from the zone, without
    /// timestamps.
    package var tables: TableChoice?
    /// Datasets to remove: from the zone at a publisher, from this database at a reader.
    package var removed: [String]
    /// Whether to create columns and tables that the zone has and this database lacks.
    package var creates: Bool
    /// The tables whose rows readers may edit from now on; nil changes nothing. For publishers only.
    package var readerEdits: ReaderEdits?
    /// Whether the user accepts that a reader and another device may give one integer key to different rows.
    package var sharesKeys: Bool

    package init(tables: TableChoice? = nil, removed: [String] = [], creates: Bool = false, readerEdits: ReaderEdits? = nil, sharesKeys: Bool = false) {
        (self.tables, self.removed, self.creates, self.readerEdits, self.sharesKeys) = (tables, removed, creates, readerEdits, sharesKeys)
    }
}

/// The result of ``SyncEngine/updateDescriptions(_:)``.
package struct DescriptionUpdateReport: Sendable, Encodable {
    /// One change of the description.
    package struct Change: Sendable, Encodable, Hashable {
        package enum Kind: String, Sendable, Encodable {
            case columnAdded, columnRemoved, columnRenamed, tableRenamed, columnMade, tableMade, datasetAdded, datasetRemoved
            /// The zone has it and this database does not.
            case columnLacking, datasetLacking
            /// The dataset has as many columns as it may have.
            case columnLeftOut
            /// The edits that readers may send.
            case readerEditsChanged
            /// The column that says when a row was last changed.
            case timestampChanged
        }
        package let kind: Kind
        package let dataset: String
        /// The table's column; nil for a change of the whole table.
        package let column: String?
        /// The change as a sentence.
        package let sentence: String
    }

    package let database: String
    package let role: String
    package internal(set) var changes: [Change] = []
    /// Tables of the application that are not synced. At publishers only.
    package internal(set) var otherTables: [String] = []
    /// Whether the next sync publishes a part of the change.
    package internal(set) var willPublish = false
    /// The datasets that are synced from now on.
    package internal(set) var datasets: [String] = []
}

extension SyncEngine {
    /// Updates the descriptions of the datasets to this database's tables and to the zone's descriptions.
    ///
    /// Nothing is published and no row is changed; the next sync does what follows from the change.
    ///
    /// - Throws: ``SyncError`` with `.refused` if a table cannot be synced, a column of a key is gone, or the zone's type of a column would change a key
    ///   or an edit; nothing is changed then.
    package func updateDescriptions(_ request: DescriptionUpdateRequest = DescriptionUpdateRequest()) async throws -> DescriptionUpdateReport {
        try await locked { try await SchemaUpdate(context: context()).adopt(request) }
    }
}

extension SchemaUpdate {
    func adopt(_ request: DescriptionUpdateRequest) async throws -> DescriptionUpdateReport {
        let settings = context.settings
        var request = request
        let unknown = request.removed.filter { settings.datasets.named($0) == nil }
        guard unknown.isEmpty else {
            throw SyncError(
                .refused, step: .open, at: context.database.path, "no dataset is named \(unknown.joined(separator: ", "))",
                hint: "the datasets are \(settings.datasets.map(\.name).joined(separator: ", "))"
            ).asSlip
        }
        request.removed = request.removed.compactMap { settings.datasets.named($0)?.name }
        guard request.removed.count < settings.datasets.count || request.tables != nil else {
            throw SyncError(
                .refused, step: .open, at: context.database.path, "no dataset would be left", hint: "snapsync detach takes the whole database out"
            ).asSlip
        }
        guard request.tables?.timestamps.isEmpty != false || settings.role.publishes else {
            throw SyncError(
                .refused, step: .open, at: context.database.path, "this device is a reader, and the zone defines the timestamps",
                hint: "choose them on a device that publishes"
            ).asSlip
        }
        guard request.readerEdits == nil || settings.role.publishes else {
            throw SyncError(
                .refused, step: .open, at: context.database.path, "this device is a reader, and a device that publishes says what readers may edit",
                hint: "run the same command on a device that publishes"
            ).asSlip
        }
        let own = Set(settings.datasets.map { $0.table.folded })
        let chosen = request.tables?.timestamps.filter { own.contains($0.table.folded) } ?? []
        request.tables?.timestamps.removeAll { own.contains($0.table.folded) }
        if let other = request.tables?.timestamps.first, request.tables?.tables == [] {
            throw SyncError(
                .refused, step: .open, at: context.database.path, "the table \(other.table) is not synced",
                hint: "add it first: snapsync tables add \(other.table.shellWord)"
            ).asSlip
        }
        let fresh = try settings.role.publishes ? request.tables.map { try describe($0) } ?? [] : []
        // A zone's only writer decides alone about the descriptions.
        let isShared = try await context.isOneOfMany()
        let isAlone = settings.role == .writer && !isShared
        let zone = try await isAlone ? nil : zoneState()
        let added = try settings.role.publishes ? [] : choose(&request, from: zone?.descriptions ?? [])
        return try context.database.write { transaction in
            var draft = Draft(context: context, request: request, chosen: chosen, added: added, zone: zone, transaction: transaction)
            do { try draft.run(fresh) } catch {
                for copy in draft.kept { copy.discard() }
                throw error
            }
            return draft.report
        }
    }

    /// The names of the datasets that a reader takes in, and of no others that its request names.
    ///
    /// - Throws: ``SyncError`` with `.refused` if a foreign key of a dataset would refer to one that is not synced here.
    private func choose(_ request: inout DescriptionUpdateRequest, from zone: [DatasetDescription]) throws -> Set<ExactText> {
        let own = context.settings.datasets.map(\.name), path = context.database.path
        let ownNames = Set(own.map(\.exact)), removed = Set(request.removed.map(\.exact))
        let children = zone.children(of: removed).filter { ownNames.contains($0.exact) }
        guard children.isEmpty else {
            throw SyncError(
                .refused, step: .open, at: path,
                "synced tables have foreign keys to \(request.removed.joined(separator: ", ")): \(children.joined(separator: ", "))",
                hint: "take them out as well: snapsync tables remove \((request.removed + children).tableList)")
        }
        guard let choice = request.tables else { return [] }
        let added = try choice.names(of: zone.map(\.schema), at: "zone \(context.zone)").filter { !ownNames.contains($0.exact) }
        guard !added.isEmpty else { throw Self.nothingToAdd(at: path) }
        try zone.refuseMissingParents(of: added, besides: own, at: path) { missing in
            "add them as well: snapsync tables add \((added + missing).tableList)"
        }
        request.tables = nil
        return Set(added.map(\.exact))
    }

    private static func nothingToAdd(at path: String) -> SyncError {
        SyncError(.refused, step: .open, at: path, "all these tables are synced already", hint: "name other tables").asSlip
    }

    /// Describes tables to sync from now on.
    private func describe(_ tables: TableChoice) throws -> [DatasetSchema] {
        let own = Set(context.settings.datasets.map { $0.table.folded })
        var choice = tables
        // If every named table is synced already, the request is about their new columns, so there is no new table to describe.
        if let names = choice.tables, names.allSatisfy({ own.contains($0.folded) }) { return [] }
        if choice.tables == nil {
            choice.tables = try context.database.read { try $0.describer.applicationTables() }
        }
        choice.tables?.removeAll { own.contains($0.folded) }
        guard choice.tables?.isEmpty == false else { throw Self.nothingToAdd(at: context.database.path) }
        let fresh = try DatabaseDescriber.datasets(of: context.database, choice, role: context.settings.role).datasets
        let names = Set(context.settings.datasets.map { $0.name.folded })
        if let clash = fresh.first(where: { names.contains($0.name.folded) }) {
            throw SyncError(
                .refused, step: .open, at: "\(context.database.path), table \(clash.table)", "another table is synced under the name \(clash.name)",
                hint: "rename the table, or give a dataset file at init")
        }
        return fresh
    }

    /// The descriptions during their update, in one transaction.
    private struct Draft {
        let context: SyncContext
        let request: DescriptionUpdateRequest
        /// Other timestamps of synced tables.
        let chosen: [TableChoice.Timestamp]
        /// The datasets of the zone that a reader takes in.
        let added: Set<ExactText>
        let zone: (state: ZoneState, descriptions: [DatasetDescription])?
        let transaction: LocalTransaction
        var datasets: [DatasetSchema] = []
        var report: DescriptionUpdateReport
        /// The files with rows of removed datasets that are in no table.
        var kept: [DisplacedRowsFile] = []

        init(
            context: SyncContext, request: DescriptionUpdateRequest, chosen: [TableChoice.Timestamp], added: Set<ExactText>,
            zone: (state: ZoneState, descriptions: [DatasetDescription])?, transaction: LocalTransaction
        ) {
            self.context = context
            self.request = request
            self.chosen = chosen
            self.added = added
            self.zone = zone
            self.transaction = transaction
            report = DescriptionUpdateReport(database: context.database.path, role: context.settings.role.rawValue)
        }

        private var publishes: Bool { context.settings.role.publishes }

        mutating func record(_ kind: DescriptionUpdateReport.Change.Kind, of dataset: String, column: String? = nil, _ sentence: String) {
            report.changes.append(.init(kind: kind, dataset: dataset, column: column, sentence: sentence))
        }

        mutating func run(_ fresh: [DatasetSchema]) throws {
            for schema in context.settings.datasets {
                if request.removed.contains(schema.name) { try remove(schema) } else { datasets.append(try putBack(update(schema))) }
            }
            try addFromZone()
            // The zone may still have a dataset that was taken out here.
            for schema in fresh where !datasets.contains(where: { $0.name.folded == schema.name.folded }) {
                datasets.append(schema)
                record(.datasetAdded, of: schema.name, "the table \(schema.table) is synced from now on as the dataset \(schema.name)")
                report.willPublish = true
            }
            datasets = try transaction.describer.sorted(datasets)
            let before = datasets
            if let edits = request.readerEdits {
                datasets = try edits.apply(to: datasets, sharesKeys: request.sharesKeys, in: transaction, at: context.database.path)
                try transaction.state.audience()?.refuseEdits(of: datasets)
            }
            for one in chosen {
                guard let index = datasets.firstIndex(where: { $0.table.folded == one.table.folded }) else { continue }
                datasets[index] = try transaction.describer.choosing(one.column, for: datasets[index])
            }
            try applyChoices(instead: before)
            if context.settings.role == .peer {
                let hasRange = try transaction.keyRanges.current()?.device == context.settings.device
                try SharedKeys(datasets, in: transaction).refuse(fresh, hasRange: hasRange, at: context.database.path)
            }
            try transaction.settings.setDatasets(datasets)
            _ = try transaction.tracking.install(datasets)
            try transaction.state.setTablesSeen()
            report.datasets = datasets.map(\.name)
            let travelling = Set(datasets.map { $0.table.folded })
            if publishes { report.otherTables = try transaction.describer.applicationTables().filter { !travelling.contains($0.folded) } }
        }

        /// Takes over choices that are published with the descriptions: the timestamps, and what readers may edit.
        private mutating func applyChoices(instead before: [DatasetSchema]) throws {
            guard before != datasets else { return }
            var hashes = try transaction.state.descriptionNote()?.hashes ?? [:]
            for (old, new) in zip(before, datasets) where old != new {
                if context.settings.datasets.contains(where: { $0.name == old.name }) {
                    try transaction.transition.adopt(old, as: new, publishes: publishes, codec: .json)
                }
                hashes[new.name] = ""
                if old.messages != new.messages { record(.readerEditsChanged, of: new.name, new.messagesSentence) }
                if old.timestamp != new.timestamp || old.timestampUnit != new.timestampUnit { record(.timestampChanged, of: new.name, new.timestampSentence) }
                report.willPublish = true
            }
            // Make the next publish compare these descriptions with the zone's, although no table has changed.
            try transaction.state.descriptionNote.set(DescriptionNote(schemaVersion: -1, hashes: hashes))
        }

        /// Has a dataset published again that another device took out of the zone, if the request names its table.
        private mutating func putBack(_ schema: DatasetSchema) throws -> DatasetSchema {
            let takenOut = try transaction.state.takenOut()
            guard takenOut.contains(schema.name.exact), request.tables?.tables?.contains(where: { $0.folded == schema.table.folded }) == true else {
                return schema
            }
            try transaction.state.takenOut.set(takenOut.subtracting([schema.name.exact]))
            record(.datasetAdded, of: schema.name, "the table \(schema.table) is synced again as the dataset \(schema.name)")
            report.willPublish = true
            return schema
        }

        private mutating func remove(_ schema: DatasetSchema) throws {
            let found = try transaction.tables.differences(from: schema)
            let now = try found.table == nil ? schema : found.renamed()
            let isOut = try transaction.state.takenOut().contains(schema.name.exact)
            // The message with them is taken back.
            let sent = try transaction.sentEdits.all().filter { $0.dataset?.exact == schema.name.exact }
            // Rows that are held are in no table, so they would be nowhere.
            try transaction.waiting.adopt(heldOf: schema, .json)
            let copies = try DisplacedRowsFile.keepLost(
                of: [schema], sent: found.table == nil ? sent : [], in: transaction, database: context.database.path, now: context.now())
            kept += copies
            if !publishes { try transaction.state.leftDatasets.set(transaction.state.leftDatasets().union([schema.name.exact])) }
            try transaction.transition.end(now)
            if var audience = try transaction.state.audience() {
                audience.views.removeAll { $0.table.folded == schema.table.folded }
                try transaction.state.audience.set(audience)
            }
            // If another device has taken it out, or the zone has another dataset of that name, the zone stays as it is.
            let isZones =
                !isOut
                && zone?.descriptions.first { $0.schema.name.exact == schema.name.exact }.map { one in
                    one.schema.keyColumns.elementsEqual(schema.keyColumns) { $0.name.exact == $1.name.exact && $0.collation == $1.collation }
                } ?? true
            if publishes, isZones {
                let records = Set(try transaction.state.removedRecords()).union([schema.recordName, DatasetDescription.recordName(of: schema.name)])
                try transaction.state.removedRecords.set(records.sorted())
                report.willPublish = true
            }
            let back = sent.isEmpty ? "" : "; the next sync takes back \(Format.count(sent.count, "edit")) of it that no version has"
            let files = copies.map { "; \(Format.count($0.count, "row")) that no table has: \($0.path)" }.joined()
            record(
                .datasetRemoved, of: schema.name,
                (publishes && isZones
                    ? "the dataset \(schema.name) leaves the zone with the next sync; its rows stay here and on every other device, and older versions keep it"
                    : "the dataset \(schema.name) is no longer synced here\(found.table == nil ? "" : "; its rows stay")") + back + files)
        }

        private mutating func update(_ schema: DatasetSchema) throws -> DatasetSchema {
            let found = try transaction.tables.differences(from: schema)
            guard let table = found.table else {
                throw SyncError(
                    .refused, step: .open, at: "\(context.database.path), table \(schema.table)", "dataset \(schema.name): there is no such table",
                    hint: "take it out: \(context.settings.removal(of: schema, at: context.database.path)); or make the table again")
            }
            let before = try found.renamed()
            if found.isRenamed {
                record(.tableRenamed, of: schema.name, "the table \(schema.table) is named \(table) now; it is synced as \(schema.name), as before")
            }
            for (column, name) in found.renamedColumns {
                record(
                    .columnRenamed, of: schema.name, column: name,
                    "\(schema.name): the column \(column.column) is named \(name) now; it is synced as \(column.name), as before")
            }
            if let key = before.keyColumns.first(where: { key in found.lostColumns.contains { $0.name.exact == key.name.exact } }) {
                throw SyncError(
                    .refused, step: .open, at: "\(context.database.path), table \(table)",
                    "dataset \(schema.name): the column \(key.column) of the key is gone",
                    hint: "add the column again\(try transaction.tables.otherKey(before))"
                )
            }
            let zone = zone?.descriptions.first { $0.schema.name == schema.name }
            let zoneNames = zone.map { Set($0.schema.columns.map(\.name.exact)) }
            let missing = Set(try transaction.state.missingColumns(of: schema).map(\.exact))
            // Columns that another device has removed from the zone, and columns that are gone here.
            let takenOut = zoneNames.map { names in before.columns.filter { !names.contains($0.name.exact) && !missing.contains($0.name.exact) } } ?? []
            let lost = found.lostColumns.filter { column in !takenOut.contains { $0.name.exact == column.name.exact } }
            var columns = before.columns.filter { column in !found.lostColumns.contains { $0.name.exact == column.name.exact } && !takenOut.contains(column) }
            for column in takenOut {
                record(
                    .columnRemoved, of: schema.name, column: column.column,
                    "\(schema.name): \(column.name) was taken out of the zone; a column \(column.column) and its values stay here")
            }
            for column in lost {
                let what = found.computedColumns.contains(column) ? "is computed now" : "is gone"
                record(
                    .columnRemoved, of: schema.name, column: column.column,
                    publishes
                        ? "\(schema.name): the column \(column.column) \(what); the next version is without \(column.name), and older versions keep its values"
                        : "\(schema.name): the column \(column.column) \(what); \(column.name) is no longer imported here")
            }
            try declare(as: zone, in: table, before)
            try addLacking(of: zone, besides: &columns, lost, to: table, before)
            let inZone = Set((zone?.schema.columns ?? []).map(\.column.folded))
            let isNamed = request.tables?.tables?.contains { $0.folded == table.folded } == true
            let left = isNamed ? [] : try transaction.state.leftColumns(of: schema)
            let new = try transaction.tables.differences(from: before.with(columns: columns)).newColumns.filter { name in
                if left.contains(name.exact) { return false }
                if takenOut.contains(where: { $0.column.folded == name.folded }) { return false }
                return publishes || inZone.contains(name.folded)
            }
            let room = max(0, DatasetSchema.columnLimit - columns.count)
            for name in new.dropFirst(room) { record(.columnLeftOut, of: schema.name, column: name, SchemaUpdate.tooMany(name, in: schema)) }
            for column in try transaction.describer.columns(Array(new.prefix(room)), of: before) {
                columns.append(column)
                record(
                    .columnAdded, of: schema.name, column: column.column,
                    "\(schema.name): the column \(column.column) is synced from now on")
            }
            let own = try before.with(columns: columns), after = try zone.map { try own.named(as: $0.schema) } ?? own
            guard after != schema else { return schema }
            _ = try transaction.tables.check(of: after)
            try transaction.transition.adopt(before, as: after, publishes: publishes, codec: .json)
            if publishes { report.willPublish = true }
            return after
        }

        /// Gives the columns the zone's types, or reports those that have another one.
        ///
        /// At a publisher, a table that the application made anew since the last run stays as it is: the next sync publishes its types.
        private mutating func declare(as zone: DatasetDescription?, in table: String, _ schema: DatasetSchema) throws {
            guard let zone, try transaction.tracking.isInstalled([schema]), try !publishes || !transaction.changeLog.isUntracked(schema) else { return }
            let types = try transaction.tables.otherTypes(of: schema, than: zone)
            if request.creates, !types.isEmpty {
                try transaction.tracking.rebuilding(schema) {
                    try transaction.tables.refuseChanges(by: types, of: schema)
                    try transaction.tables.declare(types, in: table)
                }
            }
            func words(_ type: String) -> String { type.isEmpty ? "without a type" : type }
            for one in types {
                record(
                    request.creates ? .columnMade : .columnLacking, of: schema.name, column: one.column,
                    request.creates
                        ? "\(schema.name): the column \(one.column) is declared \(words(one.zone)) now, as in the zone, and no longer \(one.here)"
                        : "\(schema.name): the column \(one.column) is declared \(one.here) here and \(words(one.zone)) in the zone; snapsync tables adopt --create declares it as the zone does"
                )
            }
        }

        /// Creates or reports the columns that the zone has and the table lacks.
        private mutating func addLacking(
            of zone: DatasetDescription?, besides columns: inout [DatasetColumn], _ lost: [DatasetColumn], to table: String, _ schema: DatasetSchema
        ) throws {
            guard let zone else { return }
            let lacking = zone.schema.columns.filter { column in
                !schema.columns.contains { $0.name.exact == column.name.exact } && !lost.contains { $0.name.exact == column.name.exact }
            }
            let found = try transaction.tables.differences(from: schema.with(columns: columns))
            let here = Set(found.newColumns.map(\.folded)), generated = Set(found.generatedColumns.map(\.folded))
            for column in lacking where !here.contains(column.column.folded) {
                guard !generated.contains(column.column.folded) else {
                    let ask = "rename or drop the generated column of that name in the table \(table)"
                    record(.columnLacking, of: schema.name, column: column.column, "\(schema.name): the zone has the column \(column.column); \(ask)")
                    continue
                }
                guard request.creates else {
                    record(
                        .columnLacking, of: schema.name, column: column.column,
                        "\(schema.name): the zone has the column \(column.column), which the table \(table) lacks; snapsync tables adopt --create adds it")
                    continue
                }
                try transaction.tables.addColumns([column.column], of: zone, to: table)
                record(.columnMade, of: schema.name, column: column.column, "\(schema.name): added the column \(column.column) to the table \(table)")
            }
        }

        /// Adds datasets that the zone has and this device does not, if the request is about them.
        private mutating func addFromZone() throws {
            guard let zone else { return }
            let known = Set(datasets.map(\.name)).union(request.removed)
            for one in zone.descriptions where !known.contains(one.schema.name) && zone.state.record(one.schema.recordName) != nil {
                let name = one.schema.name, exists = try transaction.tables.exists(one.schema.table)
                let isNamed = request.tables.map { $0.tables?.contains { $0.folded == one.schema.table.folded } ?? true } ?? false
                let isCreated = request.creates || added.contains(name.exact)
                guard isCreated || isNamed && exists else {
                    record(
                        .datasetLacking, of: name,
                        exists
                            ? "the zone has the dataset \(name), which is not synced here; snapsync tables adopt --create takes the table \(one.schema.table) in"
                            : "the zone has the dataset \(name), and this database has no table \(one.schema.table); snapsync tables adopt --create makes it")
                    continue
                }
                if isCreated {
                    for table in try transaction.tables.create([one], besides: datasets) { record(.tableMade, of: name, "made the table \(table)") }
                }
                _ = try transaction.tables.check(of: one.schema)
                try transaction.tables.check(one)
                let keepsRows = try publishes || context.settings.adoptsOwnRows || transaction.state.leftDatasets().contains(name.exact)
                guard try keepsRows || context.settings.replacesOwnRows || !transaction.rows.hasRows(one.schema) else {
                    throw SyncError(
                        .refused, step: .open, at: "\(context.database.path), table \(one.schema.table)",
                        "the zone has the dataset \(name), and the table has rows that did not come from there; nothing was changed",
                        hint: "move the rows to another table first, or rename the table")
                }
                datasets.append(one.schema)
                try transaction.state.unseenColumns.set(["*"], of: one.schema)
                record(.datasetAdded, of: name, "the dataset \(name) is imported from now on into the table \(one.schema.table)")
            }
        }
    }
}
