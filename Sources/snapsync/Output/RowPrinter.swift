import ArgumentParser
import CommandSupport
import Foundation
import SnapshotModel
import SnapshotSync
import StrictText

/// The options of commands that print rows.
struct RowOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object: the version, the names of the columns, and an array for each row.")
    var json = false
    @Flag(name: .long, help: "Print a JSON object for each row, on a line of its own.")
    var ndjson = false
    @Flag(name: .long, help: "Print comma-separated values (RFC 4180) with a line of names. NULL is an empty field, an empty text is in quotes.")
    var csv = false

    func validate() throws {
        guard [json, ndjson, csv].count(where: { $0 }) <= 1 else { throw ValidationError("Choose one of --json, --ndjson and --csv.") }
    }

    /// Runs `body`, which passes rows to the printer. An error is printed and ends the process with its status.
    func run(_ body: (RowPrinter) async throws -> Void) async throws {
        let rows = RowPrinter(json ? .json : ndjson ? .ndjson : csv ? .csv : .table)
        try await Printer(isJSON: json || ndjson).run {
            do { try await body(rows) } catch {
                // What was read before the error is printed, but not as if it were all.
                if rows.count > 0 { try rows.flush() }
                throw error
            }
            try rows.end()
        }
    }
}

/// Prints rows as they come. A table's columns are as wide as its first rows need. Memory: these, or a piece of the output.
// SAFETY (@unchecked Sendable): the rows come one at a time.
final class RowPrinter: @unchecked Sendable {
    enum Form { case table, json, ndjson, csv }

    /// The version that the rows are of.
    var version = 0
    private let form: Form
    private var names: [String] = []
    private(set) var count = 0
    private var output: [UInt8] = []
    /// The first rows of a table, until the widths are known.
    private var waiting: [[String]]? = []
    private var widths: [Int] = []

    /// How many rows decide about a table's widths, how wide a column may get, and how many bytes are written at once.
    private static let rowLimit = 200, widthLimit = 60, pieceSize = 64 << 10

    init(_ form: Form) { self.form = form }

    /// Takes the names of the columns.
    func begin(_ names: [String]) {
        self.names = names
        switch form {
        case .table: break
        case .json:
            put("{\"version\":\(version),\"columns\":[")
            for (index, name) in names.enumerated() { put(string: Array(name.utf8), after: index) }
            put("],\"rows\":[")
        case .ndjson: break
        case .csv:
            for (index, name) in names.enumerated() { put(field: Array(name.utf8), after: index) }
            put("\r\n")
        }
    }

    /// Takes a row.
    func print(_ row: UnsafeBufferPointer<ColumnValue>) throws {
        switch form {
        case .table: try print(cells: row.map(Self.cell))
        case .json:
            put(count == 0 ? "\n[" : ",\n[")
            for (index, value) in row.enumerated() { put(value, after: index) }
            put("]")
        case .ndjson:
            put("{")
            for (index, value) in row.enumerated() {
                put(string: Array(names[index].utf8), after: index)
                put(":")
                put(value, after: 0)
            }
            put("}\n")
        case .csv:
            for (index, value) in row.enumerated() { put(field: value, after: index) }
            put("\r\n")
        }
        count += 1
        if output.count >= Self.pieceSize { try write() }
    }

    /// Prints the rest.
    func end() throws {
        if form == .json { put(count == 0 ? "]}\n" : "\n]}\n") }
        try flush()
    }

    /// Prints what was taken so far.
    func flush() throws {
        printWaiting()
        try write()
    }

    private func write() throws {
        defer { output.removeAll(keepingCapacity: true) }
        guard StandardStream.output.isTerminal else { return try output.withUnsafeBytes { try StandardStream.output.write($0) } }
        let text = String(decoding: output, as: UTF8.self)
        try StandardStream.output.write(form == .json || form == .ndjson ? Printer.escape(json: text) : text)
    }

    private func put(_ text: String) { output += text.utf8 }

    // MARK: JSON

    private func put(_ value: ColumnValue, after index: Int) {
        if index > 0 { put(",") }
        switch value {
        case .null: put("null")
        case .integer(let value): put("\(value)")
        case .real(let value): put(value.isFinite ? "\(value)" : "{\"real\":\"\(value < 0 ? "-" : "")Infinity\"}")
        case .text(let bytes), .json(let bytes):
            if UTF8Check.firstFault(in: bytes) == nil { put(string: bytes, after: 0) } else { put("{\"textBase64\":\"\(Self.base64(bytes))\"}") }
        case .blob(let bytes): put("{\"base64\":\"\(Self.base64(bytes))\"}")
        }
    }

    private func put(string bytes: some Sequence<UInt8>, after index: Int) {
        if index > 0 { put(",") }
        output.append(UInt8(ascii: "\""))
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x0A: put("\\n")
            case 0..<0x20: put("\\u00\(Hexadecimal.text([byte]))")
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func base64(_ bytes: UnsafeRawBufferPointer) -> String { Data(bytes).base64EncodedString() }

    // MARK: text

    private static func text(_ value: ColumnValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let bytes), .json(let bytes): String(decoding: bytes, as: UTF8.self)
        case .blob(let bytes): "X'\(Hexadecimal.text(bytes))'"
        }
    }

    private func put(field value: ColumnValue, after index: Int) {
        switch value {
        case .null: if index > 0 { put(",") }
        case .text(let bytes), .json(let bytes): put(field: bytes, after: index)
        default: put(field: Self.text(value).utf8, after: index)
        }
    }

    private func put(field bytes: some Collection<UInt8>, after index: Int) {
        if index > 0 { put(",") }
        func isSpecial(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") || byte == 0x0A || byte == 0x0D }
        guard bytes.isEmpty || bytes.contains(where: isSpecial) else { return output += bytes }
        put("\"")
        for byte in bytes { output += repeatElement(byte, count: byte == UInt8(ascii: "\"") ? 2 : 1) }
        put("\"")
    }

    private static func cell(_ value: ColumnValue) -> String { VisibleText.escape(text(value)) }

    private func print(cells: [String]) throws {
        guard waiting != nil else { return put(line: cells) }
        waiting?.append(cells)
        if waiting?.count == Self.rowLimit { printWaiting() }
    }

    private func printWaiting() {
        guard form == .table, !names.isEmpty, let rows = waiting else { return }
        waiting = nil
        let all = [names.map(VisibleText.escape)] + rows
        widths = names.indices.map { column in min(Self.widthLimit, all.map { $0[column].unicodeScalars.count }.max() ?? 0) }
        put(line: all[0])
        put(line: widths.map { String(repeating: "-", count: $0) })
        for row in rows { put(line: row) }
    }

    private func put(line cells: [String]) {
        let padded = zip(cells, widths).enumerated().map { index, cell in
            index == widths.count - 1 ? cell.0 : cell.0 + String(repeating: " ", count: max(0, cell.1 - cell.0.unicodeScalars.count))
        }
        put(padded.joined(separator: "  ") + "\n")
    }
}
