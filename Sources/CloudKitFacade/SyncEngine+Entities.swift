import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

extension SyncEngine {
    /// The entities of a dataset as Swift values, in the order of their keys, as they are in the database now.
    ///
    ///     let buckets = try await engine.entities(of: "buckets", as: Bucket.self)
    ///
    /// Memory: the whole dataset. Rows that cannot travel, or are not what the type says, are an error that names them.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the settings have no such dataset, `.dataRefused` for a bad row.
    public func entities<Entity: Decodable & Sendable>(of dataset: String, as type: Entity.Type) async throws -> [Entity] {
        try await WorkerThreads.run { [self] in
            try SyncError.at(.read) {
                let settings = try database.read { try $0.settings.read() }
                guard let schema = settings.datasets.first(where: { $0.name == dataset }) else {
                    throw SyncError(
                        .nothingThere, step: .read, at: database.path, "the settings describe no dataset \(dataset)",
                        hint: "name one of \(settings.datasets.map(\.name).joined(separator: ", "))")
                }
                _ = try database.read { try $0.tables.check(of: schema) }
                return try entities(of: schema, as: type)
            }
        }
    }

    /// How many entities a dataset has in the database now.
    public func entityCount(of dataset: String) async throws -> Int {
        try await WorkerThreads.run { [self] in
            try SyncError.at(.read) {
                try database.read { transaction in
                    guard let schema = try transaction.settings.read().datasets.first(where: { $0.name == dataset }) else {
                        throw SyncError(
                            .nothingThere, step: .read, at: database.path, "the settings describe no dataset \(dataset)", hint: "check the dataset file")
                    }
                    return try transaction.rows.rowCount(of: schema)
                }
            }
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
}
