import Foundation
import StrictText

/// A dataset and its table as a zone describes them, complete enough for a device that has neither a dataset file nor the table.
///
/// The document is `{"formatVersion":1,"dataset":{…},"structure":{…}}`, where `dataset` is as in a dataset file. Source: docs/format.md,
/// "Descriptions".
package struct DatasetDescription: Hashable, Sendable {
    package let schema: DatasetSchema
    package let structure: TableStructure

    /// The format of descriptions that this program reads and writes.
    package static let formatVersion = 1
    /// The largest size of a description, in bytes.
    package static let byteLimit = 1 << 20

    package init(schema: DatasetSchema, structure: TableStructure) { (self.schema, self.structure) = (schema, structure) }

    private struct Version: Decodable {
        let formatVersion: Int
    }

    private struct Document: Codable {
        let formatVersion: Int
        let dataset: ClosedObject<DatasetFile.Dataset>
        let structure: TableStructure
    }

    /// The description's document: canonical JSON, so equal descriptions give equal texts.
    package func text() throws -> String {
        String(
            decoding: try StrictJSON.encode(
                Document(formatVersion: Self.formatVersion, dataset: ClosedObject(DatasetFile.Dataset(schema)), structure: structure)),
            as: UTF8.self)
    }

    /// Reads a document and checks that its parts are consistent.
    ///
    /// - Throws: ``DescriptionError``.
    package init(_ text: String) throws {
        guard text.utf8.count <= Self.byteLimit else { throw DescriptionError("it has \(text.utf8.count) bytes; at most \(Self.byteLimit) are allowed") }
        do {
            let data = Data(text.utf8)
            let version = try StrictJSON.decode(Version.self, from: data).formatVersion
            guard version == Self.formatVersion else {
                throw DescriptionError("it has formatVersion \(version), this program knows \(Self.formatVersion)", needsUpdate: version > Self.formatVersion)
            }
            let document = try StrictJSON.decode(Document.self, from: data)
            self.init(schema: try DatasetSchema(document.dataset.value), structure: document.structure)
        } catch let error as DescriptionError {
            throw error
        } catch let error as SchemaError {
            throw DescriptionError(error.reason)
        } catch {
            throw DescriptionError(DatasetFile.explain(error))
        }
        try verify()
    }
}

/// Why a description in a zone cannot be used.
package struct DescriptionError: Error, Hashable, Sendable, CustomStringConvertible {
    package let reason: String
    /// Whether a newer program can read it.
    package let needsUpdate: Bool

    package init(_ reason: String, needsUpdate: Bool = false) { (self.reason, self.needsUpdate) = (reason, needsUpdate) }

    package var description: String { reason }
}

extension DatasetDescription {
    private func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
        guard condition else { throw DescriptionError(reason()) }
    }

    /// Checks this description by itself.
    private func verify() throws {
        let table = schema.table.folded
        try require(!table.hasPrefix("sqlite_") && !table.hasPrefix("snapsync_"), "the table name \(schema.table.debugDescription) is reserved")
        let names = structure.columns.map { $0.column.folded }
        let known = Set(names)
        try require(known.count == names.count, "one column of the table is named twice")
        let described = Set(schema.columns.map { $0.column.folded })
        // A table may be identified by its rowid, which is not one of its columns unless the primary key is another name of it.
        let isAlias = structure.primaryKey.count == 1 && structure.column(structure.primaryKey[0])?.declared == .integer
        let hidden = schema.keyIndices.count == 1 ? described.intersection([schema.keyColumns[0].column.folded]) : []
        let isHidden =
            !isAlias && !structure.withoutRowid && known.isDisjoint(with: hidden) && hidden.isSubset(of: ["rowid", "_rowid_", "oid"])
        try require(known == (isHidden ? described.subtracting(hidden) : described), "the table's columns are not the dataset's")
        func areColumns(_ columns: [String]) -> Bool { TableStructure.areDistinct(columns) && known.isSuperset(of: columns.map(\.folded)) }
        try require(areColumns(structure.primaryKey), "the primary key names a column twice, or one that is not there")
        let most = TableStructure.constraintLimit
        try require(
            structure.unique.count <= most && structure.references.count <= most, "it has more than \(most) UNIQUE constraints or foreign keys")
        for unique in structure.unique {
            try require(
                !unique.columns.isEmpty && areColumns(unique.columns) && unique.columns.count == unique.collations.count,
                "a UNIQUE constraint names a column twice, or one that is not there")
        }
        for reference in structure.references {
            try require(
                !reference.columns.isEmpty && areColumns(reference.columns) && reference.columns.count == reference.parentColumns.count,
                "a foreign key names a column twice, or one that is not there")
        }
        for column in structure.columns {
            if case .literal(let literal) = column.default, let fault = literal.fault { throw DescriptionError("a default: \(fault)") }
        }
        let rowid = structure.primaryKey.count == 1 ? structure.column(structure.primaryKey[0]) : nil
        try require(!structure.autoincrement || rowid?.declared == .integer && !structure.withoutRowid, "AUTOINCREMENT stands without an INTEGER PRIMARY KEY")
        try require(!structure.withoutRowid || !structure.primaryKey.isEmpty, "WITHOUT ROWID stands without a PRIMARY KEY")
        let strictTypes: Set<TableStructure.DeclaredType> = [.integer, .int, .text, .real, .blob, .any]
        try require(
            !structure.strict || structure.columns.allSatisfy { strictTypes.contains($0.declared) }, "a STRICT table has a column of a type that none may have")
    }

    /// Checks that descriptions can be used together, and returns them with parents before children. Tables that refer to one another in a cycle
    /// keep their order.
    ///
    /// - Throws: ``DescriptionError``.
    package static func sorted(_ descriptions: [DatasetDescription]) throws -> [DatasetDescription] {
        for (what, names) in [
            ("name", descriptions.map { $0.schema.name.folded }), ("table", descriptions.map { $0.schema.table.folded }),
            ("record name", descriptions.map { $0.schema.recordName.folded }),
        ] where Set(names).count != names.count {
            throw DescriptionError("two datasets have one \(what)")
        }
        let byName = Dictionary(uniqueKeysWithValues: descriptions.map { ($0.schema.name, $0) })
        for one in descriptions {
            for reference in one.structure.references {
                guard let parent = byName[reference.parent] else {
                    throw DescriptionError("the dataset \(one.schema.name) refers to \(reference.parent.debugDescription), which is not described")
                }
                guard reference.parentColumns.allSatisfy({ parent.structure.column($0) != nil }) else {
                    throw DescriptionError("the dataset \(one.schema.name) refers to a column that \(reference.parent) does not have")
                }
            }
        }
        var sorted: [DatasetDescription] = []
        var seen: Set<String> = []
        func visit(_ one: DatasetDescription) {
            guard seen.insert(one.schema.name).inserted else { return }
            for reference in one.structure.references { if let parent = byName[reference.parent] { visit(parent) } }
            sorted.append(one)
        }
        for one in descriptions { visit(one) }
        return sorted
    }
}

extension TableStructure {
    /// The most UNIQUE constraints of one table, and the most foreign keys: as many as it may have columns.
    package static let constraintLimit = 1000

    /// Whether no column of a constraint stands in it twice. SQLite permits that; a description does not.
    package static func areDistinct(_ columns: [String]) -> Bool { Set(columns.map(\.folded)).count == columns.count }

    /// The column with that name, in any case.
    package func column(_ name: String) -> Column? { columns.first { $0.column.folded == name.folded } }
}
