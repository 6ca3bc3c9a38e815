package import GRDB
package import SnapshotModel
package import StrictText

/// The instants of a row's columns as `snapsync_instants` keeps them: a JSON object of names and microseconds.
package struct ColumnInstants {
    /// By name; nil stands for the row's own timestamp, while the row is not known.
    private let instants: [ExactText: Instant?]

    /// Nil if the text is not such an object.
    package init?(_ text: UnsafeRawBufferPointer) {
        let scanner = JSONScanner(text)
        guard text.first == UInt8(ascii: "{"), (try? scanner.skipValue(0)) == text.count else { return nil }
        var instants: [ExactText: Instant?] = [:], isFit = true
        _ = try? scanner.forEachMember { name, value in
            let value = UnsafeRawBufferPointer(rebasing: text[value]), at = Int64(String(decoding: value, as: UTF8.self))
            isFit = isFit && (at != nil || value.elementsEqual("true".utf8))
            instants[String(decoding: name, as: UTF8.self).exact] = .some(at.map(Instant.init(microseconds:)))
        }
        guard isFit else { return nil }
        self.instants = instants
    }

    package init(_ instants: [ExactText: Instant]) { self.instants = instants.mapValues { $0 } }

    private init(_ instants: [ExactText: Instant?]) { self.instants = instants }

    /// With the row's own timestamp where it stands for the instant.
    func dated(_ own: Instant) -> ColumnInstants { ColumnInstants(instants.mapValues { .some($0 ?? own) }) }

    package var known: [ExactText: Instant] { instants.compactMapValues { $0 } }

    package var text: String {
        let members = instants.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key.description)):\($0.value.map { "\($0.microseconds)" } ?? "true")" }
        return "{\(members.joined(separator: ","))}"
    }

    static func quoted(_ name: String) -> String { (try? StrictJSON.encode(name)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\"" }

    /// The names of a dataset's columns by position as a JSON array, as an SQL literal.
    package static func names(of schema: DatasetSchema) -> String { "[\(schema.columns.map { quoted($0.name) }.joined(separator: ","))]".sqlText }
}

extension ColumnGroups {
    /// Reads the groups of a dataset from its description and from the constraints of its table.
    package init(_ db: Database, _ schema: DatasetSchema) throws {
        guard let table = try TableColumns(db, schema.table) else {
            self.init(schema.declaredGroups, of: schema)
            return
        }
        let generated = try GeneratedColumns(db, table)
        var groups = try table.checks(db).map { table.columns(in: $0) }
        groups += try UniqueKey.others(db, schema)?.map(\.columns) ?? []
        groups += try TableReference.all(db).filter { $0.child.folded == schema.table.folded }.map { $0.columns.map(\.child) }
        let positions = Dictionary(schema.columns.enumerated().map { ($1.column.folded, $0) }) { first, _ in first }
        // A generated column changes with those that it is computed from.
        self.init(schema.declaredGroups + groups.map { Set(generated.sources(of: $0).compactMap { positions[$0.folded] }) }, of: schema)
    }
}
