/// What SQLite turns values into that are compared with a column.
///
/// Source: "Determination Of Column Affinity" in SQLite's documentation of datatypes.
enum ColumnAffinity {
    case integer, text, blob, real, numeric

    /// The affinity of a column that was declared with that type.
    init(declared type: String) {
        let type = type.uppercased()
        if type.contains("INT") {
            self = .integer
        } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
            self = .text
        } else if type.isEmpty || type.contains("BLOB") {
            self = .blob
        } else if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) {
            self = .real
        } else {
            self = .numeric
        }
    }
}
