import Foundation
import GRDB
@testable import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// docs/local-tables.md against the tables that a fresh database gets.
@Suite struct LocalTablesTests {
    /// One row of a table of columns.
    struct Column: Hashable, CustomStringConvertible {
        let name: String
        let type: String
        var description: String { "\(name) \(type)" }
    }

    /// The page: the columns under each heading that is a table's name, and the codes of the columns that have codes.
    private struct Page {
        var columns: [String: [Column]] = [:]
        /// The overview at the top.
        var overview: [String] = []
        /// The codes of the column `changed` of the change log.
        var logKinds: [Int64] = []
        let text: String

        init() throws {
            let root = Repository.root
            text = try String(contentsOf: root.appendingPathComponent("docs/local-tables.md"), encoding: .utf8)
            var heading = ""
            for line in text.split(separator: "\n") {
                if line.hasPrefix("#") { heading = String(line.drop { $0 == "#" || $0 == " " }).replacing("`", with: "") }
                let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
                guard cells.count == 5 || cells.count == 4 else { continue }
                if heading == "snapsync_log", cells.count == 4, let kind = Int64(cells[1]) { logKinds.append(kind) }
                guard cells.count == 5, cells[1].hasPrefix("`") else { continue }
                let name = cells[1].replacing("`", with: "")
                if heading.hasPrefix("snapsync_") { columns[heading, default: []].append(Column(name: name, type: cells[2])) } else { overview.append(name) }
            }
        }

        /// The codes that the page lists for a column of `snapsync_changes`, as `0 …; 1 …; 2 …`.
        func codes(of column: String) -> [Int64] {
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("| `\(column)` | INTEGER") }), let list = line.split(separator: ":").last
            else { return [] }
            return list.split(separator: ";").compactMap { Int64($0.trimmingCharacters(in: .whitespaces).prefix { $0.isNumber || $0 == "-" }) }
        }
    }

    /// The columns of every table of the toolkit in a database, in their order.
    private func schema(of path: String) throws -> [String: [Column]] {
        try DatabaseQueue(path: path).read { db in
            var found: [String: [Column]] = [:]
            for table in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'snapsync%'") {
                found[table] = try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_info(?)", arguments: [table])
                    .map { Column(name: $0[0], type: ($0[1] as String).isEmpty ? "any" : $0[1]) }
            }
            return found
        }
    }

    @Test func thePageHasEveryTableAndColumn() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("fresh.db")
        let database = try LocalDatabase(path: path, creating: true)
        try database.write { transaction in for table in LocalTable.all { try table.create(in: transaction.db) } }
        let page = try Page(), found = try schema(of: path)
        #expect(Set(page.columns.keys) == Set(found.keys))
        for (table, columns) in found { #expect(page.columns[table] == columns, "\(table)") }
        #expect(page.overview == page.overview.filter { found[$0] != nil } && Set(page.overview) == Set(found.keys))
        #expect(found.count == LocalTable.all.count && LocalTable.all.count >= 15)
    }

    @Test func initCreatesTablesOfThePageAlone() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("fresh.db")
        let database = try LocalDatabase(path: path, creating: true)
        try database.write { transaction in
            _ = try transaction.tables.createBuiltIn()
            try transaction.initialize(.example)
            _ = try transaction.tracking.install(DatasetSchema.builtIn)
            try transaction.sentEdits.requestFullSync(at: Instant(microseconds: 1), as: "watch")
            try transaction.decidedEdits.decide("phone", upTo: 1)
            try transaction.state.setApplied(AppliedVersion(number: 1, hash: "00"))
        }
        let page = try Page(), found = try schema(of: path)
        for (table, columns) in found { #expect(page.columns[table] == columns, "\(table)") }
        #expect(found.count >= 12)
    }

    @Test func thePageHasEveryCode() throws {
        let page = try Page()
        #expect(page.logKinds == LogEntryKind.allCases.map(\.rawValue))
        #expect(page.codes(of: "state") == TrackedState.allCases.map(\.rawValue))
        #expect(page.codes(of: "isNew") == TrackedOrigin.allCases.map(\.rawValue))
        #expect(page.codes(of: "cause") == ChangeCause.allCases.map(\.rawValue))
        for dataset in ReservedDataset.allCases { #expect(page.text.contains("; \(dataset.rawValue) for "), "\(dataset)") }
    }
}
