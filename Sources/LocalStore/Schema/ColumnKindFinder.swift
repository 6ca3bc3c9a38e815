import SnapshotModel

/// Chooses the type of a dataset's column from what the table declares and from what its rows hold.
///
/// The declaration decides as long as the rows agree with it, because the application will write such values tomorrow. Where they do not, the rows decide.
struct ColumnKindFinder {
    let column: TableColumns.Column
    let counts: ColumnCensus.Counts

    /// Chooses; `any`, which keeps each value's storage class, where no other type carries all values.
    ///
    /// - Parameter isKey: whether the column is of the key, which cannot be of type `any`: then the values decide where the declaration permits everything.
    func find(isKey: Bool) -> ColumnKind {
        if let declared, fits(declared) { return declared }
        // A column that is not declared as BLOB holds blobs by chance.
        if let found, fits(found), isKey || !isOpen && found != .blob { return found }
        return .any
    }

    /// The type that the declaration stands for; nil where it leaves that open.
    private var declared: ColumnKind? {
        if column.isDeclaredBoolean { return .boolean }
        if column.isDeclaredJSON { return .json }
        if column.isDeclaredDecimal { return .real }
        switch column.affinity {
        case .integer: return .integer
        case .text: return .text
        case .real: return .real
        case .blob: return column.declared.isEmpty || column.declaredName == "any" ? nil : .blob
        case .numeric: return nil
        }
    }

    /// Whether the declaration permits everything, so that the values of today say nothing about those of tomorrow.
    private var isOpen: Bool { column.affinity == .blob && declared == nil || !counts.hasValues }

    /// The type that the values have in common; nil for values of several, or for none.
    private var found: ColumnKind? {
        switch (counts.integers > 0, counts.reals > 0, counts.texts > 0, counts.blobs > 0) {
        case (true, false, false, false): .integer
        case (_, true, false, false): .real
        case (false, false, true, false): .text
        case (false, false, false, true): .blob
        // Without a value: a date is most often text, and so is a type that SQLite does not know.
        case (false, false, false, false): column.affinity == .numeric ? .text : nil
        default: nil
        }
    }

    /// Whether every value fits into a column of that type.
    private func fits(_ kind: ColumnKind) -> Bool {
        guard !column.affinity.spoils(kind) else { return false }
        return switch kind {
        case .boolean: counts.otherThanBooleans == 0 && counts.reals == 0 && counts.texts == 0 && counts.blobs == 0
        case .integer: counts.reals == 0 && counts.texts == 0 && counts.blobs == 0
        case .real: counts.texts == 0 && counts.blobs == 0
        case .json: counts.otherThanJSON == 0 && counts.integers == 0 && counts.reals == 0 && counts.blobs == 0
        case .text: counts.integers == 0 && counts.reals == 0 && counts.blobs == 0
        case .blob: counts.integers == 0 && counts.reals == 0 && counts.texts == 0
        case .any: true
        }
    }
}
