import CloudStore
import Foundation
import LocalStore
import Logging
import SnapshotFormat
import Sealing
import SnapshotModel
import SnapshotVersions
import StrictText

/// Makes messages of what was changed at a reader, and writes them down: nothing is sent yet.
///
/// What a change is, is told by comparing the row with the applied version's entity. One message for each tracked change; an edit
/// after it is another change.
struct MessageComposer: Sendable {
    let device: SyncContext

    /// How many changes are compared at once.
    private static let batch = 4096

    /// Composes what can be, before an import brings another version to compare with; a version that cannot be read any longer is no
    /// reason not to import. Of what was changed on top of it, marks are known without it.
    ///
    /// - Returns: why not all changes were compared, in words; nil if they were.
    /// - Throws: whatever somebody has to act on: a database or a directory that cannot be read.
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

    /// Forgets entities that were added and deleted again, as far as the log alone says so.
    private func forgetPassing() throws {
        try SyncError.at(.read) {
            try device.database.write { transaction in
                guard try transaction.state.view() == nil else { return }
                try transaction.changeLog.consolidate(of: device.settings.datasets)
                for schema in device.settings.datasets { try transaction.outbox.forgetPassing(of: schema) }
            }
        }
    }

    /// Composes messages for changes of which the notes say that they are marks and nothing else.
    ///
    /// What the version had as `readAt` is not known. Marked as read, it counts as unread before where no mark before this one says otherwise;
    /// marked as unread, it counts as read at another time than any. An entity that was marked later by another keeps that.
    private func composeMarks() throws {
        for schema in device.settings.datasets {
            guard let kind = MessageKind(schema), case .notifications(let readAt) = kind else { continue }
            var last: EntityKey?
            repeat {
                last = try SyncError.at(.read) { [last] in
                    try device.database.write { transaction in
                        guard try transaction.state.view() == nil, let version = try transaction.state.applied() else { return nil }
                        try transaction.mailbox.prepare()
                        try transaction.changeLog.consolidate(of: device.settings.datasets)
                        let changes = try unsent(of: schema, version, in: transaction, after: last, limit: Self.batch)
                        let rows = EntityCopies(schema: schema, masking: kind.ownColumns(of: schema))
                        for change in changes where change.isMark && !change.isDeletion {
                            try transaction.rows.giveRow(change.key, of: schema, to: rows)
                            guard let row = rows.copies[change.key] else { continue }
                            let mark = row.texts[readAt]
                            let before =
                                try sent(about: change, schema, in: transaction).last { $0.type == .notificationRead }?.newReadAt ?? (mark == nil ? "" : nil)
                            try write(.message(.notificationRead, readAt: mark, basedOn: before), of: change, schema, version, in: transaction)
                        }
                        return changes.last?.key
                    }
                }
            } while last != nil
        }
    }

    /// Whether a change was tracked since the last comparison; notes must have been folded.
    func hasUntold(in transaction: LocalTransaction) throws -> Bool {
        guard device.settings.role == .reader, try transaction.state.view() == nil, let version = try transaction.state.applied() else { return false }
        return try device.settings.datasets.contains { try MessageKind($0) != nil && !unsent(of: $0, version, in: transaction, after: nil, limit: 1).isEmpty }
    }

