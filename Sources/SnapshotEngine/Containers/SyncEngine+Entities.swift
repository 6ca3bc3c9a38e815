import Foundation
import LocalStore
import LocalTables
import SnapshotFormat
public import SnapshotModel
import SnapshotVersions
import StrictText
public import SyncRuns

extension SyncEngine {
    /// Returns the current entities of a dataset as Swift values, in key order.
    ///
    ///     let buckets = try await engine.entities(of: "buckets", as: Bucket.self)
    ///
    /// Memory: the whole dataset. If a row cannot be exported or does not fit the type, the call throws an error that names it.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the settings have no such dataset, `.dataRefused` for a bad row.
    public func entities<Entity: Decodable & Sendable>(of dataset: String, as type: Entity.Type) async throws -> [Entity] {
        try await WorkerThreads.host {
            let schema = try schema(of: dataset)
            _ = try database.read { try $0.tables.check(of: schema) }
            return try entities(of: schema, as: type)
        }
    }

    /// Returns the current entities of a dataset as one container.
    ///
    ///     let container = try await engine.container(of: NotificationsDataContainer.self)
    ///     let json = try JSONEncoder().encode(container)
    ///
    /// Memory: the whole dataset.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the settings have no such dataset, `.dataRefused` for a bad row.
    public func container<Container: DatasetContainer>(of type: Container.Type) async throws -> Container {
        let timestamp = now().description
        return Container(entities: try await entities(of: Container.dataset, as: Container.Entity.self), syncTimestamp: timestamp)
    }

    private func schema(of dataset: String) throws -> DatasetSchema {
        let settings = try database.read { try $0.settings.read() }
        guard let schema = settings.datasets.first(where: { $0.name == dataset }) else {
            throw SyncError(
                .nothingThere, step: .read, at: database.path, "the settings describe no dataset \(dataset)",
                hint: "name one of \(settings.datasets.map(\.name).joined(separator: ", "))")
        }
        return schema
    }

    /// Returns the current number of entities in a dataset.
    public func entityCount(of dataset: String) async throws -> Int {
        try await WorkerThreads.host {
            let schema = try schema(of: dataset)
            return try database.read { try $0.rows.rowCount(of: schema) }
        }
    }

    private func entities<Entity: Decodable>(of schema: DatasetSchema, as type: Entity.Type) throws -> [Entity] {
        let session = try ReadSession(database, readers: 1)
        defer { session.end() }
        let encoder = BlockEncoder(schema: schema, blockEntities: 400)
        let decoder = JSONDecoder()
        var entities: [Entity] = []
        func decodeCompleted() throws {
            while let block = encoder.popCompleted() {
                let json = Data("[".utf8) + block.bytes + Data("]".utf8)
                do {
                    entities += try decoder.decode([Entity].self, from: json)
                } catch {
                    throw SyncError(
                        .dataRefused, step: .decode, at: "\(database.path), table \(schema.table)", DatasetFile.explain(error), hint: "correct the row")
                }
                encoder.recycle(block)
            }
        }
        try session.withReader(0) { reader in
            let rows = try reader.rows(of: schema)
            while try rows.next(into: encoder) { try decodeCompleted() }
        }
        encoder.finish()
        try decodeCompleted()
        return entities
    }

    /// Makes the dataset equal to a container, and publishes the version.
    ///
    ///     var notifications = try await engine.container(of: NotificationsDataContainer.self).notifications
    ///     notifications.removeAll { $0.readAt != nil }
    ///     let report = try await engine.publish(NotificationsDataContainer(notifications: notifications, syncTimestamp: Date.now.ISO8601Format()))
    ///
    /// Afterwards the dataset has exactly the container's entities; other datasets stay. Each entity that differs from its row is a change of
    /// this device; a row that does not differ is not written. Data that the container's type does not carry stays: columns and JSON members that
    /// the type does not know, and values that decode to the same as before. If another program changed rows after the container was made, the
    /// container wins.
    ///
    /// - Parameters:
    ///   - allowed: the datasets that may lose more than half of their entities.
    ///   - acceptsOlder: whether the container may have an older `syncTimestamp` than the last one that was applied.
    /// - Returns: the report of the export; nothing is published if nothing differs.
    /// - Throws: ``SyncError`` with `.refused` at a reader, `.nothingThere` if the settings have no such dataset, `.dataRefused` for a container
    ///   that cannot be applied; the rows are then unchanged.
    public func publish<Container: DatasetContainer>(
        _ container: Container, allowing allowed: ShrinkApproval = .none, acceptsOlder: Bool = false, progress: ProgressHandler? = nil
    ) async throws -> ExportReport {
        try await run {
            let context = try context()
            let export = ExportRun(
                context: context, isFull: false, isOneOfMany: try await context.isOneOfMany(), progress: progress, allowed: allowed)
            try context.verifyRole()
            let importer = FileImporter(
                database: database, schemas: context.settings.datasets, role: context.settings.role, acceptsOlder: acceptsOlder, progress: progress)
            let taken = try importer.run(container, of: schema(of: Container.dataset))
            return try await retaining(export.run(taken.warnings))
        }
    }
}
