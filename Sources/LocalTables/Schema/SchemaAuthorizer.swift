import GRDBSQLite
import SnapshotModel
import StrictText

/// What SQLite may do for the statements of a zone's SQL text, decided by SQLite's authorizer: to make one object in `main`, and no more.
///
/// Source: sqlite3_set_authorizer in SQLite's documentation. A call that is not listed here is refused.
final class SchemaAuthorizer {
    enum Mode {
        /// The program's own statements.
        case free
        /// A statement makes this object.
        case creating(SchemaText.Statement)
        /// A statement is compiled, to see what a table, view or trigger would do; it is never run.
        case compiling
    }

    var mode = Mode.free
    /// Why the last statement was refused; nil if it was not.
    private(set) var refusal: String?
    /// The functions that the last statement calls and that are not SQLite's own, each with the trigger or view that calls it.
    private(set) var foreignFunctions: [(name: String, caller: String?)] = []
    /// The tables and views that a trigger writes, by the trigger's name, in lower case.
    private(set) var writes: [ExactText: Set<ExactText>] = [:]
    private let connection: OpaquePointer
    /// The names of SQLite's own functions, in lower case.
    private let functions: Set<ExactText>
    /// The names that are tables on every connection, in lower case.
    private let modules: Set<ExactText>

    /// - Parameters:
    ///   - functions: the functions that the statements may call; nil for all, if the statements were compiled before.
    init(_ connection: OpaquePointer, functions: Set<ExactText> = [], modules: Set<ExactText> = []) {
        self.connection = connection
        self.functions = functions
        self.modules = modules
        // SAFETY: `end` or the connection's end comes before `self` ends, and SQLite calls the function only while it compiles a statement.
        sqlite3_set_authorizer(
            connection,
            { context, action, first, second, database, trigger in
                guard let context else { return SQLITE_DENY }
                func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
                return Unmanaged<SchemaAuthorizer>.fromOpaque(context).takeUnretainedValue().decide(
                    action, on: text(first), text(second), database: text(database), trigger: text(trigger))
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func end() { sqlite3_set_authorizer(connection, nil, nil) }

    /// Runs `body` in a mode.
    func with<T>(_ mode: Mode, _ body: () throws -> T) rethrows -> T {
        (refusal, foreignFunctions) = (nil, [])
        self.mode = mode
        defer { self.mode = .free }
        return try body()
    }

    /// Whether a name is one of the toolkit's or of SQLite's own.
    static func isReserved(_ name: String) -> Bool {
        let name = name.folded.text.utf8
        return name.starts(with: "sqlite_".utf8) || name.starts(with: "snapsync_".utf8)
    }

    private func decide(_ action: Int32, on first: String?, _ second: String?, database: String?, trigger: String?) -> Int32 {
        let isAllowed: Bool
        switch mode {
        case .free: return SQLITE_OK
        case .creating(let statement):
            isAllowed = (database == nil || database == "main") && mayCreate(statement, by: action, on: first, second)
        case .compiling:
            isAllowed = (database == nil || database == "main") && mayCompile(action, on: first, second, trigger: trigger)
        }
        if !isAllowed, refusal == nil { refusal = Self.words(action, [first, second].compactMap { $0 }.first) }
        return isAllowed ? SQLITE_OK : SQLITE_DENY
    }

    private func mayCreate(_ statement: SchemaText.Statement, by action: Int32, on first: String?, _ second: String?) -> Bool {
        let type = statement.type
        func isOwn(_ kind: SchemaText.Kind) -> Bool { type == kind && first.map { $0.utf8.elementsEqual(statement.name.utf8) } == true }
        let isCatalog = first == "sqlite_master" || first == "sqlite_schema"
        switch action {
        case SQLITE_CREATE_TABLE: return isOwn(.table) && !Self.isReserved(statement.name) || type == .table && first == "sqlite_sequence"
        case SQLITE_CREATE_INDEX:
            return isOwn(.index) && !Self.isReserved(statement.name) || type == .table && first?.utf8.starts(with: "sqlite_autoindex_".utf8) == true
        case SQLITE_CREATE_VIEW: return isOwn(.view) && !Self.isReserved(statement.name)
        case SQLITE_CREATE_TRIGGER: return isOwn(.trigger) && !Self.isReserved(statement.name) && second.map { !Self.isReserved($0) } == true
        case SQLITE_REINDEX: return isOwn(.index)
        case SQLITE_INSERT, SQLITE_UPDATE: return isCatalog
        // CHECK constraints, generated columns and indexes read columns and call functions; they have no SELECT.
        case SQLITE_READ: return isCatalog || (type == .table || type == .index) && first.map { !Self.isReserved($0) } == true
        case SQLITE_FUNCTION: return (type == .table || type == .index) && mayCall(second, from: nil)
        default: return false
        }
    }

    private func mayCompile(_ action: Int32, on first: String?, _ second: String?, trigger: String?) -> Bool {
        switch action {
        case SQLITE_SELECT, SQLITE_RECURSIVE: return true
        case SQLITE_READ: return first.map { !Self.isReserved($0) && !isTableOfSQLite($0) } ?? true
        case SQLITE_FUNCTION: return mayCall(second, from: trigger)
        case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
            guard let first, !Self.isReserved(first) else { return false }
            if let trigger { writes[trigger.folded, default: []].insert(first.folded) }
            return true
        default: return false
        }
    }

    private func isTableOfSQLite(_ name: String) -> Bool {
        let name = name.folded
        return modules.contains(name) || name.hasPrefix("pragma_")
    }

    private func mayCall(_ name: String?, from caller: String?) -> Bool {
        guard let name = name?.folded, name != "load_extension", !Self.isReserved(name.text) else { return false }
        if !functions.isEmpty, !functions.contains(name) { foreignFunctions.append((name.text, caller)) }
        return true
    }

    private static func words(_ action: Int32, _ name: String?) -> String {
        let what: String =
            switch action {
            case SQLITE_FUNCTION: "calls the function"
            case SQLITE_SELECT: "selects rows"
            case SQLITE_READ: "reads"
            case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: "writes"
            case SQLITE_CREATE_INDEX, SQLITE_CREATE_TABLE, SQLITE_CREATE_TRIGGER, SQLITE_CREATE_VIEW: "makes"
            case SQLITE_CREATE_TEMP_INDEX, SQLITE_CREATE_TEMP_TABLE, SQLITE_CREATE_TEMP_TRIGGER, SQLITE_CREATE_TEMP_VIEW: "makes the temporary"
            case SQLITE_CREATE_VTABLE: "makes the virtual table"
            default: "does what no such statement needs, with"
            }
        return "it \(what)\(name.map { " \($0)" } ?? "")"
    }
}
