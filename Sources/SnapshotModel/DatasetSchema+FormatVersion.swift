extension DatasetSchema {
    /// The version of the asset format that a version of this dataset needs: the oldest one that can say what the dataset is.
    ///
    /// It stands in the block index. A program that knows only older versions refuses the asset and says that it must be updated.
    /// Source: docs/format.md, "Versions".
    package var formatVersion: Int { hasSimpleKey && !usesAnyType && timestampUnit == nil ? 1 : 2 }

    private var usesAnyType: Bool { columns.contains { $0.kind == .any } }
}
