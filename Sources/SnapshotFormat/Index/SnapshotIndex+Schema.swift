package import SnapshotModel

extension SnapshotIndex {
    /// Whether the asset was written by this schema: the same dataset, key, timestamp and columns, in the same order.
    package func describes(_ schema: DatasetSchema) -> Bool {
        dataset == schema.name && key == schema.keyColumns.map(\.name) && timestamp == schema.timestampIndex.map { schema.columns[$0].name }
            && columns.elementsEqual(schema.columns) {
                $0.name == $1.name && $0.kind == $1.kind && $0.isOptional == $1.isOptional && $0.collation == $1.collation
            }
    }

    /// The positions of a schema's columns that the asset does not describe: its entities have no values of them.
    package func missingColumns(of schema: DatasetSchema) -> [Int] {
        let described = Set(columns.map(\.name))
        return schema.columns.indices.filter { !described.contains(schema.columns[$0].name) }
    }
}
