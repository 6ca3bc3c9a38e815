import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
public import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

// Messages over an application's own channel, beside the mailbox.
extension SyncEngine {
    /// Returns this reader's edits that no version has decided, as one message; nil if there are none, and at a publisher.
    ///
    /// The next sync puts them into the mailbox, too. The publisher decides each edit once, whichever copy arrives first. They are returned until
    /// this device has imported a version that decides them.
    ///
    /// - Throws: ``SyncError`` with `.refused` in a signed zone, where only messages in the mailbox are signed, and if the gate is closed.
    public func outgoingMessage() async throws -> ChannelMessage? {
        try await locked {
            let local = try channelContext()
            guard local.settings.role == .reader else { return nil }
            _ = try local.keepTracking()
            try EditSender(context: local).handOver()
            let edits = try EditSender.message(of: database.read { try $0.sentEdits.all() }, datasets: local.settings.datasets)
            guard !edits.isEmpty else { return nil }
            return ChannelMessage(
                EditMessage(id: CloudMessage.newID(at: now(), nonces: local.nonces), device: local.settings.device, edits: edits),
                cloud: local.settings.cloudUUID, zone: "\(local.zone)")
        }
    }

    /// Applies a message from an application's own channel, as if it had come through the mailbox. For publishers only.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` for a message that is not valid for this device; `.refused` for a message of another cloud or
    ///   zone, at a reader, in a signed zone, and if the gate is closed. Nothing was changed then.
    public func apply(_ envelope: ChannelMessage) async throws -> MessageOutcome {
        try await locked {
            let context = try publisher()
            guard envelope.cloud.exact == context.settings.cloudUUID.exact, envelope.zone.exact == "\(context.zone)".exact else {
                throw SyncError(
                    .refused, step: .verify, at: ChannelMessage.place, "it is of another location or zone than this database",
                    hint: "send a reader's messages to the publisher of its own zone")
            }
            let message = envelope.message
            guard CloudNames.isMessageID(message.id), CloudNames.isName(message.device) else { throw ChannelMessage.refusal("its id or device is not one") }
            let received: ReceivedMessage
            do {
                received = try ReceivedMessage(
                    CloudMessage(id: message.id, sender: message.device, body: StrictJSON.encode(message)),
                    datasets: context.settings.datasets, removed: database.read { try $0.state.removedColumns(of: context.settings.datasets) })
            } catch let fault as ReceivedMessage.Fault {
                throw ChannelMessage.refusal(fault.reason)
            }
            if let fault = received.fault { throw ChannelMessage.refusal(fault.reason) }
            return try MessageOutcome(EditReceiver(context: context).apply(received.edits, from: received.sender, at: now()))
        }
    }

    /// Applies a message that has only type, entity and timestamp, as an application may make it. For publishers only.
    ///
    /// The later change wins, so a message that comes twice changes nothing.
    ///
    /// - Throws: ``SyncError`` as ``apply(_:)-(ChannelMessage)``.
    public func apply(_ message: SyncUpdateMessage) async throws -> MessageOutcome {
        try await locked {
            let context = try publisher(), now = now()
            guard let instant = try? Instant(parsing: message.timestamp) else {
                throw ChannelMessage.refusal("its timestamp is not an RFC 3339 date and time")
            }
            return try EditReceiver(context: context).put { transaction, choice in
                guard message.type != .fullSync else {
                    try transaction.state.isFullSyncRequested.set(true)
                    return .applied
                }
                try transaction.changeLog.consolidate(of: context.settings.datasets)
                guard let one = try UpdateEdit(message, at: min(instant, now), context: context, transaction: transaction).edit else {
                    return .refused("the row is not there any more")
                }
                return try MessageOutcome(
                    DeviceEdits([one], of: message.sender ?? "an application", context: context, transaction: transaction, now: now).put(choice))
            }
        }
    }

