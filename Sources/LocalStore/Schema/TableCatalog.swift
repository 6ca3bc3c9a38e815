import GRDB
import SnapshotModel
import StrictText

/// The tables of a database by kind: the application's own, virtual tables, and the tables that belong to these.
struct TableCatalog {
    var tables: [String] = []
    var virtual: [String] = []
    var shadows: [ExactText: String] = [:]
    var views: Set<ExactText> = []
    /// The virtual tables whose module only the application has.
    private var unknown: [String] = []
    /// The tables that seem to belong to such a virtual table by their names.
    private(set) var guessed: [String] = []

    init(_ db: Database) throws {
        var kinds: [ExactText: String] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_list WHERE schema = 'main'") { kinds[(row[0] as String).exact] = row[1] }
        let names = try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")
        virtual = names.filter { kinds[$0.exact] == "virtual" }
        // A library without the pragma knows nothing of any module.
        let modules = Set((try? String.fetchAll(db, sql: "SELECT lower(name) FROM pragma_module_list").map(\.exact)) ?? [])
        unknown = try virtual.filter { try Self.module(of: $0, db).map { !modules.contains($0) } ?? true }
        for name in names where !name.folded.hasPrefix("sqlite_") && !name.folded.hasPrefix("snapsync_") {
            switch kinds[name.exact] {
            case "view": views.insert(name.exact)
            case "virtual": break
            case "shadow": shadows[name.exact] = owner(of: name) ?? name
            default:
                // SQLite reports the shadow tables of such a virtual table as ordinary tables.
                guard let owner = owner(of: name), unknown.contains(where: { $0.exact == owner.exact }),
                    Self.isShadowName(name.utf8.dropFirst(owner.utf8.count + 1))
                else {
                    tables.append(name)
                    continue
                }
                shadows[name.exact] = owner
                guessed.append(name)
            }
        }
    }

    private func owner(of name: String) -> String? {
        virtual.filter { name.folded.hasPrefix(($0 + "_").folded.text) }.max { $0.utf8.count < $1.utf8.count }
    }

    /// The folded name of the module of a virtual table.
    private static func module(of table: String, _ db: Database) throws -> ExactText? {
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [table])
        let tokens = SQLToken.all(of: Array((sql ?? "").unicodeScalars))
        guard let using = tokens.firstIndex(where: { $0.isWord("using") }), using + 1 < tokens.count else { return nil }
        return (tokens[using + 1].name ?? tokens[using + 1].text)?.folded
    }

    private static func isShadowName(_ ending: Substring.UTF8View) -> Bool {
        let known: Set<ExactText> = [
            "data", "idx", "content", "docsize", "config", "node", "parent", "rowid", "segments", "segdir", "stat", "chunks", "rowids", "info", "auxiliary",
        ]
        let name = String(Substring(ending)).folded
        return known.contains(name) || name.hasPrefix("vector_chunks") || name.hasPrefix("metadatachunks") || name.hasPrefix("metadatatext")
    }
}
