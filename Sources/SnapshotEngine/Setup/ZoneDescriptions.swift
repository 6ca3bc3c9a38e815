package import CloudStore
package import LocalStore
package import SnapshotModel
import SnapshotVersions
import StrictText

/// The zone's descriptions of its datasets, for a device that joins without a dataset file.
package struct ZoneDescriptions {
    /// The datasets, parents before children.
    package let datasets: [DatasetSchema]
    /// The descriptions of the datasets that are not built in.
    let descriptions: [DatasetDescription]
    /// The tables of the zone's built-in datasets.
    let builtInTables: [String]
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
