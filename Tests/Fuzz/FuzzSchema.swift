import SnapshotFormat
import SnapshotModel

/// The schemas that inputs are read with: the built-in ones, and one with every kind of column.
enum FuzzSchema {
    static let everyKind = make(key: .text, name: "things")
    static let integerKey = make(key: .integer, name: "numbers")
    private static let labelled = [DatasetSchema.notifications, .buckets, integerKey].map { (Array("\"\($0.name)\":[".utf8), $0) }

    /// The schema of the dataset whose name stands first in a container's text.
    static func named(in text: UnsafeRawBufferPointer) -> DatasetSchema {
        let head = text.prefix(120)
        for start in head.indices where head[start] == UInt8(ascii: "\"") {
            if let found = labelled.first(where: { head[start...].starts(with: $0.0) }) { return found.1 }
        }
        return everyKind
    }

    private static func make(key: ColumnShape, name: String) -> DatasetSchema {
        do {
            return try DatasetSchema(
                name: name, table: name, keys: ["id"], timestamp: "updatedAt",
                columns: [
                    DatasetColumn("flag", .boolean, isOptional: true), DatasetColumn("id", key), DatasetColumn("updatedAt", .text),
                    DatasetColumn("n", .integer), DatasetColumn("x", .real, isOptional: true), DatasetColumn("tree", .json),
                    DatasetColumn("bytes", .blob, isOptional: true), DatasetColumn("any"),
                ])
        } catch {
            preconditionFailure("the schema breaks a rule: \(error)")
        }
    }
}

/// Takes entities and makes their canonical JSON, a line each.
final class CanonicalText: EntitySink {
    private let schema: DatasetSchema
    private(set) var lines: [[UInt8]] = []

    init(_ schema: DatasetSchema) { self.schema = schema }

    func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        let text = EntityText(schema: schema)
        try text.receive(values)
        lines.append(Array(text.bytes))
    }
}
