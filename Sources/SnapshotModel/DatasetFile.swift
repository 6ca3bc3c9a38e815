package import Foundation
import StrictText

/// The file that describes datasets, as JSON.
///
/// ```json
/// {"formatVersion": 1, "datasets": [
///   {"name": "readings", "table": "sensor_readings", "key": "id", "timestamp": "changed",
///    "columns": [{"name": "id"}, {"name": "changed", "column": "changed_at"}, {"name": "value"},
///                {"name": "tags", "type": "json", "optional": true}]}]}
/// ```
///
/// `key` is a name, or an array of names for a key of several columns. `column` is the name in the table if it differs from `name`. Optional are
/// `collation` of a column of the key, `type` (a ``ColumnShape``) with `optional`, and `timestampUnit`, `recordType`, `recordName`, `merge`, `triggers`, `messages`, `together` and `quiet`
/// of a dataset.
/// Unknown keys are refused, because a misspelt key must not be ignored. Source: docs/datasets.md.
package enum DatasetFile {
    /// The format of dataset files that this program reads and writes.
    package static let formatVersion = 1

    /// Reads a dataset file.
    ///
    /// - Throws: `JSONFault`, `DecodingError` or ``SchemaError``.
    package static func decode(_ data: Data) throws -> [DatasetSchema] { try schemas(of: StrictJSON.decode(ClosedObject.self, from: data).value) }

    /// Reads the text of a dataset file that a database stores.
    package static func decode(_ text: String) throws -> [DatasetSchema] { try schemas(of: StrictJSON.decode(ClosedObject.self, from: text).value) }

    private static func schemas(of document: Document) throws -> [DatasetSchema] {
        guard document.formatVersion == formatVersion else {
            throw SchemaError(dataset: "", reason: "the dataset file has formatVersion \(document.formatVersion), this program knows \(formatVersion)")
        }
        guard !document.datasets.isEmpty else { throw SchemaError(dataset: "", reason: "the dataset file describes no dataset") }
        let schemas = try document.datasets.map { try DatasetSchema($0.value) }
        for (what, names) in [
            ("name", schemas.map(\.name.exact)), ("table", schemas.map(\.table.folded)), ("record name", schemas.map(\.recordName.exact)),
        ] where Set(names).count != names.count {
            throw SchemaError(dataset: "", reason: "two datasets have one \(what)")
        }
        return schemas
    }

    /// Writes schemas as a dataset file that ``decode(_:)`` reads back.
    package static func encode(_ schemas: [DatasetSchema]) throws -> Data {
        try StrictJSON.encode(Document(schemas))
    }

    /// Encodes schemas as part of a larger document.
    package static func encode(_ schemas: [DatasetSchema], to encoder: any Encoder) throws {
        try Document(schemas).encode(to: encoder)
    }

    private struct Document: Codable {
        let formatVersion: Int
        let datasets: [ClosedObject<Dataset>]

        init(_ schemas: [DatasetSchema]) { (formatVersion, datasets) = (DatasetFile.formatVersion, schemas.map { ClosedObject(Dataset($0)) }) }
    }

    /// What a file says of a dataset, not checked yet. The properties are in the order in which ``text(_:)`` writes them.
    package struct Dataset: Codable {
        package var name: String
        package var table: String?
        let key: KeyNames
        package var timestamp: String?
        package var timestampUnit: TimestampUnit?
        package var recordType: String?
        package var recordName: String?
        package var merge: MergePolicy?
        package var triggers: TriggerPolicy?
        package var messages: MessagePolicy?
        var together: ColumnMerging.Together?
        var quiet: [String]?
        var columns: [ClosedObject<Column>]

        var described: [DatasetColumn] {
            get { columns.map(\.value.described) }
            set { columns = newValue.map { ClosedObject(Column($0)) } }
        }

        package mutating func setMerging(_ merging: ColumnMerging) {
            together = merging.together == .groups([]) ? nil : merging.together
            quiet = merging.quiet
        }
    }

    /// The JSON names of the key's columns: a string, or an array of strings.
    struct KeyNames: Codable {
        let names: [String]

        init(_ names: [String]) { self.names = names }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let name = try? container.decode(String.self) {
                names = [name]
            } else if let list = try? container.decode([String].self) {
                names = list
            } else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "a string or an array of strings is expected")
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if names.count == 1 { try container.encode(names[0]) } else { try container.encode(names) }
        }
    }

    struct Column: Codable {
        let name: String
        let type: ColumnShape?
        let column: String?
        let collation: KeyCollation?
        let optional: Bool?

        init(_ column: DatasetColumn) {
            name = column.name
            type = column.shape
            self.column = column.column.exact == column.name.exact ? nil : column.column
            collation = column.collation == .binary ? nil : column.collation
            optional = column.shape != nil && column.isOptional ? true : nil
        }

        var described: DatasetColumn { DatasetColumn(name, type, column: column, isOptional: optional ?? false, collation: collation ?? .binary) }
    }
}

