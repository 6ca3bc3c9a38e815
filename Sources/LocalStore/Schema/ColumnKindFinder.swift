import SnapshotModel

/// Chooses the type of a dataset's column from the declared type and from the values of its rows.
///
/// The declared type is used if all values fit it, because the application will write such values in future. Otherwise the values decide.
struct ColumnKindFinder {
    let column: TableColumns.Column
    let counts: ColumnCensus.Counts

    /// The type of the column. It is `any`, which keeps each value's storage class, if no other type can carry all values.
    ///
    /// - Parameter isKey: whether the column belongs to the key. A key column cannot be of type `any`, so the values decide even if the
    ///   declaration permits everything.
    func find(isKey: Bool) -> ColumnKind {
        if let declared, fits(declared) { return declared }
        // A column that is not declared as BLOB may hold only blobs by chance.
        if let found, fits(found), isKey || !isOpen && found != .blob { return found }
        return .any
    }

    /// The type that the declaration implies; nil if it implies none.
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

    /// Whether the declaration permits everything, or there are no values: then the present values say nothing about future ones.
    private var isOpen: Bool { column.affinity == .blob && declared == nil || !counts.hasValues }

    /// The type that all values have in common; nil if there are several types or no values.
    private var found: ColumnKind? {
        switch (counts.integers > 0, counts.reals > 0, counts.texts > 0, counts.blobs > 0) {
        case (true, false, false, false): .integer
        case (_, true, false, false): .real
        case (false, false, true, false): .text
        case (false, false, false, true): .blob
        // Without values: a date is most often text, and so is a type that SQLite does not know.
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