    /// Composes messages for all changes that none was made of; where one dataset's version cannot be read, for those of the others.
    func run() async throws {
        guard device.settings.role == .reader else { return }
        let schemas = device.settings.datasets.filter { MessageKind($0) != nil }
        let (version, hasWork) = try device.database.read(at: .read) { transaction in
            // What a view shows is no version with changes on top.
            guard try transaction.state.view() == nil, let version = try transaction.state.applied() else { return (nil as AppliedVersion?, false) }
            let hasWork =
                try transaction.changeLog.hasEntries(device.settings.datasets)
                || schemas.contains { try !unsent(of: $0, version, in: transaction, after: nil, limit: 1).isEmpty }
                || device.settings.datasets.contains { try MessageKind($0) == nil && !transaction.outbox.deletionsInDoubt(of: $0, limit: 1).isEmpty }
            return (version, hasWork)
        }
        guard let version, hasWork else { return }
        try device.database.write(at: .read) { try $0.changeLog.consolidate(of: device.settings.datasets) }
        var failure: (any Error)?
        for schema in device.settings.datasets {
            do {
                if MessageKind(schema) == nil {
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
        guard let kind = MessageKind(schema) else { return }
        var last: EntityKey?
        while true {
            let changes = try SyncError.at(.read) { [last] in
                try device.database.read { try unsent(of: schema, version, in: $0, after: last, limit: Self.batch) }
            }
            guard let final = changes.last else { return }
            let base = try await copies(of: changes.map(\.key), schema, in: version, masking: kind.ownColumns(of: schema))
            try SyncError.at(.read) {
                try device.database.withoutRollbacks { try device.database.write { try compose(changes, schema, kind, base, version, in: $0) } }
            }
            last = final.key
        }
    }

    /// Forgets, in a dataset that no message is about, entities that were added and deleted since the version: nothing is left of them.
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

    /// What the applied version has of some entities; those that it lacks are left out.
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
        _ changes: [UnsentChange], _ schema: DatasetSchema, _ kind: MessageKind, _ base: [EntityKey: EntityCopy], _ version: AppliedVersion,
        in transaction: LocalTransaction
    ) throws {
        guard try transaction.state.applied() == version, try transaction.state.view() == nil else { return }
        try transaction.mailbox.prepare()
        try transaction.changeLog.consolidate(of: device.settings.datasets)
        let rows = EntityCopies(schema: schema, masking: kind.ownColumns(of: schema), keepsJSON: kind == .buckets)
        // What was edited since the comparison began is another change by now.
        for change in changes where try transaction.outbox.isTracked(change, of: schema) {
            try transaction.rows.giveRow(change.key, of: schema, to: rows)
            let base = base[change.key], row = rows.copies[change.key]
            let sent = try sent(about: change, schema, in: transaction)
            let expected = try Expected(
                base, sent, schema, kind, at: transaction.tombstonesAndInstants.appliedInstant(of: change.key, in: schema),
                deleted: transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema))
            let difference = expected.compare(row, deleted: change.isDeletion ? change.instant : nil)
            if let putBack = expected.putBack(row, change) {
                try write(putBack, of: change, schema, version, in: transaction)
                continue
            }
            if case .nothing = difference, sent.isEmpty, row == nil, base == nil {
                // What was added and deleted again is no change of the version.
                try transaction.outbox.forget(change, of: schema)
                continue
            }
            if case .nothing = difference, sent.isEmpty, let row, let base {
                // At most the timestamp differs; with the version's the row is the version's, and there is nothing left to track.
                if let index = schema.timestampIndex, row.state.hash != base.state.hash {
                    try transaction.tracking.importing(device.settings.datasets) {
                        try transaction.rows.setTexts([index: base.texts[index]], of: change.key, in: schema)
                    }
                }
                try transaction.outbox.forget(change, of: schema)
                continue
            }
            try write(difference, of: change, schema, version, in: transaction)
        }
    }

    /// The messages about a change's entity that wait for an answer, oldest first. Of those in doubt, the marks: they are told again where this
    /// change builds on them.
    private func sent(about change: UnsentChange, _ schema: DatasetSchema, in transaction: LocalTransaction) throws -> [SyncUpdateMessage] {
        try transaction.outbox.unansweredMessages(about: change, of: schema).compactMap { sent in
            let message = try StrictJSON.decode(SyncUpdateMessage.self, from: sent.body)
            return sent.isInDoubt && message.type != .notificationRead ? nil : message
        }
    }

    /// The largest body of a message, in bytes. In a sealed zone four bytes in the file stand for three.
    private var bodyLimit: Int {
        let room = CloudMessage.byteLimit - 1024
        return device.signedZone?.keys == nil ? room : room / 4 * 3 - BoxKeys.overhead
    }

    /// Writes down what a change says, and the message that says it.
    private func write(
        _ difference: Expected.Difference, of change: UnsentChange, _ schema: DatasetSchema, _ version: AppliedVersion, in transaction: LocalTransaction
    ) throws {
        switch difference {
        case .nothing: try transaction.outbox.add(change, of: schema, .same, coversAll: true, comparedWith: version.number)
        case .untellable(let reason):
            try transaction.outbox.add(change, of: schema, .local, coversAll: false, comparedWith: version.number, reason: reason)
        case .message(let type, let entity, let readAt, let basedOn, let coversAll):
            let id = CloudMessage.newID(at: change.instant, nonces: device.nonces)
            let message = SyncUpdateMessage(
                type: type, entityId: change.key.text, timestamp: change.instant.description, id: id, sender: device.settings.device,
                dataset: schema.name, entity: entity, readAt: readAt, basedOnReadAt: basedOn,
                replaces: type == .notificationRead ? nil : change.base.flatMap { $0 == .distantPast ? nil : $0.description }, version: version.number)
            let body = try StrictJSON.encode(message)
            if body.count > bodyLimit {
                try transaction.outbox.add(
                    change, of: schema, .local, coversAll: false, comparedWith: version.number, reason: "the entity is too large for a message")
            } else {
                try transaction.outbox.add(change, of: schema, .stored, id: id, body: body, coversAll: coversAll, comparedWith: version.number)
            }
        }
    }
}

/// What the publisher will have of an entity once the messages that were told of it are applied: what a row is compared with.
private struct Expected {
    enum Difference {
        case nothing
        case untellable(String)
        case message(SyncUpdateMessage.UpdateType, entity: String? = nil, readAt: String? = nil, basedOn: String? = nil, coversAll: Bool = true)
    }

