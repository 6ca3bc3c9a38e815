import CloudStore
import Foundation
import LocalStore
public import SnapshotModel
import SnapshotVersions
import StrictText

// Messages over an application's own channel, beside the mailbox.
extension SyncEngine {
    /// Returns this reader's messages that no version has answered yet, oldest first; at a publisher none.
    ///
    /// They include changes since the last sync. If the cloud is unreachable, only the changes that can be composed without it are included. Each
    /// message also goes into the mailbox at the next sync. The publisher applies it once, whichever copy arrives first. A message is returned
    /// until this device has imported a version that answers it.
    ///
    /// - Throws: ``SyncError`` with `.refused` in a signed zone, where only messages in the mailbox are signed, and if the gate is closed.
    public func outgoingMessages() async throws -> [ChannelMessage] {
        try await locked {
            let local = try channelDevice()
            guard local.settings.role == .reader else { return [] }
            _ = try local.keepTracking()
            let passing: [SyncError.Code] = [.nothingThere, .dataRefused, .tryAgainLater, .cloudUnavailable, .inputOutput]
            do {
                try await MessageComposer(device: device()).run()
            } catch let error as SyncError where passing.contains(error.code) {
                // Marks, deletions of rows that were only inserted locally, and earlier messages need no version for comparison.
                _ = try await MessageComposer(device: local).runIfPossible()
            }
            let waiting = try database.write(at: .announce) { transaction in
                let waiting = try transaction.outbox.entries(onlyMessages: true).filter { $0.state == .stored || $0.state == .sent }
                // From now on the publisher may have these messages, and later messages about the same entities build on them.
                try transaction.outbox.recordSending(waiting.filter { !$0.mayBeOut }.map(\.number))
                return waiting
            }
            return try SyncError.at(.encode) {
                try waiting.compactMap(\.body).map {
                    ChannelMessage(try StrictJSON.decode(SyncUpdateMessage.self, from: $0), cloud: local.settings.cloudUUID, zone: "\(local.zone)")
                }
            }
        }
    }

    /// Applies a message from an application's own channel, as if it had come through the mailbox. For publishers only.
    ///
    /// The next version answers it. A message that was received before, on either way, changes nothing.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` for a message that is not valid for this device; `.refused` for a message of another cloud or
    ///   zone or one older than 80 days, at a reader, in a signed zone, and if the gate is closed. Nothing was changed then.
    public func apply(_ envelope: ChannelMessage) async throws -> MessageOutcome {
        try await locked {
            let device = try channelDevice()
            guard envelope.format == ChannelMessage.formatVersion, envelope.cloud == device.settings.cloudUUID, envelope.zone == "\(device.zone)" else {
                throw SyncError(
                    .refused, step: .verify, at: ChannelMessage.place, "it is of another cloud, zone or format than this database",
                    hint: "send a reader's messages to the publisher of its own zone")
            }
            guard let id = envelope.message.id, let sender = envelope.message.sender else { throw ChannelMessage.refusal("it lacks its id or sender") }
            return try receive(envelope.message, CloudMessageName(sender: sender, id: id), device)
        }
    }

    /// Applies a message that has only type, entity and timestamp, as an application may make it. For publishers only.
    ///
    /// Equal messages count as one message: the second changes nothing.
    ///
    /// - Throws: ``SyncError`` as ``apply(_:)-(ChannelMessage)``.
    public func apply(_ message: SyncUpdateMessage) async throws -> MessageOutcome {
        try await locked {
            let device = try channelDevice()
            guard let instant = try? Instant(parsing: message.timestamp) else {
                throw ChannelMessage.refusal("its timestamp is not an RFC 3339 date and time")
            }
            let hash = ContentHash.of(try SyncError.at(.encode) { try StrictJSON.encode(message) })
            let id = message.id ?? CloudMessage.id(at: instant, ending: String(hash.prefix(16)))
            let sender = message.sender ?? "channel-\(hash.prefix(16))"
            return try receive(message.renamed(id, sender: sender), CloudMessageName(sender: sender, id: id), device)
        }
    }

    /// The device without its cloud, because an application's channel does not need it.
    private func channelDevice() throws -> SyncContext {
        try gate.verify()
        let settings = try database.read(at: .open) { try $0.settings.read() }
        guard try database.read(at: .open, { try $0.state.zoneKnowledge() }) == nil else {
            throw SyncError(
                .refused, step: .open, at: "zone \(settings.zone)", "the zone is signed, and an application's channel carries no signatures",
                hint: "sync: messages of a signed zone travel in its mailbox")
        }
        return try device(
            settings, .absent(SyncError(.tryAgainLater, step: .fetch, at: database.path, "the cloud is not there at the moment")))
    }

    private func receive(_ message: SyncUpdateMessage, _ name: CloudMessageName, _ device: SyncContext) throws -> MessageOutcome {
        guard device.settings.role.publishes else {
            throw SyncError(
                .refused, step: .apply, at: database.path, "this device is a reader, and messages are for the device that publishes",
                hint: "send the message to the publisher")
        }
        guard CloudNames.isMessageID(name.id), CloudNames.isName(name.sender) else { throw ChannelMessage.refusal("its id or sender is not one") }
        let body = try SyncError.at(.encode) { try StrictJSON.encode(message) }
        guard body.count <= ChannelMessage.byteLimit else { throw ChannelMessage.refusal("it is larger than \(ChannelMessage.byteLimit) bytes") }
        let datasets = device.settings.datasets
        let removed = try database.read(at: .read) { try $0.state.removedColumns(of: datasets) }
        let incoming: IncomingMessage
        do {
            incoming = try IncomingMessage(
                CloudMessage(id: name.id, sender: name.sender, body: body), datasets: datasets, removed: removed, now: now())
        } catch let fault as IncomingMessage.Fault {
            throw ChannelMessage.refusal(fault.reason)
        }
        guard incoming.instant >= now().advanced(byMicroseconds: -Self.channelMemory) else {
            throw SyncError(
                .refused, step: .verify, at: ChannelMessage.place, "it is older than 80 days, and what came so long ago is not remembered",
                hint: "let the reader sync: the mailbox takes messages of any age")
        }
        _ = try device.keepTracking()
        let isKnown = try database.read(at: .read) { try $0.mailbox.exist() && $0.inbox.hasReceived(name.id) }
        if isKnown { return .receivedBefore }
        _ = try MailboxProcessor(device: device).apply([incoming], at: now())
        let entry = try database.read(at: .read) { try $0.inbox.entries(onlyUnnamed: true).first { $0.id == name.id } }
        // The message was not recorded: it is about an edit that a version allows which this device has not read yet.
        guard let entry else { return .refused("this device has not read the version yet that allows it; sync first") }
        return entry.isApplied ? .applied : .refused(entry.reason ?? "")
    }

    /// The maximum age of a message, in microseconds. A publisher forgets received messages after 90 days; the difference allows for wrong
    /// clocks.
    private static let channelMemory: Int64 = 80 * 86_400_000_000
}
