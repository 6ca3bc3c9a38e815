import SnapshotModel

/// What SQLite turns values into that are stored in a column or compared with it.
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

extension ColumnAffinity {
    /// Whether no value of that kind can stay as it is in the column: numbers become text, or integers reals.
    func spoils(_ kind: ColumnKind) -> Bool {
        switch kind {
        case .integer, .boolean: self == .text || self == .real
        case .real: self == .text
        case .text, .json, .blob: false
        }
    }

    /// Whether text that reads as a number becomes one.
    var turnsTextIntoNumbers: Bool { self == .integer || self == .real || self == .numeric }
}

extension String {
    /// The name as SQLite compares names: only the letters A to Z have a case.
    var asciiLowercased: String {
        String(decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
