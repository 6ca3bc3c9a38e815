import Foundation
import GRDB
import SnapshotModel
import StrictText

/// Finds the column that says when a row was last changed.
///
/// A name counts only if it says *changed*. A column that says *created*, or a date of the business, does not change with an edit, so last write
/// wins would go by the wrong date. What the first rows hold there must be instants, too: RFC 3339 text, or numbers of one unit. A foreign key is
/// never the timestamp.
struct TimestampColumn {
    let table: TableColumns
    /// The table's columns that refer to other tables, in lower case.
    let references: Set<ExactText>
    private let samples: [ExactText: Sample]

    /// Reads the first rows of a table in the columns with such names.
    ///
    /// - Parameter wanted: another column that the caller named.
    init(_ db: Database, table: TableColumns, references: Set<ExactText>, wanted: String?) throws {
        self.table = table
        self.references = references
        let names = Self.candidates(table) + [wanted].compactMap(\.self)
        guard !names.isEmpty else {
            samples = [:]
            return
        }
        var samples = names.map { _ in Sample() }
        let rows = try KeyedStatement(
            db, "SELECT \(names.map(\.sqlIdentifier).joined(separator: ", ")) FROM \(table.name.sqlIdentifier) LIMIT \(Self.sampleSize)"
        ).bind()
        while try rows.step() { for index in samples.indices { samples[index].add(rows.timestamp(Int32(index))) } }
        self.samples = Dictionary(zip(names.map(\.exact), samples), uniquingKeysWith: { first, _ in first })
    }

    /// What the first rows hold in a column.
    private struct Sample {
        var hasTexts = false
        /// Whether a text is no RFC 3339 date and time.
        var hasOtherTexts = false
        var least: Double?
        var greatest: Double?

        mutating func add(_ value: ColumnValue) {
            switch value {
            case .text:
                hasTexts = true
                if RowInstant.instant(of: value, nil) == nil { hasOtherTexts = true }
            case .integer(let integer): add(Double(integer))
            case .real(let real): add(real)
            default: break
            }
        }

        private mutating func add(_ number: Double) {
            least = min(least ?? number, number)
            greatest = max(greatest ?? number, number)
        }
    }

    private static let sampleSize = 200

    /// Names without `_`, spaces and `-`, in lower case, the best first.
    private static let names = [
        "updatedat", "updatedon", "updated", "updatedate", "dateupdated", "updatetime", "timeupdated", "updatedts", "updatedtime", "lastupdated",
        "lastupdatedat", "lastupdate", "lastupdatedts", "modifiedat", "modifiedon", "modified", "modifieddate", "datemodified", "modifiedtime", "timemodified",
        "modificationdate", "modificationtime", "lastmodified", "lastmodifiedat", "lastmodifieddate", "lastmodification", "changedat", "changedon", "changed",
        "lastchanged", "lastchangedat", "lastchange", "changedate", "changetime", "mtime", "lastchangedts", "modifiedts", "lastmodifiedts", "lastmodifiedtime",
        "updatedtimestamp", "modifiedtimestamp", "lastupdatedtime", "lastupdatetime", "mod",
    ]

    /// The name in lower case, without separators and without the `Z` that Core Data puts before its upper-case names.
    private static func plain(_ name: String) -> String {
        let isUpper = !name.utf8.contains { $0 &- UInt8(ascii: "a") < 26 }
        let rest = name.folded.text.utf8.dropFirst(isUpper && name.utf8.first == UInt8(ascii: "Z") ? 1 : 0)
        return String(decoding: rest.filter { !"_ -".utf8.contains($0) }, as: UTF8.self)
    }

    /// The columns with such a name, the best first.
    var candidates: [String] { Self.candidates(table) }

    private static func candidates(_ table: TableColumns) -> [String] {
        names.flatMap { name in table.columns.filter { !$0.isGenerated && $0.keyPlace == 0 && plain($0.name) == name }.map(\.name) }
    }

    /// Why a column cannot be the timestamp, in words; nil if it can.
    ///
    /// - Parameter checksValues: whether what the rows hold counts, too.
    func refusal(of name: String, checksValues: Bool = true) -> String? {
        guard let column = table.column(name), !column.isGenerated else { return "is not synced" }
        guard !references.contains(name.folded) else { return "refers to another table" }
        guard checksValues, let sample = samples[name.exact] else { return nil }
        if sample.hasOtherTexts { return "holds text that is no RFC 3339 date and time" }
        if sample.least != nil { return unit(of: name) == nil ? "holds numbers that are no dates, or dates by several units" : nil }
        // No row has a date yet. The declaration says what the column will hold; what numbers would count, nothing says.
        return sample.hasTexts || column.affinity == .text || column.isDeclaredAsTime ? nil : "holds no dates"
    }

    /// Whether the rows hold numbers in a column.
    func holdsNumbers(_ name: String) -> Bool { samples[name.exact]?.least != nil }

    /// Whether numbers are to be expected in a column.
    func mayHoldNumbers(_ name: String) -> Bool {
        holdsNumbers(name) || samples[name.exact]?.hasTexts != true && [.integer, .real].contains(table.column(name)?.affinity ?? .text)
    }

    /// The unit of a column's numbers; nil if the rows hold none, or do not tell it.
    func unit(of name: String) -> TimestampUnit? {
        let units = units(of: name)
        return units.count == 1 ? units[0] : nil
    }

    /// The units by which all numbers of a column are dates from 2000 until the day after tomorrow.
    ///
    /// Columns that say when a row was changed hold no later times. Until 2031 no two units overlap in that range. Apple's seconds begin in 2001,
    /// so small numbers, which may count anything, would be dates of that first year; dates by this unit must be later.
    func units(of name: String) -> [TimestampUnit] {
        guard let least = samples[name.exact]?.least, let greatest = samples[name.exact]?.greatest else { return [] }
        let latest = Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000) + 2 * 86_400_000_000)
        return TimestampUnit.allCases.filter { unit in
            let earliest = Instant(microseconds: unit == .apple ? 1_009_843_200_000_000 : 946_684_800_000_000)
            return [least, greatest].allSatisfy { value in unit.instant(of: value).map { $0 >= earliest && $0 <= latest } ?? false }
        }
    }
}

/// The timestamp column that the caller named for a table: `COLUMN`, or `COLUMN:UNIT` for a column of numbers.
struct GivenTimestamp {
    /// The name of the column, spelled as in the table.
    let column: String
    /// What its numbers count; nil if the caller did not say.
    let unit: TimestampUnit?

    /// Finds the column.
    ///
    /// - Parameter path: the database, for errors.
    /// - Throws: ``SyncError`` with `.schemaMismatch` if the table has no such column, or if there is no such unit.
    init(_ text: String, in table: TableColumns, at path: String) throws {
        if let column = table.column(text) {
            (self.column, unit) = (column.name, nil)
            return
        }
        let place = "\(path), table \(table.name)"
        guard let sign = text.utf8.lastIndex(of: UInt8(ascii: ":")), let column = table.column(String(text[..<sign])) else {
            throw SyncError(
                database: .schemaMismatch, at: place, "it has no column \(text)",
                hint: "correct --timestamp: the columns are \(table.columns.map(\.name).joined(separator: ", "))")
        }
        let name = String(text[text.utf8.index(after: sign)...])
        guard let unit = TimestampUnit(rawValue: name) else {
            throw SyncError(
                database: .schemaMismatch, at: place, "there is no unit \(name)",
                hint: "correct --timestamp: the units are \(TimestampUnit.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        (self.column, self.unit) = (column.name, unit)
    }
}
