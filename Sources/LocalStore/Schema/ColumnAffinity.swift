import SnapshotModel
import StrictText

/// How SQLite converts values that are stored in a column or compared with it.
///
/// Source: "Determination Of Column Affinity" in SQLite's documentation of datatypes.
enum ColumnAffinity {
    case integer, text, blob, real, numeric

    /// The affinity of a column with this declared type.
    ///
    /// - Parameter isStrict: whether the table is STRICT. There, `ANY` keeps every value unchanged; in other tables it is numeric.
    init(declared type: String, isStrict: Bool) {
        if isStrict, type.folded == "any" {
            self = .blob
            return
        }
        let name = Array(type.folded.text.utf8)
        func has(_ parts: StaticString...) -> Bool {
            parts.contains { part in
                name.indices.contains { name[$0...].starts(with: UnsafeBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount)) }
            }
        }
        if has("int") {
            self = .integer
        } else if has("char", "clob", "text") {
            self = .text
        } else if name.isEmpty || has("blob") {
            self = .blob
        } else if has("real", "floa", "doub") {
            self = .real
        } else {
            self = .numeric
        }
    }
}

extension ColumnAffinity {
    /// Whether the column changes every value of that kind: numbers become text, or integers become reals.
    func spoils(_ kind: ColumnKind) -> Bool {
        switch kind {
        case .integer, .boolean: self == .text || self == .real
        case .real: self == .text
        // Each affinity keeps values of some storage classes. EntityApplier checks the values.
        case .text, .json, .blob, .any: false
        }
    }

    /// What a column of this affinity turns a value into, in words; nil if it keeps the value unchanged.
    func changed(_ value: ColumnValue) -> String? {
        switch (self, value) {
        case (.blob, _), (_, .null), (_, .blob): nil
        case (.text, .integer), (.text, .real): "text"
        case (.text, _): nil
        case (.real, .integer): "a real number"
        case (.integer, .integer), (.numeric, .integer): nil
        // SQLite stores a real without a fraction as an integer if that loses nothing, and treats -0.0 as 0.
        case (_, .real(let real)):
            self == .real ? (real == 0 && real.sign == .minus ? "0.0" : nil) : Int64(exactly: real).map { $0 > .min && $0 < .max } == true ? "an integer" : nil
        case (_, .text(let bytes)), (_, .json(let bytes)): NumericText.isNumber(bytes) ? "a number" : nil
        }
    }

    /// A declared type with this affinity, for a table that is not STRICT.
    var name: String {
        switch self {
        case .integer: "INTEGER"
        case .text: "TEXT"
        case .blob: ""
        case .real: "REAL"
        case .numeric: "NUMERIC"
        }
    }

    /// Whether text that looks like a number becomes one.
    var turnsTextIntoNumbers: Bool { self == .integer || self == .real || self == .numeric }
}
