import Foundation
import LocalStore
import SnapshotFormat
public import SnapshotModel
import SnapshotVersions
import StrictText

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
            let device = try device()
            let export = ExportRun(
                device: device, isFull: false, isOneOfMany: try await device.isOneOfMany(), progress: progress, allowed: allowed)
            try device.verifyRole()
            let importer = FileImporter(
                database: database, schemas: device.settings.datasets, role: device.settings.role, acceptsOlder: acceptsOlder, progress: progress)
            let taken = try importer.run(container, of: schema(of: Container.dataset))
            return try await retaining(export.run(taken.warnings))
        }
    }
}

/// The differences between a container of Swift values and the rows of its dataset.
///
/// A member keeps the row's text if both values mean the same to the entity's type, or if the type does not know the member. So nothing is lost
/// because a type does not carry it.
struct ContainerChanges {
    /// The keys of the rows that the container lacks.
    let removed: [EntityKey]
    /// The number of rows that equal the container's entities.
    let unchangedCount: Int
    /// A container's JSON text with the entities that are new or different.
    let text: Data

    /// Compares a container with the rows that the transaction sees. Memory: the whole dataset.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` for a row that the container's type cannot decode, and for a container that has a key twice.
    init<Container: DatasetContainer>(_ container: Container, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        guard schema.keyShape.isTextOnly else {
            throw SyncError(
                .refused, step: .apply, at: "dataset \(schema.name)", "its key is not declared as one column of text, which containers of Swift values need",
                hint: "change its rows in the database")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var rows = try Self.rows(of: schema, as: Container.Entity.self, in: transaction)
        var changed: [Data] = [], ids: Set<ExactText> = []
        for entity in container.entities {
            guard ids.insert(entity.id.exact).inserted else {
                throw SyncError(.dataRefused, step: .apply, at: "the container", "a key of dataset \(schema.name) stands twice", hint: "give each key once")
            }
            let encoded = try encoder.encode(entity)
            guard let row = rows.removeValue(forKey: entity.id.exact) else {
                changed.append(encoded)
                continue
            }
            let before = try JSONMembers(row.text)
            let after = try before.merged(old: JSONMembers(encoder.encode(row.entity)), new: JSONMembers(encoded))
            if after != before { changed.append(try after.text) }
        }
        removed = rows.keys.sorted().map { EntityKey($0.text) }
        unchangedCount = container.entities.count - changed.count
        text =
            try Data("{\"syncTimestamp\":".utf8) + encoder.encode(container.syncTimestamp) + Data(",".utf8) + encoder.encode(schema.name) + Data(":[".utf8)
            + Data(changed.joined(separator: Data(",".utf8))) + Data("]}".utf8)
    }

    /// Returns the rows as JSON objects and as decoded values, by key.
    private static func rows<Entity: Decodable & Identifiable>(
        of schema: DatasetSchema, as type: Entity.Type, in transaction: LocalTransaction
    ) throws -> [ExactText: (text: Data, entity: Entity)] where Entity.ID == String {
        let encoder = BlockEncoder(schema: schema, blockEntities: 1), decoder = JSONDecoder()
        try transaction.rows.giveRows(of: schema, to: encoder)
        encoder.finish()
        var rows: [ExactText: (text: Data, entity: Entity)] = [:]
        while let block = encoder.popCompleted() {
            let text = Data(block.bytes)
            do {
                let entity = try decoder.decode(Entity.self, from: text)
                rows[entity.id.exact] = (text, entity)
            } catch {
                throw SyncError(.dataRefused, step: .decode, at: "table \(schema.table)", DatasetFile.explain(error), hint: "correct the row")
            }
        }
        return rows
    }
}

/// The members of a JSON object as text, in their order.
struct JSONMembers: Equatable {
    private struct Member: Equatable {
        @ExactText var name: String
        let value: Data

        init(name: String, value: Data) { (_name, self.value) = (ExactText(name), value) }
    }

    private var members: [Member] = []

    /// Parses one strict JSON object.
    init(_ object: Data) throws {
        members = try object.withUnsafeBytes { bytes in
            var members: [Member] = []
            // SAFETY: the scanner is used only within the closure.
            try JSONScanner(bytes).forEachMember { name, value in
                members.append(Member(name: String(decoding: name, as: UTF8.self), value: Data(bytes[value])))
            }
            return members
        }
    }

    /// Returns these members with the differences between two states of the object. `old` and `new` contain the members that a type carries.
    func merged(old: JSONMembers, new: JSONMembers) -> JSONMembers {
        let before = Dictionary(old.members.map { ($0.name.exact, $0.value) }, uniquingKeysWith: { first, _ in first })
        let after = Dictionary(new.members.map { ($0.name.exact, $0.value) }, uniquingKeysWith: { first, _ in first })
        let names = Set(members.map(\.name.exact))
        var merged = self
        merged.members = members.compactMap { member in
            let name = member.name.exact
            return before[name] == after[name] ? member : after[name].map { Member(name: name.text, value: $0) }
        }
        merged.members += new.members.filter { !names.contains($0.name.exact) && before[$0.name.exact] != $0.value }
        return merged
    }

    /// The members as one JSON object.
    var text: Data {
        get throws {
            let encoder = JSONEncoder()
            let texts = try members.map { try encoder.encode($0.name) + Data(":".utf8) + $0.value }
            return Data("{".utf8) + Data(texts.joined(separator: Data(",".utf8))) + Data("}".utf8)
        }
    }
}
