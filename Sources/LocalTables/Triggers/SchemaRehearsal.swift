import CSQLiteConfig
import GRDB
import GRDBSQLite
package import SnapshotModel
import StrictText

/// Tries a zone's SQL text in an empty database in memory, before any of it runs in a user's database.
///
/// A statement is *proper* if SQLite stores it byte for byte as what makes the one object that it names. So it is no second statement, comment or
/// `CREATE TABLE … AS SELECT`. A proper statement can *run* if it needs nothing but SQLite's own functions and the other statements: views and
/// triggers, which SQLite does not examine when it makes them, are compiled for that.
package struct SchemaRehearsal {
    /// A statement, and why it cannot run; nil if it can.
    package struct Outcome: Sendable {
        package let statement: SchemaText.Statement
        package let lack: String?

        /// The statement as a script for sqlite3 has it, with its semicolon; in comments if it cannot run.
        package var script: String {
            let isCommand = statement.sql.utf8.split(separator: UInt8(ascii: "\n")).contains(where: Self.isOfShell)
            guard let reason = lack ?? (isCommand ? "sqlite3 takes a line of it for a command of its own" : nil) else {
                return statement.sql + ([";", "\n;", "*/;"].first { sqlite3_complete(statement.sql + $0) == 1 } ?? "\n;") + "\n"
            }
            let lines = "\(statement.title): \(reason)\n\(statement.sql)".utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            return lines.map { "-- " + String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        }

        /// Whether SQLite's shell obeys a line even inside of a statement: one that begins with a dot, or a slash or the word `go`, which end a statement
        /// as they do in other shells.
        private static func isOfShell(_ line: Substring.UTF8View) -> Bool {
            if line.first == UInt8(ascii: ".") { return true }
            let word = line.drop { $0 == UInt8(ascii: " ") || 9...13 ~= $0 }
            if word.first == UInt8(ascii: "/") { return word.dropFirst().first != UInt8(ascii: "*") }
            return word.prefix(2).elementsEqual("go".utf8) { $0 | 0x20 == $1 } && (word.dropFirst(2).first.map { $0 <= UInt8(ascii: "/") } ?? true)
        }
    }

    /// Why a text is refused as a whole.
    package struct Refusal: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// How deep views may be nested.
    private static let viewDepth = 16
    /// How many other triggers a trigger may set off. SQLite compiles them inside of one another, on the stack.
    private static let triggerReach = 50
    /// How long a text is examined.
    private static let time = Duration.seconds(10)

    /// An empty database in memory, with SQLite's own functions alone.
    private let memory: RawConnection
    private let authorizer: SchemaAuthorizer
    /// The tables that SQLite has without being asked, as modules: a view of such a name hides one from every query.
    private let modules: Set<ExactText>
    private let end = ContinuousClock.now + Self.time

    private init() throws {
        guard let memory = try? RawConnection(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) else {
            throw Refusal(description: "SQLite has no memory for it")
        }
        self.memory = memory
        csqlite_quoted_text(memory.handle, 1, nil)
        let limit = Int32(SchemaText.byteLimit)
        for (kind, most) in [(SQLITE_LIMIT_LENGTH, limit), (SQLITE_LIMIT_SQL_LENGTH, limit), (SQLITE_LIMIT_EXPR_DEPTH, 200), (SQLITE_LIMIT_ATTACHED, 0)] {
            sqlite3_limit(memory.handle, kind, most)
        }
        try memory.column("PRAGMA foreign_keys = OFF")
        let modules = try memory.column("SELECT lower(name) FROM pragma_module_list")
        self.modules = Set(modules.map(\.exact) + ["json_each".exact, "json_tree".exact])
        authorizer = SchemaAuthorizer(
            memory.handle, functions: Set(try memory.column("SELECT lower(name) FROM pragma_function_list WHERE builtin = 1").map(\.exact)),
            modules: self.modules.subtracting(["json_each".exact, "json_tree".exact]))
    }

    /// Examines a text.
    ///
    /// - Parameters:
    ///   - tables: the tables that the zone describes. Others are not made.
    ///   - builtIn: the built-in tables that the zone has.
    /// - Throws: ``Refusal``, if a statement is more than the one that makes an object, or none.
    package static func run(_ text: SchemaText, tables: [String], builtIn: [String]) throws -> [Outcome] {
        let rehearsal = try SchemaRehearsal()
        defer { rehearsal.authorizer.end() }
        for statement in TableInspector.builtInStatements(builtIn, besides: text) { _ = try rehearsal.create(statement) }
        return try rehearsal.examine(text, Set((tables + builtIn).map(\.folded)))
    }

    /// The statements of a text that are proper.
    static func proper(_ text: SchemaText, builtIn: [String]) throws -> SchemaText {
        let rehearsal = try SchemaRehearsal()
        defer { rehearsal.authorizer.end() }
        for statement in TableInspector.builtInStatements(builtIn, besides: text) { _ = try rehearsal.create(statement) }
        return SchemaText(
            text.statements.filter { statement in
                do {
                    _ = try rehearsal.create(statement)
                    return true
                } catch {
                    return false
                }
            })
    }

    private func examine(_ text: SchemaText, _ tables: Set<ExactText>) throws -> [Outcome] {
        var lacks: [[UInt8]: String] = [:]
        let statements = text.statements
        for statement in statements where statement.type == .table || statement.type == .index {
            let isDescribed = statement.type == .index || tables.contains(statement.name.folded)
            lacks[statement.key] = isDescribed ? try create(statement) : "the zone describes no such table"
        }
        for statement in statements where statement.type == .table && lacks[statement.key] == nil {
            // A foreign key to another table could forbid what an application does there.
            let parents = try memory.column("SELECT \"table\" FROM pragma_foreign_key_list(?)", [statement.name])
            lacks[statement.key] =
                try parents.first { !tables.contains($0.folded) }.map { "it refers to \($0), which is not synced" }
                ?? compile("INSERT INTO main.\(statement.name.sqlIdentifier) DEFAULT VALUES")
        }
        // What is not made is not there for the others.
        for table in statements where table.type == .table && lacks[table.key] != nil {
            try memory.column("DROP TABLE IF EXISTS main.\(table.name.sqlIdentifier)")
        }
        for index in statements where index.type == .index && lacks[index.key] == nil {
            let isThere = try !memory.column("SELECT 1 FROM main.sqlite_schema WHERE type = 'index' AND name = ?", [index.name]).isEmpty
            lacks[index.key] = isThere ? nil : "its table is not made"
        }
        try examineViews(statements.filter { $0.type == .view }, &lacks)
        try examineTriggers(statements.filter { $0.type == .trigger }, &lacks)
        return statements.map { Outcome(statement: $0, lack: lacks[$0.key]) }
    }

    /// Compiles views in rounds: each sees only those of earlier rounds, which bounds how deep they are nested.
    private func examineViews(_ views: [SchemaText.Statement], _ lacks: inout [[UInt8]: String]) throws {
        var pending = views
        for round in 0..<Self.viewDepth {
            var able: [SchemaText.Statement] = [], unable: [SchemaText.Statement] = []
            for view in pending {
                guard !modules.contains(view.name.folded) else {
                    lacks[view.key] = "it would hide a table of SQLite's own"
                    continue
                }
                var lack = try create(view)
                if lack == nil {
                    lack = try compile("SELECT * FROM main.\(view.name.sqlIdentifier)")
                    try memory.column("DROP VIEW main.\(view.name.sqlIdentifier)")
                }
                lacks[view.key] = lack
                if lack == nil { able.append(view) } else { unable.append(view) }
            }
            for view in able { _ = try create(view) }
            if able.isEmpty || unable.isEmpty { return }
            pending = unable
            if round == Self.viewDepth - 1 { for view in unable { lacks[view.key] = "views are nested in it more than \(Self.viewDepth) deep" } }
        }
    }

    private func examineTriggers(_ triggers: [SchemaText.Statement], _ lacks: inout [[UInt8]: String]) throws {
        var pending = triggers, targets: [ExactText: ExactText] = [:]
        // Triggers on views make writes to these views possible, so what fails first may succeed later.
        while !pending.isEmpty {
            var unable: [SchemaText.Statement] = []
            for trigger in pending {
                guard let lack = try create(trigger) ?? compile(trigger, &targets) else {
                    lacks[trigger.key] = nil
                    try verifyReach(of: trigger, targets)
                    continue
                }
                lacks[trigger.key] = lack
                unable.append(trigger)
            }
            if unable.count == pending.count { break }
            pending = unable
        }
        for trigger in triggers where lacks[trigger.key] == nil { try verifyReach(of: trigger, targets) }
    }

    /// Compiles the statements that run a trigger. Drops it if they need more than there is.
    private func compile(_ trigger: SchemaText.Statement, _ targets: inout [ExactText: ExactText]) throws -> String? {
        let place = "FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?"
        guard let target = try memory.column("SELECT tbl_name \(place)", [trigger.name]).first else { return "SQLite did not make it" }
        let columns = try memory.column("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", [target])
        let name = "main.\(target.sqlIdentifier)"
        let sets = columns.map { "\($0.sqlIdentifier) = \($0.sqlIdentifier)" }.joined(separator: ", ")
        // A trigger on a view allows one kind of statement, which need not be this one.
        let isAbsent = "cannot modify \(target) because it is a view"
        for sql in ["INSERT INTO \(name) DEFAULT VALUES", "DELETE FROM \(name)", "UPDATE \(name) SET \(sets)"] {
            guard let lack = try compile(sql, ofTriggers: true), !lack.utf8.elementsEqual(isAbsent.utf8) else { continue }
            try memory.column("DROP TRIGGER main.\(trigger.name.sqlIdentifier)")
            return lack
        }
        targets[trigger.name.folded] = target.folded
        return nil
    }

    private func verifyReach(of trigger: SchemaText.Statement, _ targets: [ExactText: ExactText]) throws {
        let byTarget = Dictionary(grouping: targets.keys) { targets[$0] ?? "" }
        var seen: Set<ExactText> = [], next = [trigger.name.folded]
        while let name = next.popLast() {
            guard seen.insert(name).inserted else { continue }
            for table in authorizer.writes[name] ?? [] { next += byTarget[table] ?? [] }
            guard seen.count <= Self.triggerReach else {
                throw Refusal(description: "the \(trigger.title) sets off more than \(Self.triggerReach) other triggers")
            }
        }
    }

    /// Makes an object. Returns what the statement needs and the text does not have; nil if it is nothing.
    private func create(_ statement: SchemaText.Statement) throws -> String? {
        guard ContinuousClock.now < end else { throw Refusal(description: "it takes more than \(Self.time) to examine it") }
        let beginnings = ["CREATE \(statement.type.rawValue.uppercased()) "] + (statement.type == .index ? ["CREATE UNIQUE INDEX "] : [])
        guard beginnings.contains(where: { statement.sql.utf8.starts(with: $0.utf8) }) else {
            throw Refusal(description: "the \(statement.title) is not the statement that makes it")
        }
        let isOfTable = statement.type == .index || statement.type == .trigger
        let count = "SELECT count(*) FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        let before = try memory.column(count).first.flatMap { Int($0) } ?? 0
        var lack: String?
        // Each attempt finds one more missing function. The limit ends the loop for a text that calls a hundred.
        for _ in 0..<100 {
            guard let failure = authorizer.with(.creating(statement), { memory.execute(statement.sql) }) else { break }
            if let refusal = authorizer.refusal { throw Refusal(description: "the \(statement.title) is more than a statement that makes it: \(refusal)") }
            lack = lack ?? failure
            guard SQLiteStub.add(for: failure, to: memory.handle) else {
                // Only an index or trigger needs something that is made before.
                if isOfTable, failure.utf8.starts(with: "no such table: ".utf8) || failure.utf8.starts(with: "no such column: ".utf8) { return lack }
                throw Refusal(description: "the \(statement.title) cannot be run: \(failure)")
            }
        }
        let stored = try memory.column(
            "SELECT sql FROM main.sqlite_schema WHERE type = ? AND name = ?", [statement.type.rawValue, statement.name])
        let after = try memory.column(count).first.flatMap { Int($0) } ?? 0
        guard after == before + 1, stored.count == 1, stored[0].utf8.elementsEqual(statement.sql.utf8) else {
            throw Refusal(description: "the \(statement.title) is not just the statement that makes it")
        }
        return lack ?? authorizer.foreignFunctions.first.map { Self.calls($0.name) }
    }

    /// Compiles a statement. Returns what the text does not have of what it needs; nil if it is nothing.
    ///
    /// - Parameter ofTriggers: whether only what triggers and views call counts.
    private func compile(_ sql: String, ofTriggers: Bool = false) throws -> String? {
        for _ in 0..<100 {
            guard ContinuousClock.now < end else { throw Refusal(description: "it takes more than \(Self.time) to examine it") }
            let failure = authorizer.with(.compiling) { memory.compile(sql) }
            if let refusal = authorizer.refusal { return refusal }
            if let function = authorizer.foreignFunctions.first(where: { !ofTriggers || $0.caller != nil }) { return Self.calls(function.name) }
            guard let failure else { return nil }
            // SQLite does not ask the authorizer for the functions of a default, so a stub would hide them.
            guard ofTriggers, SQLiteStub.add(for: failure, to: memory.handle) else { return failure }
        }
        return "it calls more than 100 functions that are not SQLite's own"
    }

    private static func calls(_ function: String) -> String { "it calls the function \(function), which is not SQLite's own" }
}

extension RawConnection {
    /// Runs a statement. Returns SQLite's message if that fails.
    fileprivate func execute(_ sql: String) -> String? {
        do throws(DatabaseError) { try rows(sql) } catch { return error.message ?? "" }
        return nil
    }

    /// The first column of the rows of one of the program's own statements.
    @discardableResult
    fileprivate func column(_ sql: String, _ arguments: [String] = []) throws -> [String] {
        do throws(DatabaseError) { return try rows(sql, arguments).map { $0[0] } } catch { throw SchemaRehearsal.Refusal(description: error.message ?? "") }
    }
}
