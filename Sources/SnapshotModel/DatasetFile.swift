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
    package static func decode(_ data: Data) throws -> [DatasetSchema] { try schemas(of: StrictJSON.decode(Document.self, from: data)) }

    /// Reads the text of a dataset file that a database stores.
    package static func decode(_ text: String) throws -> [DatasetSchema] { try schemas(of: StrictJSON.decode(Document.self, from: text)) }

    private static func schemas(of document: Document) throws -> [DatasetSchema] {
        guard document.formatVersion == formatVersion else {
            throw SchemaError(dataset: "", reason: "the dataset file has formatVersion \(document.formatVersion), this program knows \(formatVersion)")
        }
        guard !document.datasets.isEmpty else { throw SchemaError(dataset: "", reason: "the dataset file describes no dataset") }
        let schemas = try document.datasets.map { try $0.schema() }
        for (what, names) in [
            ("name", schemas.map(\.name.exact)), ("table", schemas.map(\.table.folded)), ("record name", schemas.map(\.recordName.exact)),
        ] where Set(names).count != names.count {
            throw SchemaError(dataset: "", reason: "two datasets have one \(what)")
        }
        return schemas
    }

    /// Writes schemas as a dataset file that ``decode(_:)`` reads back.
    package static func encode(_ schemas: [DatasetSchema]) throws -> Data {
        try StrictJSON.encode(Document(formatVersion: formatVersion, datasets: schemas.map(Dataset.init)))
    }

    /// Encodes schemas as part of a larger document.
    package static func encode(_ schemas: [DatasetSchema], to encoder: any Encoder) throws {
        try Document(formatVersion: formatVersion, datasets: schemas.map(Dataset.init)).encode(to: encoder)
    }

    struct Document: Codable {
        let formatVersion: Int
        let datasets: [Dataset]

        init(formatVersion: Int, datasets: [Dataset]) { (self.formatVersion, self.datasets) = (formatVersion, datasets) }

        init(from decoder: any Decoder) throws {
            try AnyKey.refuseUnknown(in: decoder, known: ["formatVersion", "datasets"])
            let container = try decoder.container(keyedBy: CodingKeys.self)
            formatVersion = try container.decode(Int.self, forKey: .formatVersion)
            datasets = try container.decode([Dataset].self, forKey: .datasets)
        }
    }

    struct Dataset: Codable {
        let name: String
        let table: String
        let key: KeyNames
        let timestamp: String?
        let timestampUnit: TimestampUnit?
        let recordType: String?
        let recordName: String?
        let merge: MergePolicy?
        let triggers: TriggerPolicy?
        let messages: MessagePolicy?
        let together: ColumnMerging.Together?
        let quiet: [String]?
        let columns: [Column]

        init(_ schema: DatasetSchema) {
            name = schema.name
            table = schema.table
            key = KeyNames(schema.keyColumns.map(\.name))
            timestamp = schema.timestampIndex.map { schema.columns[$0].name }
            timestampUnit = schema.timestampUnit
            recordType = schema.recordType
            recordName = schema.recordName
            merge = schema.merge == .replace ? nil : schema.merge
            triggers = schema.triggers == .fire ? nil : schema.triggers
            messages = schema.statedMessages
            together = schema.merging.together == .groups([]) ? nil : schema.merging.together
            quiet = schema.merging.quiet
            columns = schema.columns.map(Column.init)
        }

        init(from decoder: any Decoder) throws {
            try AnyKey.refuseUnknown(
                in: decoder,
                known: [
                    "name", "table", "key", "timestamp", "timestampUnit", "recordType", "recordName", "merge", "triggers", "messages", "together", "quiet",
                    "columns",
                ])
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            table = try container.decodeIfPresent(String.self, forKey: .table) ?? name
            key = try container.decode(KeyNames.self, forKey: .key)
            timestamp = try container.decodeIfPresent(String.self, forKey: .timestamp)
            timestampUnit = try container.decodeIfPresent(String.self, forKey: .timestampUnit) == nil ? nil : container.decodeName(forKey: .timestampUnit)
            recordType = try container.decodeIfPresent(String.self, forKey: .recordType)
            recordName = try container.decodeIfPresent(String.self, forKey: .recordName)
            merge = try container.decodeIfPresent(String.self, forKey: .merge) == nil ? nil : container.decodeName(forKey: .merge)
            triggers = try container.decodeIfPresent(String.self, forKey: .triggers) == nil ? nil : container.decodeName(forKey: .triggers)
            messages = try container.decodeIfPresent(MessagePolicy.self, forKey: .messages)
            together = try container.decodeIfPresent(ColumnMerging.Together.self, forKey: .together)
            quiet = try container.decodeIfPresent([String].self, forKey: .quiet)
            columns = try container.decode([Column].self, forKey: .columns)
        }

        func schema() throws -> DatasetSchema {
            try DatasetSchema(
                name: name, table: table, keys: key.names, timestamp: timestamp,
                columns: columns.map {
                    DatasetColumn($0.name, $0.type, column: $0.column, isOptional: $0.optional ?? false, collation: $0.collation ?? .binary)
                },
                recordType: recordType, recordName: recordName, merge: merge ?? .replace, triggers: triggers ?? .fire,
                timestampUnit: timestampUnit, messages: messages,
                merging: ColumnMerging(together: together ?? .groups([]), quiet: quiet))
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
        let optional: Bool?
        let collation: KeyCollation?

        init(_ column: DatasetColumn) {
            name = column.name
            type = column.shape
            self.column = column.column.exact == column.name.exact ? nil : column.column
            optional = column.shape != nil && column.isOptional ? true : nil
            collation = column.collation == .binary ? nil : column.collation
        }

        init(from decoder: any Decoder) throws {
            try AnyKey.refuseUnknown(in: decoder, known: ["name", "type", "column", "optional", "collation"])
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            type = try container.decodeIfPresent(String.self, forKey: .type) == nil ? nil : container.decodeName(forKey: .type)
            column = try container.decodeIfPresent(String.self, forKey: .column)
            optional = try container.decodeIfPresent(Bool.self, forKey: .optional)
            collation = try container.decodeIfPresent(String.self, forKey: .collation) == nil ? nil : container.decodeName(forKey: .collation)
        }
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

extension KeyedDecodingContainer {
    /// Decodes one of a type's names. The error for any other text lists all of them.
    fileprivate func decodeName<T: RawRepresentable<String> & CaseIterable>(_ type: T.Type = T.self, forKey key: Key) throws -> T {
        let text = try decode(String.self, forKey: key)
        if let value = T(rawValue: text) { return value }
        let known = T.allCases.map(\.rawValue).joined(separator: ", ")
        throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "\(text.prefix(64).debugDescription) is not known; known are \(known)")
    }
}

extension DatasetFile {
    /// A dataset file for people: the fields in the order of docs/datasets.md, one line for each column, without default values.
    package static func text(_ schemas: [DatasetSchema]) -> String {
        let datasets = schemas.map { schema -> String in
            let standard = try? DatasetSchema(
                name: schema.name, table: schema.table, keys: schema.keyColumns.map(\.name), timestamp: nil, columns: schema.columns)
            var fields = [("name", quoted(schema.name))]
            if schema.table.exact != schema.name.exact { fields.append(("table", quoted(schema.table))) }
            let keys = schema.keyColumns.map { quoted($0.name) }
            fields.append(("key", keys.count == 1 ? keys[0] : "[" + keys.joined(separator: ", ") + "]"))
            if let index = schema.timestampIndex { fields.append(("timestamp", quoted(schema.columns[index].name))) }
            if let unit = schema.timestampUnit { fields.append(("timestampUnit", quoted(unit.rawValue))) }
            if schema.recordType != standard?.recordType { fields.append(("recordType", quoted(schema.recordType))) }
            if schema.recordName != standard?.recordName { fields.append(("recordName", quoted(schema.recordName))) }
            if schema.merge != .replace { fields.append(("merge", quoted(schema.merge.rawValue))) }
            if schema.triggers != .fire { fields.append(("triggers", quoted(schema.triggers.rawValue))) }
            if let messages = schema.statedMessages.flatMap({ try? StrictJSON.encode($0) }) {
                fields.append(("messages", String(decoding: messages, as: UTF8.self)))
            }
            let together = schema.merging.together == .groups([]) ? nil : try? StrictJSON.encode(schema.merging.together)
            if let together { fields.append(("together", String(decoding: together, as: UTF8.self))) }
            if let quiet = schema.merging.quiet.flatMap({ try? StrictJSON.encode($0) }) { fields.append(("quiet", String(decoding: quiet, as: UTF8.self))) }
            let columns = schema.columns.map { column in
                var fields = [("name", quoted(column.name))]
                if let shape = column.shape { fields.append(("type", quoted(shape.rawValue))) }
                if column.column.exact != column.name.exact { fields.append(("column", quoted(column.column))) }
                if column.collation != .binary { fields.append(("collation", quoted(column.collation.rawValue))) }
                if column.shape != nil, column.isOptional { fields.append(("optional", "true")) }
                return "    {" + members(fields) + "}"
            }
            return "  {" + members(fields) + ", \"columns\": [\n" + columns.joined(separator: ",\n") + "]}"
        }
        return "{\"formatVersion\": \(formatVersion), \"datasets\": [\n" + datasets.joined(separator: ",\n") + "]}\n"
    }

    private static func members(_ fields: [(String, String)]) -> String { fields.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") }

    private static func quoted(_ text: String) -> String { (try? StrictJSON.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\"" }
}
