import LocalTables
package import SnapshotModel
import StrictText

/// An edit of a reader that no message carries, or a part of one. It stays on this device.
package struct KeptEdit: Hashable, Sendable {
    /// Why an edit stays.
    package enum Reason: Sendable {
        /// The version does not have the dataset.
        case dataset
        /// Readers may not edit the table.
        case table
        case insertion
        case deletion
        /// Readers may not change the columns.
        case columns
        /// The row was here before the first version, and nothing says when it was written.
        case undated
        /// No version can have the row's key.
        case key
        /// The row is larger than a message may be.
        case size

        /// The reason in words, as a clause.
        package func sentence(_ columns: [String] = []) -> String {
            switch self {
            case .dataset: "the zone has no such dataset"
            case .table: "readers may not edit the table"
            case .insertion: "readers may not add rows"
            case .deletion: "readers may not delete rows"
            case .columns: "readers may not change \(columns.joined(separator: ", "))"
            case .undated: "the row was here before the first version, without a timestamp"
            case .key: "the row's key cannot be synced"
            case .size: "the row is too large for a message"
            }
        }
    }

    /// The dataset's name.
    package let dataset: String
    /// The row's key; nil for a key that no version can have.
    package let key: EntityKey?
    /// `insert`, `update` or `delete`.
    package let operation: String
    /// The JSON names of the columns that stay here; nil for the whole row.
    package let columns: [String]?
    package let reason: Reason

    /// The reason in words.
    package var sentence: String { reason.sentence(columns ?? []) }

    init(_ change: TrackedChange?, of schema: DatasetSchema, columns: Set<Int>? = nil, _ reason: Reason) {
        dataset = schema.name
        key = change.flatMap { schema.keyShape.holds($0.key) ? $0.key : nil }
        operation = change?.isDeletion == true ? "delete" : change?.isOfVersion == false ? "insert" : "update"
        self.columns = columns.map { $0.sorted().map { schema.columns[$0].name } }
        self.reason = reason
    }
}

extension TrackedChange {
    /// What of the change readers may not hand over.
    ///
    /// - Parameter isGone: whether the version has deleted the row.
    func kept(in schema: DatasetSchema, isGone: Bool) -> KeptEdit? {
        let permissions = schema.permissions
        if schema.messages.isEmpty { return KeptEdit(self, of: schema, .table) }
        guard schema.keyShape.holds(key) else { return KeptEdit(self, of: schema, .key) }
        if isDeletion { return permissions.deletes ? nil : KeptEdit(self, of: schema, .deletion) }
        if !isOfVersion || isGone {
            guard permissions.inserts else { return KeptEdit(self, of: schema, .insertion) }
            return instant == .distantPast && isInVersion == false ? KeptEdit(self, of: schema, .undated) : nil
        }
        let changed = if case .some(let some) = columns { Set(some.keys) } else { Set(schema.columns.indices).subtracting(schema.keyIndices) }
        let rest = changed.subtracting(schema.permitted(changed)).subtracting(schema.keyIndices)
        return rest.isEmpty ? nil : KeptEdit(self, of: schema, columns: rest, .columns)
    }
}

extension DatasetSchema {
    /// Those of changed columns that a reader may hand over. The timestamp stays with columns that stay.
    func permitted(_ changed: Set<Int>) -> Set<Int> {
        guard let allowed = permissions.columns else { return changed }
        return changed.isDisjoint(with: patchedColumns) && !changed.isSubset(of: allowed) ? [] : changed.intersection(allowed)
    }
}