    private let kind: MessageKind
    private let hash: SnapshotFormat.ContentHash?
    private let rest: SnapshotFormat.ContentHash?
    private let readAt: String?
    private let isThere: Bool
    /// When the entity was last changed, by the version or by what was told since.
    private let instant: Instant
    /// When it was deleted, as far as that is known.
    private let deleted: Instant?

    /// - Parameters:
    ///   - base: the applied version's entity.
    ///   - sent: the messages about it that wait for an answer, oldest first.
    ///   - instant: the entity's instant, where it is not its own timestamp.
    ///   - deleted: when the version says that it was deleted.
    init(
        _ base: EntityCopy?, _ sent: [SyncUpdateMessage], _ schema: DatasetSchema, _ kind: MessageKind, at instant: Instant?, deleted: Instant?
    ) throws {
        self.kind = kind
        let last = sent.last, isDeleted = last?.type.isDeletion == true
        let told = try last.map { try Instant(parsing: $0.timestamp) }
        self.instant = max(instant ?? base?.state.timestamp ?? .distantPast, told ?? .distantPast)
        self.deleted = isDeleted ? told : deleted
        switch kind {
        case .buckets:
            guard let entity = last?.entity else {
                (hash, rest, readAt, isThere) = (isDeleted ? nil : base?.state.hash, nil, nil, base != nil && !isDeleted)
                return
            }
            let copies = EntityCopies(schema: schema)
            try EntityDocument.give(entity, of: schema, to: copies)
            (hash, rest, readAt, isThere) = (copies.copies.values.first?.state.hash, nil, nil, true)
        case .notifications(let column):
            isThere = base != nil && !isDeleted
            rest = base?.rest
            hash = sent.isEmpty ? base?.state.hash : nil
            readAt =
                base.map { base in
                    ReadMarks.outcome(of: sent, on: base.texts[column], at: instant ?? base.state.timestamp ?? .distantPast).readAt
                } ?? nil
        }
    }

    /// A bucket or a read mark that was changed and is again as the version or the last message has it: told where that was later, for the
    /// publisher may have changed it in between. Nil where it is no such change.
    func putBack(_ row: EntityCopy?, _ change: UnsentChange) -> Difference? {
        guard let row, isThere, !change.isDeletion, change.instant > instant else { return nil }
        switch kind {
        case .buckets: return row.state.hash == hash ? row.json.map { .message(.bucketUpdated, entity: $0) } : nil
        case .notifications(let column):
            guard change.isMark, row.texts[column] == readAt, row.rest == rest else { return nil }
            // That it is not read, and was not, is told like a mark whose base is not known: the later change wins.
            return .message(.notificationRead, readAt: row.texts[column], basedOn: readAt ?? "")
        }
    }

    /// What a row is, told as a change of this.
    ///
    /// A deletion that is later than the known one is told: it holds against who brought the entity back in between.
    func compare(_ row: EntityCopy?, deleted instant: Instant?) -> Difference {
        guard let row, instant == nil else {
            let isLater = if let deleted, let instant { instant > deleted } else { false }
            guard isThere || isLater else { return .nothing }
            return .message(kind == .buckets ? .bucketDeleted : .notificationDeleted)
        }
        if isThere, row.state.hash == hash { return .nothing }
        switch kind {
        case .buckets:
            guard let entity = row.json else { return .untellable("the row cannot travel") }
            return .message(isThere ? .bucketUpdated : .bucketCreated, entity: entity)
        case .notifications(let column):
            guard isThere else { return .untellable("no message type creates a notification") }
            if row.texts[column] != readAt {
                return .message(.notificationRead, readAt: row.texts[column], basedOn: readAt, coversAll: row.rest == rest)
            }
            // A timestamp alone says nothing that the publisher does not have.
            return row.rest == rest ? .nothing : .untellable("no message type edits a notification")
        }
    }
}
