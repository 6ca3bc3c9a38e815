package import SnapshotModel

extension SnapshotIndex {
    /// Whether the asset was written by this schema: the same dataset, key, timestamp and columns, in the same order.
    package func describes(_ schema: DatasetSchema) -> Bool {
        dataset == schema.name && key == schema.key.name && timestamp == schema.timestampIndex.map { schema.columns[$0].name }
            && columns.elementsEqual(schema.columns) { $0.name == $1.name && $0.kind == $1.kind && $0.isOptional == $1.isOptional }
    }
}
