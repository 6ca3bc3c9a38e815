import SnapshotModel

/// A dataset of a table `items` with the given columns; the first one is the key.
func items(_ columns: DatasetColumn..., table: String = "items") throws -> DatasetSchema {
    try DatasetSchema(name: "items", table: table, keys: [columns[0].name], timestamp: nil, columns: columns)
}

/// `items(id TEXT, name TEXT?)`.
func namedItems(table: String = "items") throws -> DatasetSchema {
    try items(DatasetColumn("id", .text), DatasetColumn("name", .text, isOptional: true), table: table)
}
