package import SnapshotModel

/// The parts of an entity that are compared with another one.
package struct EntityCopy: Sendable, Hashable {
    package let state: EntityState
    /// The hash of the entity without the masked columns.
    package let rest: ContentHash
    /// The values of the masked columns, by their positions in the schema.
    package let values: [Int: OwnedValue]
    /// The JSON, if it was requested; nil for a row that does not fit the schema in which it is written.
    package let json: String?
    /// Why the row does not fit; nil if it does, or if ``json`` was not requested.
    package let fault: String?
}

/// A sink that keeps copies of selected entities, to find the columns in which they differ.
///
/// Memory: the copies, and one entity.
package final class EntityCopies: EntitySink {
    /// The copies, by key.
    package private(set) var copies: [EntityKey: EntityCopy] = [:]
    private let states: EntityStates
    private let rests: EntityStates
    private let encoder: EntityEncoder?
    private let plan: SchemaPlan
    private let masked: [Int]
    private let buffer = ByteBuffer()
    private let isWanted: (EntityKey) -> Bool

    /// Keeps copies of the entities whose keys satisfy `isWanted`.
    ///
    /// - Parameters:
    ///   - masked: the positions of the columns that ``EntityCopy/rest`` leaves out.
    ///   - written: the schema in which the JSON is written, with or without shapes; nil for no JSON.
    package init(
        schema: DatasetSchema, masking masked: [Int] = [], writing written: DatasetSchema? = nil, isWanted: @escaping (EntityKey) -> Bool = { _ in true }
    ) {
        plan = SchemaPlan(schema)
        encoder = written.map { EntityEncoder(SchemaPlan($0)) }
        states = EntityStates(schema: schema)
        rests = EntityStates(schema: schema)
        self.masked = masked
        self.isWanted = isWanted
    }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = plan.keyShape.key(of: values), isWanted(key) else { return }
        try states.take(values)
        var own: [Int: OwnedValue] = [:]
        var rest = Array(values)
        // A placeholder that is valid as text, JSON and blob.
        let mark: StaticString = "0"
        for index in masked {
            own[index] = OwnedValue(values[index])
            // SAFETY: a static string's bytes live as long as the program.
            let bytes = UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
            rest[index] =
                switch plan.columns[index].shape {
                case .text: .text(bytes)
                case nil, .integer, .boolean: .integer(0)
                case .real: .real(0)
                case .json: .json(bytes)
                case .blob: .blob(bytes)
                }
        }
        try rest.withUnsafeBufferPointer { try rests.take($0) }
        guard let state = states.states[key], let remaining = rests.states[key] else { return }
        let (json, fault) = try encoder.map { try self.json(values, $0) } ?? (nil, nil)
        copies[key] = EntityCopy(state: state, rest: remaining.hash, values: own, json: json, fault: fault)
    }

    private func json(_ values: UnsafeBufferPointer<ColumnValue>, _ encoder: EntityEncoder) throws -> (text: String?, fault: String?) {
        buffer.clear()
        do {
            try encoder.encode(values, into: buffer)
            return (String(decoding: buffer.bytes, as: UTF8.self), nil)
        } catch let error as FormatError {
            return (nil, "\(error.place): \(error.reason)")
        }
    }
}