extension DatasetFile.Dataset {
    init(_ schema: DatasetSchema) {
        self.init(
            name: schema.name, table: schema.table, key: DatasetFile.KeyNames(schema.keyColumns.map(\.name)), timestamp: schema.timestamp,
            timestampUnit: schema.timestampUnit, recordType: schema.recordType, recordName: schema.recordName,
            merge: schema.merge == .replace ? nil : schema.merge, triggers: schema.triggers == .fire ? nil : schema.triggers,
            messages: schema.statedMessages, columns: [])
        setMerging(schema.merging)
        described = schema.columns
    }
}

/// An object in which a key is refused that its type does not have, because a misspelt key must not be ignored.
struct ClosedObject<Value: Codable>: Codable {
    let value: Value

    init(_ value: Value) { self.value = value }

    init(from decoder: any Decoder) throws {
        value = try Value(from: decoder)
        try AnyKey.refuseUnknown(in: decoder, known: Set(Mirror(reflecting: value).children.compactMap { $0.label?.exact }))
    }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// A type of names. The error for any other text lists all of them.
package protocol NameInFile: Codable, CaseIterable, RawRepresentable where RawValue == String {}

extension NameInFile {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer(), text = try container.decode(String.self)
        guard let value = Self(rawValue: text) else {
            let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text.prefix(64).debugDescription) is not known; known are \(known)")
        }
        self = value
    }
}

extension DatasetFile {
    /// Explains in words why a dataset file cannot be read.
    package static func explain(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let (path, reason): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context): (context.codingPath, "the key \"\(key.stringValue)\" is missing")
            case .typeMismatch(let type, let context): (context.codingPath, "\(words(for: type)) is expected")
            case .valueNotFound(let type, let context): (context.codingPath, "\(words(for: type)) is expected, not null")
            case .dataCorrupted(let context):
                (
                    context.codingPath,
                    isSwiftsOwn(context.debugDescription) ? "the value is not one of those that are known, or does not fit" : context.debugDescription
                )
            @unknown default: ([], "a value cannot be read")
            }
        let place = path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
        return "\(place.isEmpty ? "the document" : String(place.drop { $0 == "." })): \(reason)"
    }
}

extension DatasetFile {
    /// The JSON name of a Swift type.
    private static func words(for type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "an integer"
        case is any BinaryFloatingPoint.Type: "a number"
        default: "\(type)".exact.hasPrefix("Array") ? "an array" : "an object"
        }
    }

    /// Whether Swift's library wrote a decoding error's text, in its own terms.
    private static func isSwiftsOwn(_ text: String) -> Bool {
        ["Cannot initialize", "Parsed JSON number", "Number ", "The given data", "Unable to"].contains(where: text.exact.hasPrefix)
    }
}

extension DatasetFile {
    /// A dataset file for people: the fields in the order of docs/datasets.md, one line for each column, without default values.
    package static func text(_ schemas: [DatasetSchema]) -> String {
        let datasets = schemas.map { schema -> String in
            var draft = Dataset(schema), standard = draft
            (standard.recordType, standard.recordName) = (nil, nil)
            if schema.table.exact == schema.name.exact { draft.table = nil }
            if let standard = try? DatasetSchema(standard) {
                if standard.recordType == schema.recordType { draft.recordType = nil }
                if standard.recordName == schema.recordName { draft.recordName = nil }
            }
            return "  {" + members(draft) + ", \"columns\": [\n" + draft.columns.map { "    {" + members($0.value) + "}" }.joined(separator: ",\n") + "]}"
        }
        return "{\"formatVersion\": \(formatVersion), \"datasets\": [\n" + datasets.joined(separator: ",\n") + "]}\n"
    }

    /// The members that have a value, except the columns.
    private static func members(_ value: Any) -> String {
        Mirror(reflecting: value).children.compactMap { label, value in
            guard let label, label != "columns", let value = value as? any Encodable, let text = try? StrictJSON.text(value), text != "null" else { return nil }
            return "\"\(label)\": \(text)"
        }.joined(separator: ", ")
    }
}
