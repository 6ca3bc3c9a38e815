import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// A message's change of some columns of one row, each from the value that the sender saw to a new value. It is applied whole or not at all.
struct RowPatch: Sendable, Hashable {
    struct Change: Sendable, Hashable {
        let new: OwnedValue
        /// The value that the sender saw; nil if the sender did not know it.
        let seen: OwnedValue?
    }

    /// The changes by the columns' positions in the schema.
    let changes: [Int: Change]
    /// The message's id.
    let id: String?
    let instant: Instant
    /// The instant as text, as the message has it.
    let timestamp: String

    /// Reads a message's patch; nil if it has none for this schema.
    ///
    /// - Throws: ``IncomingMessage/Fault`` if the patch cannot be read.
    init?(_ message: SyncUpdateMessage, _ schema: DatasetSchema) throws {
        guard message.type.operation == .patch, let rules = schema.messageRules else { return nil }
        if message.type == .notificationRead {
            guard let column = rules.patched.first(where: { schema.columns[$0].name == MarkColumn.name }) else { return nil }
            changes = [column: Change(new: OwnedValue(message.newReadAt), seen: OwnedValue(message.basedOnReadAt))]
        } else {
            let columns = try (message.columns ?? []).map { name in
                guard let index = schema.columns.firstIndex(where: { $0.name.exact == name.exact }) else {
                    throw IncomingMessage.Fault(reason: "it changes the column \(name.debugDescription), which this device does not know")
                }
                return index
            }
            let new = try Self.values(message.entity, columns, schema), seen = try message.basedOn.map { try Self.values($0, columns, schema) }
            var changes: [Int: Change] = [:]
            for index in columns { changes[index] = Change(new: new[index] ?? .null, seen: seen.map { $0[index] ?? .null }) }
            self.changes = changes
        }
        id = message.id
        instant = (try? Instant(parsing: message.timestamp)) ?? .distantPast
        timestamp = message.timestamp
    }

    /// Returns the schema in which a patch of some columns is written: the key and those columns.
    static func schema(_ columns: [Int], of schema: DatasetSchema) throws -> DatasetSchema {
        try schema.with(columns: schema.columns.indices.filter { columns.contains($0) || schema.keyIndices.contains($0) }.map { schema.columns[$0] })
    }

    /// Reads the values of some columns from a partial row.
    static func values(_ entity: String?, _ columns: [Int], _ schema: DatasetSchema) throws -> [Int: OwnedValue] {
        guard let entity else { throw IncomingMessage.Fault(reason: "it lacks the new values") }
        do {
            let part = try self.schema(columns, of: schema)
            let sink = EntityCopies(schema: part, masking: part.columns.indices.filter { !part.keyIndices.contains($0) })
            guard try EntityDocument.give(entity, of: part, to: sink).isEmpty, let copy = sink.copies.values.first else {
                throw IncomingMessage.Fault(reason: "its values are of columns that it does not name")
            }
            var values: [Int: OwnedValue] = [:]
            for (index, value) in copy.values {
                if let position = schema.columns.firstIndex(where: { $0.name.exact == part.columns[index].name.exact }) { values[position] = value }
            }
            return values
        } catch let error as FormatError {
            throw IncomingMessage.Fault(reason: "its values are not those of a row: \(error.reason)")
        } catch let error as SchemaError {
            throw IncomingMessage.Fault(reason: error.reason)
        }
    }
}

extension RowPatch {
    /// Applies patches in turn to a row's columns. Returns the resulting values and the last patch that changed something; nil if none did.
    ///
    /// A patch is applied if each of its columns still has the value that the sender saw, or if the patch is later than the row.
    static func outcome(of patches: [RowPatch], on values: [Int: OwnedValue], at instant: Instant) -> (values: [Int: OwnedValue], last: RowPatch?) {
        var (values, instant, last) = (values, instant, nil as RowPatch?)
        for patch in patches {
            let open = patch.changes.filter { values[$0.key] != $0.value.new }
            guard !open.isEmpty, patch.instant > instant || open.allSatisfy({ $0.value.seen != nil && values[$0.key] == $0.value.seen }) else { continue }
            for (index, change) in open { values[index] = change.new }
            (instant, last) = (max(patch.instant, instant.advanced(byMicroseconds: instant == .distantPast ? 0 : 1)), patch)
        }
        return (values, last)
    }

    /// Returns the values that a patch sets: the columns, and the timestamp if the patch is later.
    ///
    /// - Parameter row: the row before.
    func settings(_ values: [Int: OwnedValue], in schema: DatasetSchema, over row: EntityCopy) -> [Int: OwnedValue] {
        var settings = values
        guard let index = schema.timestampIndex, row.state.timestamp.map({ $0 < instant }) ?? true else { return settings }
        settings[index] = schema.timestampUnit.map { OwnedValue($0.value(of: instant, replacing: row.values[index])) } ?? OwnedValue(self.timestamp)
        return settings
    }
}

/// The column that ``SyncUpdateMessage/UpdateType/notificationRead`` changes. The message type implies its name.
private enum MarkColumn {
    static let name = "readAt"
}

/// Passes on entities with other values in some columns.
final class OverlayingSink: EntitySink {
    private let sink: any EntitySink
    private let values: [(index: Int, value: OwnedValue)]

    init(_ sink: any EntitySink, setting values: [Int: OwnedValue]) {
        self.sink = sink
        self.values = values.map { ($0.key, $0.value) }
    }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        var all = Array(values)
        try lend(self.values[...], &all)
    }

    private func lend(_ rest: ArraySlice<(index: Int, value: OwnedValue)>, _ all: inout [ColumnValue]) throws {
        guard let first = rest.first else { return try all.withUnsafeBufferPointer { try sink.take($0) } }
        try first.value.withColumnValue { value in
            all[first.index] = value
            try lend(rest.dropFirst(), &all)
        }
    }
}
