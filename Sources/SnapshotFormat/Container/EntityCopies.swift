package import SnapshotModel

/// The parts of an entity that are compared with another one.
package struct EntityCopy: Sendable, Hashable {
    package let state: EntityState
    /// The hash of the entity without the masked columns.
    package let rest: ContentHash
    /// The values of the masked columns, by their positions in the schema.
    package let values: [Int: OwnedValue]
    /// The canonical JSON, if it was requested; nil for a row that cannot be an entity.
    package let json: String?
    /// Why the row cannot be an entity; nil if it can, or if ``json`` was not requested.
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
    private let encoder: EntityEncoder
    private let plan: SchemaPlan
    private let masked: [Int]
    private let kinds: [ColumnKind]
    private let keepsJSON: Bool
    private let buffer = ByteBuffer()
    private let isWanted: (EntityKey) -> Bool

    /// Keeps copies of the entities whose keys satisfy `isWanted`.
    ///
    /// - Parameter masked: the positions of the columns that ``EntityCopy/rest`` leaves out.
    package init(schema: DatasetSchema, masking masked: [Int] = [], keepsJSON: Bool = false, isWanted: @escaping (EntityKey) -> Bool = { _ in true }) {
        plan = SchemaPlan(schema)
        encoder = EntityEncoder(plan)
        states = EntityStates(schema: schema)
        rests = EntityStates(schema: schema)
        self.masked = masked
        kinds = schema.columns.map(\.kind)
        self.keepsJSON = keepsJSON
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
            own[index] = OwnedValue(values[index], of: kinds[index])
            // SAFETY: a static string's bytes live as long as the program.
            let bytes = UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
            rest[index] =
                switch kinds[index] {
                case .text: .text(bytes)
                case .integer, .boolean, .any: .integer(0)
                case .real: .real(0)
                case .json: .json(bytes)
                case .blob: .blob(bytes)
                }
        }
        try rest.withUnsafeBufferPointer { try rests.take($0) }
        guard let state = states.states[key], let remaining = rests.states[key] else { return }
        let (json, fault) = keepsJSON ? try json(values) : (nil, nil)
        copies[key] = EntityCopy(state: state, rest: remaining.hash, values: own, json: json, fault: fault)
    }

    private func json(_ values: UnsafeBufferPointer<ColumnValue>) throws -> (text: String?, fault: String?) {
        buffer.clear()
        do {
            try encoder.encode(values, into: buffer)
            return (String(decoding: buffer.bytes, as: UTF8.self), nil)
        } catch let error as FormatError {
            return (nil, error.misfit.map { "column \(plan.schema.columns[$0].column): \(error.reason)" } ?? error.reason)
        }
    }
}
