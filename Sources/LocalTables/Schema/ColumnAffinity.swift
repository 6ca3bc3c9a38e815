package import SnapshotModel
import StrictText

/// How SQLite converts values that are stored in a column or compared with it.
///
/// Source: "Determination Of Column Affinity" in SQLite's documentation of datatypes.
package enum ColumnAffinity {
    case integer, text, blob, real, numeric

    /// The affinity of a column with this declared type.
    ///
    /// - Parameter isStrict: whether the table is STRICT. There, `ANY` keeps every value unchanged; in other tables it is numeric.
    package init(declared type: String, isStrict: Bool) {
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
    /// Whether the column changes every value of that shape: numbers become text, or integers become reals. ``EntityApplier`` checks the values of
    /// all others.
    func spoils(_ shape: ColumnShape?) -> Bool {
        switch shape {
        case .integer, .boolean: self == .text || self == .real
        case .real: self == .text
        case nil, .text, .json, .blob: false
        }
    }

    /// Whether the column changes what a column of another affinity most likely holds.
    func spoils(_ other: ColumnAffinity) -> Bool {
        switch (self, other) {
        case (.text, .integer), (.text, .real), (.text, .numeric), (.real, .integer), (.real, .text), (.integer, .text): true
        default: false
        }
    }

    /// What a column of this affinity turns a value into, in words; nil if it keeps the value unchanged.
    package func changed(_ value: ColumnValue) -> String? {
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

    /// The same of a value that owns its bytes.
    package func changed(_ value: OwnedValue) -> String? { value.withColumnValue { changed($0) } }

    /// Whether the column may change a value of that shape.
    package func mayChange(_ shape: ColumnShape?) -> Bool {
        switch shape {
        case nil: self != .blob
        case .text, .json: self == .integer || self == .real || self == .numeric
        case .integer, .real, .boolean, .blob: false
        }
    }
}

/// Finds texts that SQLite stores as numbers in a column of numeric affinity.
///
/// Source: "Type Affinity" in SQLite's documentation of datatypes: a well-formed integer or real literal, optionally surrounded by spaces.
enum NumericText {
    /// Whether a column of numeric affinity would store the text as a number.
    static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        func skip(while condition: (UInt8) -> Bool) -> Int {
            let start = position
            while position < text.count, condition(text[position]) { position += 1 }
            return position - start
        }
        func skip(_ bytes: UInt8...) -> Bool {
            guard position < text.count, bytes.contains(text[position]) else { return false }
            position += 1
            return true
        }
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

        _ = skip(while: isSpace)
        _ = skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
        var digits = skip(while: isDigit)
        if skip(UInt8(ascii: ".")) { digits += skip(while: isDigit) }
        guard digits > 0 else { return false }
        if skip(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            _ = skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
            guard skip(while: isDigit) > 0 else { return false }
        }
        _ = skip(while: isSpace)
        return position == text.count
    }
}
