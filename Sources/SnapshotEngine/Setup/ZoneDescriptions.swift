package import CloudStore
package import LocalTables
package import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The zone's descriptions of its datasets, for a device that joins without a dataset file.
package struct ZoneDescriptions {
    /// The datasets, parents before children.
    package private(set) var datasets: [DatasetSchema]
    /// The descriptions of the datasets that are not built in.
    private(set) var descriptions: [DatasetDescription]
    /// The tables of the zone's built-in datasets.
    private(set) var builtInTables: [String]
    private let state: ZoneState
    private let zone: ZoneID

    /// Reads the descriptions; nil if the zone has no version yet.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` for descriptions that cannot be used, `.refused` if a dataset is not described.
    init?(_ zone: ZoneID, in cloud: CloudDatabase) async throws { try self.init(await cloud.records(in: zone), of: zone) }

    /// Reads the descriptions of one version.
    ///
    /// - Parameter state: the zone's records in that version.
    package init?(_ state: ZoneState, of zone: ZoneID) throws {
        guard state.token != nil else { return nil }
        self.state = state
        self.zone = zone
        descriptions = try state.descriptions(in: zone)
        let described = Set(descriptions.map(\.schema.recordName))
        let others = state.records.filter { DatasetRecord($0) != nil && !described.contains($0.name) }
        let builtIn = DatasetSchema.builtIn.filter { schema in others.contains { $0.name == schema.recordName && $0.type == schema.recordType } }
        let unknown = others.map(\.name).filter { name in !builtIn.contains { $0.recordName == name } }.sorted()
        guard unknown.isEmpty else {
            throw SyncError(
                .refused, step: .open, at: zone.place,
                "it does not describe \(unknown.joined(separator: ", "))",
                hint: "sync on the device that publishes, or give a dataset file (--datasets)")
        }
        datasets = builtIn + descriptions.map(\.schema)
        builtInTables = builtIn.map(\.table)
        guard !datasets.isEmpty else {
            throw SyncError(.nothingThere, step: .open, at: zone.place, "it has no dataset", hint: "sync on a device that publishes")
        }
        for (what, names) in [("name", datasets.map { $0.name.folded }), ("table", datasets.map { $0.table.folded })]
        where Set(names).count != names.count {
            throw DescriptionError("two datasets have one \(what)").refusal(at: zone.place)
        }
    }

    /// Leaves out the datasets that a reader does not choose.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone lacks a named table, or a chosen table refers to one that is not chosen.
    mutating func choose(_ choice: TableChoice) throws {
        let chosen = try choice.names(of: datasets, at: zone.place)
        try descriptions.refuseMissingParents(of: chosen, at: zone.place) { names in
            let tables = datasets.filter { (chosen + names).map(\.exact).contains($0.name.exact) }.map(\.table)
            return "take \(names.joined(separator: ", ")) as well: --tables \(tables.tableList); or leave out the tables that refer to them"
        }
        let isChosen = Set(chosen.map(\.exact))
        datasets.removeAll { !isChosen.contains($0.name.exact) }
        descriptions.removeAll { !isChosen.contains($0.schema.name.exact) }
        builtInTables = DatasetSchema.builtIn.filter { isChosen.contains($0.name.exact) && builtInTables.contains($0.table) }.map(\.table)
    }

    /// Creates the missing tables. Returns their names.
    package func createTables(in transaction: LocalTransaction) throws -> [String] {
        try transaction.tables.createBuiltIn(builtInTables) + transaction.tables.create(descriptions)
    }

    /// Creates the missing tables as the zone's SQL text says, with its indexes, views and triggers. Returns the names of the tables.
    func createTablesFromText(in transaction: LocalTransaction) throws -> (tables: [String], result: SchemaTextResult) {
        try refusing { try transaction.tables.create(descriptions, builtIn: builtInTables, as: schemaText() ?? SchemaText([])) }
    }

    /// The statements of the zone's SQL text, each with what keeps it from running.
    package func rehearsal() throws -> [SchemaRehearsal.Outcome] {
        let text = try schemaText() ?? SchemaText([])
        return try refusing { try SchemaRehearsal.run(text, tables: descriptions.map(\.schema.table), builtIn: builtInTables) }
    }

    private func refusing<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let refusal as SchemaRehearsal.Refusal {
            throw SchemaText.refusal(refusal.description, in: zone)
        }
    }

    /// The zone's SQL text; nil if it keeps none.
    func schemaText() throws -> SchemaText? { try SchemaText(state, in: zone) }
}

extension TableChoice {
    /// The names of the chosen datasets.
    ///
    /// - Throws: ``SyncError`` with `.refused` for a name that is neither a table's nor a dataset's.
    func names(of datasets: [DatasetSchema], at place: String) throws -> [String] {
        func find(_ names: [String]) throws -> Set<ExactText> {
            Set(
                try names.map { name in
                    if let found = datasets.named(name) { return found.name.exact }
                    throw SyncError(
                        .refused, step: .open, at: place, "it has no table \(name)",
                        hint: "the tables are \(datasets.map(\.table).joined(separator: ", "))"
                    ).asSlip
                })
        }
        let wanted = try tables.map(find), left = try find(skipped)
        let chosen = datasets.map(\.name).filter { wanted?.contains($0.exact) != false && !left.contains($0.exact) }
        guard !chosen.isEmpty else { throw SyncError(.refused, step: .open, at: place, "no table is left to sync", hint: "leave out fewer tables").asSlip }
        return chosen
    }
}

extension [DatasetDescription] {
    /// Refuses foreign keys of chosen datasets to datasets that are not chosen.
    ///
    /// - Parameters:
    ///   - others: datasets that are there already.
    ///   - hint: gets the missing parents and theirs.
    func refuseMissingParents(of chosen: [String], besides others: [String] = [], at place: String, hint: ([String]) -> String) throws {
        var taken = chosen, missing: [String] = [], references: [String] = []
        while let name = taken.popLast() {
            for reference in first(where: { $0.schema.name.exact == name.exact })?.structure.references ?? []
            where !(chosen + others + missing).contains(where: { $0.exact == reference.parent.exact }) {
                references.append("\(name) to \(reference.parent)")
                missing.append(reference.parent)
                taken.append(reference.parent)
            }
        }
        guard !missing.isEmpty else { return }
        throw SyncError(
            .refused, step: .open, at: place, "foreign keys refer to tables that would not be synced: \(references.joined(separator: ", "))",
            hint: hint(missing))
    }

    /// The datasets whose foreign keys refer to one of these, or to such a dataset.
    func children(of parents: Set<ExactText>) -> [String] {
        var found = parents, count = -1
        while count != found.count {
            count = found.count
            found.formUnion(filter { $0.structure.references.contains { found.contains($0.parent.exact) } }.map(\.schema.name.exact))
        }
        return found.subtracting(parents).map(\.text).sorted { $0.exact < $1.exact }
    }
}
