package import SnapshotModel
import StrictText

extension SnapshotIndex {
    /// Whether the asset was written with this schema: the same dataset, key, timestamp, unit and columns, in the same order.
    package func describes(_ schema: DatasetSchema) -> Bool {
        dataset == schema.name && key.elementsEqual(schema.keyColumns, by: { $0.exact == $1.name.exact })
            && timestamp?.exact == schema.timestampIndex.map { schema.columns[$0].name.exact }
            && timestampUnit == schema.timestampUnit
            && columns.elementsEqual(schema.columns) {
                $0.name.exact == $1.name.exact && $0.kind == $1.kind && $0.isOptional == $1.isOptional && $0.collation == $1.collation
            }
    }

    /// The schema reduced to the columns that the asset also has, with the same type; nil if a column of the key is not among them.
    package func sharedSchema(with schema: DatasetSchema) throws -> DatasetSchema? {
        if describes(schema) { return schema }
        let kinds = Dictionary(columns.map { ($0.name.exact, $0.kind) }, uniquingKeysWith: { first, _ in first })
        let shared = schema.columns.filter { kinds[$0.name.exact] == $0.kind }
        guard dataset == schema.name, key.elementsEqual(schema.keyColumns, by: { $0.exact == $1.name.exact }), schema.keyColumns.allSatisfy(shared.contains)
        else { return nil }
        return try schema.with(columns: shared)
    }

    /// The positions of a schema's columns that the asset does not have.
    package func missingColumns(of schema: DatasetSchema) -> [Int] {
        let described = Set(columns.map(\.name.exact))
        return schema.columns.indices.filter { !described.contains(schema.columns[$0].name.exact) }
    }

    /// The positions of columns with type `any` in the schema and another type in the asset. They are parsed by the asset's type.
    package func widenedColumns(of schema: DatasetSchema) -> [Int] {
        guard schema.columns.contains(where: { $0.kind == .any }) else { return [] }
        let kinds = Dictionary(columns.map { ($0.name.exact, $0.kind) }, uniquingKeysWith: { first, _ in first })
        return schema.columns.indices.filter { index in
            schema.columns[index].kind == .any && kinds[schema.columns[index].name.exact].map { $0 != .any } ?? false
        }
    }

    /// The schema with which the entities of the asset, and of change assets that follow it, were written: `any` columns have the asset's types.
    package func asWritten(_ schema: DatasetSchema) throws -> DatasetSchema {
        let widened = widenedColumns(of: schema)
        guard !widened.isEmpty else { return schema }
        let kinds = Dictionary(columns.map { ($0.name.exact, $0.kind) }, uniquingKeysWith: { first, _ in first })
        var all = schema.columns
        for index in widened {
            let column = all[index]
            all[index] = DatasetColumn(column.name, kinds[column.name.exact] ?? column.kind, column: column.column, isOptional: column.isOptional)
        }
        return try schema.with(columns: all)
    }

    /// Why this schema would read other values or instants from the asset than were written; nil if it would not.
    package func contradiction(of schema: DatasetSchema) -> String? {
        if let index = schema.timestampIndex, schema.columns[index].name.exact == timestamp?.exact, timestampUnit != schema.timestampUnit {
            func unit(_ unit: TimestampUnit?) -> String { unit.map { "the timestampUnit \($0.rawValue)" } ?? "no timestampUnit" }
            return "the writer's dataset file has \(unit(timestampUnit)), and this device's has \(unit(schema.timestampUnit))"
        }
        let kinds = Dictionary(columns.map { ($0.name.exact, $0.kind) }, uniquingKeysWith: { first, _ in first })
        let widened = Set(widenedColumns(of: schema))
        for (position, column) in schema.columns.enumerated() {
            guard let kind = kinds[column.name.exact], kind != column.kind, kind == .any || column.kind == .any, !widened.contains(position) else { continue }
            return
                "the column \(column.name) is of type \(kind.rawValue) in the writer's dataset file, and of type \(column.kind.rawValue) in this device's"
        }
        return nil
    }
}
