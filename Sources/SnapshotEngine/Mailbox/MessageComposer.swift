import CloudStore
import Foundation
import LocalStore
import Logging
import SnapshotFormat
import Sealing
import SnapshotModel
import SnapshotVersions
import StrictText

/// Composes messages about a reader's local changes, and stores them in the database. Sending comes later.
///
/// It compares each row with the applied version's entity. Each tracked change becomes one message; a later edit is another change.
struct MessageComposer: Sendable {
    let device: SyncContext

    /// The number of changes to compare at once.
    private static let batch = 4096

    /// Composes what is possible before an import applies another version. If the applied version can no longer be read, the import continues
    /// nevertheless; marks are then composed without it.
    ///
    /// - Returns: why not all changes were compared, as a sentence; nil if they were.
    /// - Throws: errors that somebody must fix: a database or a directory that cannot be read.
    func runIfPossible() async throws -> String? {
        do {
            try await run()
            return nil
        } catch let error as SyncError where [.nothingThere, .dataRefused, .tryAgainLater].contains(error.code) {
            try forgetPassing()
            try composeMarks()
            return
                "changes made here could not be compared with the version that was applied last (\(error.place): \(error.reason)); messages about them are written after the next import"
        }
    }

    /// Forgets entities that were inserted and deleted again, if the log alone shows this.
    private func forgetPassing() throws {
        try device.database.write(at: .read) { transaction in
            guard try transaction.state.view() == nil else { return }
            try transaction.changeLog.consolidate(of: device.settings.datasets)
            for schema in device.settings.datasets { try transaction.outbox.forgetPassing(of: schema) }
        }
    }

    /// Composes messages for changes that are only marks, according to the log.
    ///
    /// The version's value in the column is unknown, so the later change wins. If a mark column has a value now, its earlier value counts as empty
    /// unless an earlier message says otherwise. If it is empty now, its earlier value counts as marked at an unknown time.
    private func composeMarks() throws {
        for schema in device.settings.datasets {
            // With several columns it is unknown which one was changed.
            guard let rules = schema.messageRules, rules.patched.count == 1, let column = rules.patched.first else { continue }
            var last: EntityKey?
            repeat {
                last = try SyncError.at(.read) { [last] in
                    try device.database.write { transaction in
                        guard try transaction.state.view() == nil, let version = try transaction.state.applied() else { return nil }
                        try transaction.mailbox.prepare()
                        try transaction.changeLog.consolidate(of: device.settings.datasets)
                        let changes = try unsent(of: schema, version, in: transaction, after: last, limit: Self.batch)
                        let rows = EntityCopies(schema: schema, masking: rules.ownColumns)
                        for change in changes where change.isMark && !change.isDeletion {
                            try transaction.rows.giveRow(change.key, of: schema, to: rows)
                            guard let row = rows.copies[change.key] else { continue }
                            let new = row.values[column] ?? .null
                            let told = try sent(about: change, schema, in: transaction).compactMap { try? RowPatch($0, schema) }.last?.changes[column]?.new
                            let seen = told.flatMap { $0 == .null ? nil : $0 } ?? (schema.markColumns.isEmpty ? nil : new == .null ? OwnedValue("") : .null)
                            try write(.patch([column: .init(new: new, seen: seen)], coversAll: true), of: change, schema, rules, version, in: transaction)
                        }
                        return changes.last?.key
                    }
                }
            } while last != nil
        }
    }

    /// Whether a change was tracked since the last comparison. The log must have been consolidated.
    func hasUnsent(in transaction: LocalTransaction) throws -> Bool {
        guard device.settings.role == .reader, try transaction.state.view() == nil, let version = try transaction.state.applied() else { return false }
        return try device.settings.datasets.contains { try $0.messageRules != nil && !unsent(of: $0, version, in: transaction, after: nil, limit: 1).isEmpty }
    }

