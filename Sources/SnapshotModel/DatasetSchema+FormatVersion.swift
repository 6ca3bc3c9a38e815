extension DatasetSchema {
    /// The version of the asset format that a version of this dataset needs: the oldest that can express the dataset.
    ///
    /// The block index contains it. A program that knows only older formats refuses the asset and asks for an update.
    /// Source: docs/format.md, "Versions".
    package var formatVersion: Int { hasSimpleKey && !usesAnyType && timestampUnit == nil ? 1 : 2 }

    private var usesAnyType: Bool { columns.contains { $0.kind == .any } }
}
