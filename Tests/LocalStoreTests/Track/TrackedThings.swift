import Foundation
import GRDB
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport

/// A tracked table with awkward names and a second unique column, and a connection of another program's to it.
struct TrackedThings {
    private let scratch: ScratchDirectory
    let schema: DatasetSchema
    let database: LocalDatabase
    let application: DatabaseQueue
    /// What the first look at the triggers had to put in.
    let mended: [String]

    /// - Parameter rows: the rows that are there before anything is tracked, as SQL.
    init(rows: String) throws {
        try self.init(
            #"CREATE TABLE "my things"(id TEXT PRIMARY KEY NOT NULL, changed TEXT, slot INTEGER UNIQUE, "the ""name""" TEXT)"#,
            schema: DatasetSchema(
                name: "things", table: "my things", keys: ["id"], timestamp: "changed",
                columns: [
                    DatasetColumn("id", .text), DatasetColumn("changed", .text, isOptional: true), DatasetColumn("slot", .integer, isOptional: true),
                    DatasetColumn("name", .text, column: "the \"name\"", isOptional: true),
                ]), rows: rows)
    }

    init(_ table: String, schema: DatasetSchema, rows: String) throws {
        self.schema = schema
        scratch = try ScratchDirectory()
        let path = scratch.path("things.db")
        application = try DatabaseQueue(path: path)
        try application.write { try $0.execute(sql: "\(table); INSERT INTO \(schema.table.sqlIdentifier) VALUES\(rows)") }
        database = try LocalDatabase(path: path)
        mended = try database.write { try $0.tracking.install([schema]) }
        try settle()
    }

    /// Makes all that was noted part of the applied version.
    func settle() throws {
        try database.write { transaction in
            try transaction.changeLog.consolidate(of: [schema])
            try transaction.changeLog.acknowledge(
                of: schema, upTo: transaction.changeLog.summary(of: schema).lastSequence, settling: transaction.changeLog.doubt(of: schema))
        }
    }

    func changes() throws -> TrackedChanges { try database.read { try $0.changeLog.summary(of: schema) } }

    func run(_ sql: String) throws { try application.write { try $0.execute(sql: sql) } }
}
