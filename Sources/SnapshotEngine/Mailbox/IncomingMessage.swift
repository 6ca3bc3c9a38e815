package import CloudStore
import LocalStore
import SnapshotFormat
package import SnapshotModel
package import StrictText

/// A message that has passed the checks: it has a known type, is complete, and is about a dataset of this device.
package struct IncomingMessage: Sendable {
    let name: CloudMessageName
    package let message: SyncUpdateMessage
    let instant: Instant
    /// The entity that the message is about; nil for `fullSync`.
    let subject: Subject?

    struct Subject: Sendable {
        let schema: DatasetSchema
        /// What messages may change in the dataset; nil if the dataset takes no edits from readers.
        let rules: MessageRules?
        let key: EntityKey
        let operation: MessageOperation
        /// The columns in the message's entity: all, or those that its sender knows.
        let entitySchema: DatasetSchema
        /// The columns that the message patches.
        let patch: RowPatch?
        /// Why the dataset takes no such message; nil if it does.
        let refusal: String?
    }

    /// Why an item in the mailbox is no message for this device.
    package struct Fault: Error {
        package let reason: String
    }

    /// The entity as one text: dataset and key.
    var entity: String? { subject.map { InboxEntry.entity($0.key, of: $0.schema) } }

    /// Whether it deletes a row that rows of other messages may refer to. If no message adds rows to a dataset, nothing refers to its rows.
    var isDeletionOfRow: Bool { subject?.operation == .delete && subject?.rules?.rows == true }

    /// How far a message may be ahead of this device's clock, in microseconds: a day.
    private static let clockTolerance: Int64 = 86_400_000_000

    /// Reads a message.
    ///
    /// - Parameters:
    ///   - datasets: the device's datasets; nil if they are unknown, in which case only the message's form is checked.
    ///   - removed: the JSON names of columns that were taken out of the datasets, by dataset name. A reader that has not heard of it yet sends them
    ///     all the same. They are left out of the row.
    /// - Throws: ``Fault``.
    package init(_ found: CloudMessage, datasets: [DatasetSchema]?, removed: [String: Set<ExactText>] = [:], now: Instant) throws {
        name = CloudMessageName(sender: found.sender, id: found.id)
        guard let message = try? StrictJSON.decode(SyncUpdateMessage.self, from: found.body) else {
            throw Fault(reason: "it is of a type that this version does not know, or lacks a field")
        }
        guard message.id == found.id, message.sender == found.sender else { throw Fault(reason: "its body says another id or sender than its envelope") }
        guard let instant = try? Instant(parsing: message.timestamp) else { throw Fault(reason: "its timestamp is not an RFC 3339 date and time") }
        guard instant.microseconds <= now.microseconds + Self.clockTolerance else {
            throw Fault(reason: "its timestamp is more than a day ahead of this device's clock")
        }
        self.message = message
        self.instant = instant
        guard let datasets, let operation = message.type.operation else {
            subject = nil
            return
        }
        subject = try Self.subject(of: message, operation, datasets, removed)
    }

    private static func subject(
        of message: SyncUpdateMessage, _ operation: MessageOperation, _ datasets: [DatasetSchema], _ removed: [String: Set<ExactText>]
    ) throws -> Subject {
        let named = message.type.dataset
        guard named == nil || message.dataset == nil || message.dataset == named else {
            throw Fault(reason: "its type is not one of the dataset that it names")
        }
        guard let dataset = named ?? message.dataset else { throw Fault(reason: "it names no dataset") }
        // A built-in message type does not apply to another kind of table that happens to have the dataset's name.
        guard let schema = datasets.first(where: { $0.name == dataset }), named == nil || schema.takesBuiltInMessages else {
            throw Fault(reason: "this device has no dataset \(dataset) that messages can be about")
        }
        guard let key = message.key else { throw Fault(reason: "it names no entity") }
        guard schema.keyShape.holds(key), named == nil || key.text?.isEmpty == false else {
            let isNone = key.text.map(\.isEmpty) == true || key.byteCount > FormatLimits.keyBytes
            throw Fault(reason: isNone ? "it names no entity" : "its key is not one of the dataset")
        }
        let removed = removed[schema.name] ?? []
        let entitySchema = try self.entitySchema(of: message, schema, removed)
        if operation == .put { try check(message.entity, key, entitySchema, removed) }
        let rules = schema.messageRules
        let patch = operation == .patch && rules != nil ? try RowPatch(message, schema) : nil
        let isAllowed =
            switch operation {
            case .put: rules?.rows == true
            case .delete: rules?.deletes == true
            case .patch: patch.map { $0.changes.keys.allSatisfy { rules?.patched.contains($0) == true } } ?? false
            }
        return Subject(
            schema: schema, rules: rules, key: key, operation: operation, entitySchema: entitySchema, patch: patch,
            refusal: isAllowed ? nil : "the dataset \(schema.name) takes no such edits from readers")
    }

    /// Returns the schema with only the columns that the sender of a row knows.
    private static func entitySchema(of message: SyncUpdateMessage, _ schema: DatasetSchema, _ removed: Set<ExactText>) throws -> DatasetSchema {
        guard message.type.operation == .put, let names = message.columns else { return schema }
        let wanted = Set(names.map(\.exact)).subtracting(removed), columns = schema.columns.filter { wanted.contains($0.name.exact) }
        guard columns.count == wanted.count else {
            throw Fault(reason: "its row has columns that this device does not know; update the dataset file or snapsync here")
        }
        if columns.count == schema.columns.count { return schema }
        do {
            return try schema.with(columns: columns)
        } catch let error as SchemaError {
            throw Fault(reason: "its row is not one of the dataset: \(error.reason)")
        }
    }

    private static func check(_ entity: String?, _ key: EntityKey, _ schema: DatasetSchema, _ removed: Set<ExactText>) throws {
        let row = schema.messageRules?.vocabulary == .buckets ? "bucket" : "row"
        guard let entity else { throw Fault(reason: "it lacks the \(row)") }
        let copies = EntityCopies(schema: schema)
        do {
            let unknown = try EntityDocument.give(entity, of: schema, to: copies).filter { !removed.contains($0.exact) }
            guard unknown.isEmpty else { throw Fault(reason: "its \(row) has fields that this device does not know; update the dataset file or snapsync here") }
        } catch let error as FormatError {
            throw Fault(reason: "its \(row) is not one of the dataset: \(error.reason)")
        }
        guard copies.copies[key] != nil else { throw Fault(reason: "its \(row) is another than the one that it names") }
    }
}

extension IncomingMessage.Subject {
    /// Gives the row that results from a message's entity. Columns that the sender does not know stay as they are.
    ///
    /// - Parameter row: gives the present row; nil if there is none.
    func give(_ entity: String, over row: ((any EntitySink) throws -> Void)?, to sink: any EntitySink) throws {
        guard let row, entitySchema != schema else {
            // Without a present row, the unknown columns have no values, so a sink of the whole schema cannot take the entity.
            guard entitySchema == schema else { return }
            return _ = try EntityDocument.give(entity, of: schema, to: sink)
        }
        let copies = EntityCopies(schema: entitySchema, masking: Array(entitySchema.columns.indices).filter { !entitySchema.keyIndices.contains($0) })
        try EntityDocument.give(entity, of: entitySchema, to: copies)
        var values: [Int: OwnedValue] = [:]
        for (index, value) in copies.copies[key]?.values ?? [:] {
            if let position = schema.columns.firstIndex(where: { $0.name.exact == entitySchema.columns[index].name.exact }) { values[position] = value }
        }
        try row(OverlayingSink(sink, setting: values))
    }
}
