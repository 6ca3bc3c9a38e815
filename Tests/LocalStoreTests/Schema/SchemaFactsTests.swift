import GRDB
import Testing

@testable import LocalStore

/// Answers about the schema are kept from one transaction to the next, and never longer than they are true.
@Suite struct SchemaFactsTests {
    private let things: TrackedThings
    private var database: LocalDatabase { things.database }

    init() throws { things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A')") }

    private func hasTables() throws -> Bool { try database.read { try $0.tracking.hasTables() } }

    @Test func anotherProgramsChangeOfTheSchemaCounts() throws {
        #expect(try hasTables())
        try things.run("ALTER TABLE snapsync_tracking RENAME TO elsewhere")
        #expect(try !hasTables())
        try things.run("ALTER TABLE elsewhere RENAME TO snapsync_tracking")
        #expect(try hasTables())
    }

    @Test func whatWasRolledBackIsNotKept() throws {
        struct Undone: Error {}
        try things.run("ALTER TABLE snapsync_tracking RENAME TO elsewhere")
        let before = try version()
        #expect(throws: (any Error).self) {
            try database.write { transaction in
                try transaction.db.execute(sql: "ALTER TABLE elsewhere RENAME TO snapsync_tracking")
                #expect(try transaction.tracking.hasTables())
                throw Undone()
            }
        }
        #expect(try version() == before)
        // The same number as what was rolled back, and another schema.
        try things.run("ALTER TABLE elsewhere RENAME TO somewhere")
        #expect(try version() == before + 1)
        #expect(try !hasTables())
    }

    @Test func theSameTransactionSeesItsOwnChange() throws {
        #expect(try hasTables())
        try database.write { transaction in
            #expect(try transaction.tracking.hasTables())
            try transaction.db.execute(sql: "ALTER TABLE snapsync_tracking RENAME TO elsewhere")
            #expect(try !transaction.tracking.hasTables())
            try transaction.db.execute(sql: "ALTER TABLE elsewhere RENAME TO snapsync_tracking")
            #expect(try transaction.tracking.hasTables())
        }
    }

    private func version() throws -> Int64 { try things.application.read { try Int64.fetchOne($0, sql: "PRAGMA schema_version") ?? 0 } }
}