    /// Composes messages for all changes that have none. If one dataset's version cannot be read, the other datasets are still processed.
    func run() async throws {
        guard device.settings.role == .reader else { return }
        let schemas = device.settings.datasets.filter { $0.messageRules != nil }
        let (version, hasWork) = try device.database.read(at: .read) { transaction in
            // The rows of a view are not an applied version plus changes.
            guard try transaction.state.view() == nil, let version = try transaction.state.applied() else { return (nil as AppliedVersion?, false) }
            let hasWork =
                try transaction.changeLog.hasEntries(device.settings.datasets)
                || schemas.contains { try !unsent(of: $0, version, in: transaction, after: nil, limit: 1).isEmpty }
                || device.settings.datasets.contains { try $0.messageRules == nil && !transaction.outbox.deletionsInDoubt(of: $0, limit: 1).isEmpty }
            return (version, hasWork)
        }
        guard let version, hasWork else { return }
        try device.database.write(at: .read) { try $0.changeLog.consolidate(of: device.settings.datasets) }
        var failure: (any Error)?
        for schema in device.settings.datasets {
            do {
                if schema.messageRules == nil {
                    try await forgetPassing(schema, comparedWith: version)
                } else {
                    try await compose(schema, comparedWith: version)
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func compose(_ schema: DatasetSchema, comparedWith version: AppliedVersion) async throws {
        guard let rules = schema.messageRules else { return }
        var last: EntityKey?
        while true {
            let changes = try SyncError.at(.read) { [last] in
                try device.database.read { try unsent(of: schema, version, in: $0, after: last, limit: Self.batch) }
            }
            guard let final = changes.last else { return }
            let base = try await copies(of: changes.map(\.key), schema, in: version, masking: rules.ownColumns)
            try SyncError.at(.read) {
                try device.database.withoutRollbacks { try device.database.write { try compose(changes, schema, rules, base, version, in: $0) } }
            }
            last = final.key
        }
    }

    /// In a dataset without messages, forgets entities that were inserted and deleted since the version: nothing of them is left.
    private func forgetPassing(_ schema: DatasetSchema, comparedWith version: AppliedVersion) async throws {
        while true {
            let changes = try device.database.read(at: .read) { try $0.outbox.deletionsInDoubt(of: schema, limit: Self.batch) }
            guard !changes.isEmpty else { return }
            let base = try await copies(of: changes.map(\.key), schema, in: version, masking: [])
            let isCurrent = try device.database.write(at: .read) { transaction in
                guard try transaction.state.applied() == version, try transaction.state.view() == nil else { return false }
                for change in changes where try transaction.outbox.isTracked(change, of: schema) {
                    if base[change.key] == nil {
                        try transaction.outbox.forget(change, of: schema)
                    } else {
                        try transaction.merge.outlive(of: change.key, in: schema, isNew: false)
                    }
                }
                return true
            }
            guard isCurrent else { return }
        }
    }

    /// Returns the applied version's entities with these keys; missing ones are left out.
    private func copies(of keys: [EntityKey], _ schema: DatasetSchema, in applied: AppliedVersion, masking masked: [Int]) async throws -> [EntityKey:
        EntityCopy]
    {
        let state = try await device.cloud.at(.fetch).records(in: device.zone, at: applied.number, notBefore: applied.token)
        guard let record = state.record(schema.recordName) else { return [:] }
        let version = try await DatasetVersion(record, as: schema, in: device.cloud, zone: device.zone)
        return try version.copies(of: Set(keys), masking: masked)
    }

    private func unsent(of schema: DatasetSchema, _ version: AppliedVersion, in transaction: LocalTransaction, after key: EntityKey?, limit: Int) throws
        -> [UnsentChange]
    {
        try transaction.outbox.unsentChanges(of: schema, comparedWith: version.number, after: key, limit: limit)
    }

    private func compose(
        _ changes: [UnsentChange], _ schema: DatasetSchema, _ rules: MessageRules, _ base: [EntityKey: EntityCopy], _ version: AppliedVersion,
        in transaction: LocalTransaction
    ) throws {
        guard try transaction.state.applied() == version, try transaction.state.view() == nil else { return }
        try transaction.mailbox.prepare()
        try transaction.changeLog.consolidate(of: device.settings.datasets)
        let rows = EntityCopies(schema: schema, masking: rules.ownColumns, writing: rules.rows ? schema : nil)
        // A row that was edited since the comparison began has another change by now.
        for change in changes where try transaction.outbox.isTracked(change, of: schema) {
            try transaction.rows.giveRow(change.key, of: schema, to: rows)
            let base = base[change.key], row = rows.copies[change.key]
            let sent = try sent(about: change, schema, in: transaction)
            let expected = try ExpectedEntity(
                base, sent, schema, rules, at: transaction.tombstonesAndInstants.appliedInstant(of: change.key, in: schema),
                deleted: transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema))
            if change.isCarried, rules.vocabulary == .rows {
                let reason = "nobody edited the row, it has values in columns that the version does not describe"
                try write(.untellable(reason), of: change, schema, rules, version, in: transaction)
                continue
            }
            if rules.vocabulary == .rows, !schema.keyShape.holds(change.key) {
                try write(.untellable("\(OutboxEntry.unfit); its key is too long for a version"), of: change, schema, rules, version, in: transaction)
                continue
            }
            if !rules.rows, !change.isDeletion, !change.isMark, change.base == nil, case .integer = change.key {
                // SQLite may have given this row a key that another device gave to another row. The columns of the two rows must not be mixed.
                try write(.untellable(OutboxEntry.OtherRow.new), of: change, schema, rules, version, in: transaction)
                continue
            }
            // After a message that deletes the row, a row that is there again is another one.
            if let row, let base, expected.isThere, let difference = try outlived(base, by: row, change, schema, rules, in: transaction) {
                try write(difference, of: change, schema, rules, version, in: transaction)
                continue
            }
            let difference = expected.compare(row, deleted: change.isDeletion ? change.instant : nil)
            if let putBack = expected.putBack(row, change) {
                try write(putBack, of: change, schema, rules, version, in: transaction)
                continue
            }
            if case .nothing = difference, sent.isEmpty, row == nil, base == nil {
                // An entity that was inserted and deleted again does not change the version.
                try transaction.outbox.forget(change, of: schema)
                continue
            }
            if case .nothing = difference, sent.isEmpty, let row, let base {
                // At most the timestamp differs. Give the row the version's timestamp, so that both are equal and nothing needs tracking.
                if let index = schema.timestampIndex, rules.ownColumns.contains(index), row.state.hash != base.state.hash {
                    try transaction.tracking.importing(device.settings.datasets) {
                        try transaction.rows.setValues([index: base.values[index] ?? .null], of: change.key, in: schema)
                    }
                }
                try transaction.outbox.forget(change, of: schema)
                continue
            }
            try write(difference, of: change, schema, rules, version, in: transaction)
        }
    }

    /// Returns the patch of a change that outlived another state of its entity as a whole row; nil for every other change.
    ///
    /// Such a row differs from the version in columns that nobody changed here: patching them would undo the publisher's edits. Only columns
    /// that were edited since the last comparison are patched.
    private func outlived(
        _ base: EntityCopy, by row: EntityCopy, _ change: UnsentChange, _ schema: DatasetSchema, _ rules: MessageRules, in transaction: LocalTransaction
    ) throws -> ExpectedEntity.Difference? {
        guard !rules.rows, !change.isDeletion, !change.isMark else { return nil }
        // A row that was inserted after a deletion that was told stays another one, also if the publisher refuses the deletion.
        if let seen = change.base, try !transaction.outbox.wasOtherRow(change.key, in: schema) {
            let latest = try transaction.datasetStates.versionTime(of: schema), own = base.state.timestamp.map { min($0, latest ?? $0) }
            guard try transaction.tombstonesAndInstants.appliedInstant(of: change.key, in: schema) ?? own ?? .distantPast > seen else { return nil }
        }
        // Without an earlier comparison (the version that the change was made on is gone) nothing says which columns were edited here: all that
        // differ are patched, unless the row was inserted here. Then the version's row is another one, and the two must not be mixed.
        guard let last = try transaction.outbox.lastShown(of: change.key, in: schema) else {
            return change.base == nil ? .untellable(OutboxEntry.OtherRow.sameKey) : nil
        }
        var changes: [Int: RowPatch.Change] = [:]
        for (index, value) in try RowPatch.values(last, rules.patched, schema) where row.values[index] != value {
            changes[index] = RowPatch.Change(new: row.values[index] ?? .null, seen: value)
        }
        guard !changes.isEmpty else { return .untellable(OutboxEntry.OtherRow.outlived) }
        return .patch(changes, coversAll: row.rest == base.rest)
    }

    /// Returns the messages about a change's entity that wait for an answer, oldest first. Of messages whose answers may have been missed, only
    /// patches are returned: they are sent again if this change builds on them.
    private func sent(about change: UnsentChange, _ schema: DatasetSchema, in transaction: LocalTransaction) throws -> [SyncUpdateMessage] {
        try transaction.outbox.unansweredMessages(about: change, of: schema).compactMap { sent in
            let message = try StrictJSON.decode(SyncUpdateMessage.self, from: sent.body)
            return sent.isInDoubt && message.type.operation != .patch ? nil : message
        }
    }

    /// The largest body of a message, in bytes. In a sealed zone, base64 stores three bytes as four.
    private var bodyLimit: Int {
        let room = CloudMessage.byteLimit - 1024
        guard let zone = device.signedZone, zone.keys != nil else { return room }
        let contents = room / 4 * 3 - BoxKeys.overhead
        return zone.history.protection.contains(.padded) ? Padding.contentLimit(contents) : contents
    }

    /// Stores a difference and, if there is one, the message about it.
    private func write(
        _ difference: ExpectedEntity.Difference, of change: UnsentChange, _ schema: DatasetSchema, _ rules: MessageRules, _ version: AppliedVersion,
        in transaction: LocalTransaction
    ) throws {
        switch difference {
        case .nothing: try transaction.outbox.add(change, of: schema, .same, coversAll: true, comparedWith: version.number)
        case .untellable(let reason):
            try transaction.outbox.add(
                change, of: schema, .local, coversAll: false, comparedWith: version.number, reason: reason, shown: shown(change, schema, rules, in: transaction)
            )
        case .put(let entity, let isNew):
            try store(
                message(rules.vocabulary.type(of: .put, isNew: isNew), change, schema, rules, version, entity: entity), of: change, schema, version,
                coversAll: true, in: transaction)
        case .delete:
            try store(
                message(rules.vocabulary.type(of: .delete), change, schema, rules, version), of: change, schema, version, coversAll: true, in: transaction)
        case .patch(let changes, let coversAll):
            guard let message = try message(changes, change, schema, rules, version, in: transaction) else {
                return try write(.untellable(OutboxEntry.unfit), of: change, schema, rules, version, in: transaction)
            }
            try store(message, of: change, schema, version, coversAll: coversAll, shown: shown(change, schema, rules, in: transaction), in: transaction)
        }
    }

    /// Returns what the patched columns hold now, as a partial row: a later edit is compared with this (``outlived(_:by:_:_:_:in:)``).
    private func shown(_ change: UnsentChange, _ schema: DatasetSchema, _ rules: MessageRules, in transaction: LocalTransaction) -> String? {
        rules.rows || change.isDeletion ? nil : try? document(rules.patched, of: change, schema, in: transaction)
    }

    /// Makes a message that inserts, replaces or deletes a row.
    private func message(
        _ type: SyncUpdateMessage.UpdateType, _ change: UnsentChange, _ schema: DatasetSchema, _ rules: MessageRules, _ version: AppliedVersion,
        entity: String? = nil
    ) -> SyncUpdateMessage {
        let namesColumns = rules.vocabulary == .rows && entity != nil
        return SyncUpdateMessage(
            type: type, key: change.key, timestamp: change.instant.description, id: CloudMessage.newID(at: change.instant, nonces: device.nonces),
            sender: device.settings.device, dataset: schema.name, entity: entity, replaces: replaced(by: change, rules), version: version.number,
            columns: namesColumns ? schema.columns.map(\.name) : nil)
    }

    /// Returns when the entity that a change replaces had last changed. If it has not changed since the first version, only messages of the
    /// vocabulary `rows` say so: a publisher that knows their types understands it.
    private func replaced(by change: UnsentChange, _ rules: MessageRules) -> String? {
        guard let base = change.base else { return nil }
        return base == .distantPast ? (rules.vocabulary == .rows ? Self.beforeAll : nil) : base.description
    }

    private static let beforeAll = "0001-01-01T00:00:00Z"

    /// Makes a message that patches columns; nil for values that no version can have.
    private func message(
        _ changes: [Int: RowPatch.Change], _ change: UnsentChange, _ schema: DatasetSchema, _ rules: MessageRules, _ version: AppliedVersion,
        in transaction: LocalTransaction
    ) throws -> SyncUpdateMessage? {
        let type = rules.vocabulary.type(of: .patch), id = CloudMessage.newID(at: change.instant, nonces: device.nonces)
        if type == .notificationRead {
            let mark = changes.values.first
            return SyncUpdateMessage(
                type: type, key: change.key, timestamp: change.instant.description, id: id, sender: device.settings.device, dataset: schema.name,
                readAt: mark?.new.text, basedOnReadAt: mark?.seen?.text, version: version.number)
        }
        let columns = changes.keys.sorted()
        func document(_ values: [Int: OwnedValue]) throws -> String? { try self.document(columns, setting: values, of: change, schema, in: transaction) }
        let seen = changes.compactMapValues(\.seen)
        do {
            return SyncUpdateMessage(
                type: type, key: change.key, timestamp: change.instant.description, id: id, sender: device.settings.device, dataset: schema.name,
                entity: try document(changes.mapValues(\.new)), version: version.number, columns: columns.map { schema.columns[$0].name },
                basedOn: seen.count == changes.count ? try document(seen) : nil)
        } catch is FormatError {
            return nil
        }
    }

    /// Writes some columns of a change's row, with other values in some of them, as a partial row.
    private func document(
        _ columns: [Int], setting values: [Int: OwnedValue] = [:], of change: UnsentChange, _ schema: DatasetSchema, in transaction: LocalTransaction
    ) throws -> String? {
        let part = try RowPatch.schema(columns, of: schema)
        return try EntityDocument.make(part) { sink in
            let schemaSink = ColumnsSink(sink, columns: part.columns.map { column in schema.columns.firstIndex { $0.name.exact == column.name.exact } ?? 0 })
            try transaction.rows.giveRow(change.key, of: schema, to: OverlayingSink(schemaSink, setting: values))
        }
    }

    /// Stores a message, unless it is too large.
    private func store(
        _ message: SyncUpdateMessage, of change: UnsentChange, _ schema: DatasetSchema, _ version: AppliedVersion, coversAll: Bool,
        shown: String? = nil, in transaction: LocalTransaction
    ) throws {
        let body = try StrictJSON.encode(message)
        if body.count > bodyLimit {
            try transaction.outbox.add(
                change, of: schema, .local, coversAll: false, comparedWith: version.number, reason: "\(OutboxEntry.unfit); it is too large for a message",
                shown: shown)
        } else {
            try transaction.outbox.add(
                change, of: schema, .stored, id: message.id, body: body, coversAll: coversAll, comparedWith: version.number, shown: shown)
        }
    }
}

/// Passes on some columns of each entity, as entities of a partial schema.
private final class ColumnsSink: EntitySink {
    private let sink: any EntitySink
    private let columns: [Int]

    init(_ sink: any EntitySink, columns: [Int]) {
        self.sink = sink
        self.columns = columns
    }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        let part = columns.map { values[$0] }
        try part.withUnsafeBufferPointer { try sink.take($0) }
    }
}
