import GRDB
import SnapshotModel

/// The tables of a database by kind: the application's own, virtual tables, and the tables that belong to these.
struct TableCatalog {
    var tables: [String] = []
    var virtual: [String] = []
    var shadows: [String: String] = [:]
    var views: Set<String> = []
    /// The virtual tables whose module only the application has.
    private var unknown: [String] = []
    /// The tables that seem to belong to such a virtual table by their names.
    private(set) var guessed: [String] = []

    init(_ db: Database) throws {
        var kinds: [String: String] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_list WHERE schema = 'main'") { kinds[row[0]] = row[1] }
        let names = try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")
        virtual = names.filter { kinds[$0] == "virtual" }
        // A library without the pragma knows nothing of any module.
        let modules = Set((try? String.fetchAll(db, sql: "SELECT lower(name) FROM pragma_module_list")) ?? [])
        unknown = try virtual.filter { try Self.module(of: $0, db).map { !modules.contains($0) } ?? true }
        for name in names where !name.asciiLowercased.hasPrefix("sqlite_") && !name.asciiLowercased.hasPrefix("snapsync_") {
            switch kinds[name] {
            case "view": views.insert(name)
            case "virtual": break
            case "shadow": shadows[name] = owner(of: name) ?? name
            default:
                // SQLite reports the shadow tables of such a virtual table as ordinary tables.
                guard let owner = owner(of: name), unknown.contains(owner), Self.isShadowName(name.dropFirst(owner.count + 1)) else {
                    tables.append(name)
                    continue
                }
                shadows[name] = owner
                guessed.append(name)
            }
        }
    }

    private func owner(of name: String) -> String? {
        virtual.filter { name.asciiLowercased.hasPrefix($0.asciiLowercased + "_") }.max { $0.count < $1.count }
    }

    /// The module of a virtual table, in lower case.
    private static func module(of table: String, _ db: Database) throws -> String? {
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [table])
        let tokens = SQLToken.all(of: Array(sql ?? ""))
        guard let using = tokens.firstIndex(where: { $0.isWord("using") }), using + 1 < tokens.count else { return nil }
        return (tokens[using + 1].name ?? tokens[using + 1].text)?.asciiLowercased
    }

    private static func isShadowName(_ ending: Substring) -> Bool {
        let known = [
            "data", "idx", "content", "docsize", "config", "node", "parent", "rowid", "segments", "segdir", "stat", "chunks", "rowids", "info", "auxiliary",
        ]
        let name = String(ending).asciiLowercased
        return known.contains(name) || name.hasPrefix("vector_chunks") || name.hasPrefix("metadatachunks") || name.hasPrefix("metadatatext")
    }
}