    /// The publishing device without its cloud, because an application's channel does not need it.
    private func publisher() throws -> SyncContext {
        let context = try channelContext()
        guard context.settings.role.publishes else {
            throw SyncError(
                .refused, step: .apply, at: database.path, "this device is a reader, and messages are for the device that publishes",
                hint: "send the message to the publisher")
        }
        _ = try context.keepTracking()
        return context
    }

    private func channelContext() throws -> SyncContext {
        try gate.verify()
        let settings = try database.read { try $0.settings.read() }
        guard try database.read({ try $0.state.zoneKnowledge() }) == nil else {
            throw SyncError(
                .refused, step: .open, at: ZoneID(settings.zone).place, "the zone is signed, and an application's channel carries no signatures",
                hint: "sync: messages of a signed zone travel in its mailbox")
        }
        return try context(
            settings, .absent(SyncError(.tryAgainLater, step: .fetch, at: database.path, "the location is not there at the moment")))
    }
}

extension MessageOutcome {
    fileprivate init(_ outcome: EditReceiver.Outcome) {
        self = outcome.appliedCount > 0 ? .applied : outcome.refusedCount > 0 ? .refused(outcome.refusal ?? "") : .receivedBefore
    }
}

/// The edit of a ``SyncUpdateMessage`` in terms of the publisher's row.
private struct UpdateEdit {
    /// Nil if the row that it changes is not there.
    let edit: (place: RowPlace, edit: Edit)?

    /// - Throws: ``SyncError`` with `.dataRefused` for a message that is about no dataset of this device, or incomplete.
    init(_ message: SyncUpdateMessage, at instant: Instant, context: SyncContext, transaction: LocalTransaction) throws {
        let datasets = context.settings.datasets
        guard let dataset = message.type.dataset, let index = datasets.firstIndex(where: { $0.name == dataset && $0.takesBuiltInMessages }) else {
            throw ChannelMessage.refusal("this device has no dataset that it can be about")
        }
        guard let id = message.entityId, !id.isEmpty, datasets[index].keyShape.holds(EntityKey(id)) else { throw ChannelMessage.refusal("it names no entity") }
        let schema = datasets[index], place = RowPlace(index, EntityKey(id))
        let there = try TableVersion(transaction, of: datasets, .json, own: nil, hasChanges: true).entry(place)
        let base: Edit.Base =
            switch there {
            case .row(let row): .row(row.instants)
            case .deleted(let at): .deleted(at)
            case nil: .nothing
            }
        let born = there?.row?.born ?? instant
        switch message.type {
        case .notificationDeleted, .bucketDeleted:
            edit = there?.row == nil ? nil : (place, Edit(base: base, change: .deleted(instant), born: born))
        case .notificationRead:
            guard let row = there?.row, let column = schema.patchedColumns.first else {
                edit = nil
                return
            }
            var values = row.values
            values[column] = .text(Array((message.readAt ?? message.timestamp).utf8))
            edit = (place, Edit(base: base, change: .columns([column: instant], values: values), born: born))
        case .bucketCreated, .bucketUpdated, .fullSync:
            let row = RowValues()
            do {
                let unknown = try EntityDocument.send(message.entity ?? "", of: schema, to: row)
                guard unknown.isEmpty else { throw ChannelMessage.refusal("its bucket has fields that this device does not know") }
            } catch let error as SyncError where error.format != nil {
                throw ChannelMessage.refusal("its bucket is not one of the dataset: \(error.reason)")
            }
            guard row.values.lending({ schema.keyShape.key(of: $0) }) == place.key else {
                throw ChannelMessage.refusal("its bucket is another than the one that it names")
            }
            let columns = row.values.indices.filter { there?.row?.values[$0] != row.values[$0] }
            edit = (place, Edit(base: base, change: .columns(Dictionary(uniqueKeysWithValues: columns.map { ($0, instant) }), values: row.values), born: born))
        }
    }
}
