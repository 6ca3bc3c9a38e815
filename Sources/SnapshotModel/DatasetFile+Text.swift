import Foundation
import StrictText

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
