package import SnapshotModel
import StrictText

extension SnapshotIndex {
    /// Whether the asset was written with this schema: the same dataset, key, timestamp and columns, in the same order and form.
    package func describes(_ schema: DatasetSchema) -> Bool {
        dataset.exact == schema.name.exact && key.map(\.exact) == schema.keyColumns.map(\.name.exact) && timestamp?.exact == schema.timestamp?.exact
            && columns.elementsEqual(schema.columns) {
                $0.name.exact == $1.name.exact && $0.shape == $1.shape && $0.isOptional == $1.isOptional && $0.collation == $1.collation
            }
    }

    /// The schema reduced to the columns that the asset also has; nil if a column of the key is not among them.
    package func sharedSchema(with schema: DatasetSchema) throws -> DatasetSchema? {
        if describes(schema) { return schema }
        let names = Set(columns.map(\.name.exact)), shared = schema.columns.filter { names.contains($0.name.exact) }
        guard dataset.exact == schema.name.exact, key.map(\.exact) == schema.keyColumns.map(\.name.exact), schema.keyColumns.allSatisfy(shared.contains) else {
            return nil
        }
        return try schema.with(columns: shared)
    }

    /// The positions of a schema's columns that the asset does not have.
    package func missingColumns(of schema: DatasetSchema) -> [Int] {
        let described = Set(columns.map(\.name.exact))
        return schema.columns.indices.filter { !described.contains(schema.columns[$0].name.exact) }
    }

    /// Why a schema cannot read the asset; nil if it can.
    package func contradiction(of schema: DatasetSchema) -> String? {
        guard key.map(\.exact) == schema.keyColumns.map(\.name.exact) else {
            return "its key is \(key.joined(separator: ", ")), and this device's is \(schema.keyNames)"
        }
        guard keyShape.isComparable(with: schema.keyShape) else { return "the columns of its key have other collations than this device's" }
        func form(_ shape: ColumnShape?) -> String { shape.map { "declared as \($0.rawValue)" } ?? "not declared" }
        for column in schema.columns {
            guard let written = columns.first(where: { $0.name.exact == column.name.exact }), written.shape != column.shape else { continue }
            return "the column \(column.name) is \(form(written.shape)) in the writer's dataset file, and \(form(column.shape)) in this device's"
        }
        return nil
    }
}
