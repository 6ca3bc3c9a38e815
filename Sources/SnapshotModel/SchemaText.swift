import Foundation
import StrictText

/// The SQL text of a zone's tables, indexes, views and triggers, as `sqlite_schema` has it: for people to read, and for `init --with-schema`.
///
/// The document is `{"formatVersion":1,"statements":[{"type":"table","name":…,"sql":…},…]}`. Nothing in it is run unless somebody asks for it.
/// Source: docs/format.md, "SQL text".
package struct SchemaText: Sendable {
    /// The kinds of objects, in the order in which they must be made.
    package enum Kind: String, Sendable, Codable, CaseIterable {
        case table, index, view, trigger
    }

    /// The statement that makes one object.
    package struct Statement: Sendable, Codable {
        package let type: Kind
        package let name: String
        package let sql: String

        package init(type: Kind, name: String, sql: String) { (self.type, self.name, self.sql) = (type, name, sql) }

        /// Identifies the object: triggers have names of their own, and SQLite ignores the case of ASCII letters alone.
        package var key: [UInt8] { Array((type == .trigger ? "trigger " : "").utf8) + Array(name.folded.text.utf8) }
        /// The kind and name, for messages.
        package var title: String { "\(type.rawValue) \(name)" }
    }

    /// The largest size of the document, in bytes.
    package static let byteLimit = 1 << 20

    /// The statements, in the order in which they can be run.
    package let statements: [Statement]

    package init(_ statements: [Statement]) {
        self.statements = Kind.allCases.flatMap { kind in statements.filter { $0.type == kind } }
    }

    private struct Document: Codable {
        let formatVersion: Int
        let statements: [Statement]
    }

    /// The document: canonical JSON; nil if it would be too large.
    package func text() throws -> String? {
        let data = try StrictJSON.encode(Document(formatVersion: 1, statements: statements))
        return data.count > Self.byteLimit ? nil : String(decoding: data, as: UTF8.self)
    }

    /// Reads a document.
    ///
    /// - Throws: ``DescriptionError``.
    package init(_ text: String) throws {
        guard text.utf8.count <= Self.byteLimit else { throw DescriptionError("it has \(text.utf8.count) bytes; at most \(Self.byteLimit) are allowed") }
        let document: Document
        do {
            document = try StrictJSON.decode(Document.self, from: Data(text.utf8))
        } catch {
            throw DescriptionError(DatasetFile.explain(error))
        }
        guard document.formatVersion == 1 else {
            throw DescriptionError("it has formatVersion \(document.formatVersion), this program knows 1", needsUpdate: document.formatVersion > 1)
        }
        for statement in document.statements where statement.sql.utf8.contains(0) || statement.name.utf8.contains(0) {
            throw DescriptionError("the \(statement.title) holds NUL")
        }
        self.init(document.statements)
        guard Set(statements.map(\.key)).count == statements.count else { throw DescriptionError("two of its statements have one name") }
    }
}
