import Foundation
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

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
        try transaction.rows.sendRows(of: schema, to: encoder)
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
