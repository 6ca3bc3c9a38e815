import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// The messages in a zone's mailbox, and the messages that this device sent.
public struct MessagesReport: Sendable, Encodable {
    /// A message in the mailbox.
    public struct Waiting: Sendable, Encodable {
        public let sender: String
        public let id: String
        public let type: String
        /// The dataset; nil for `fullSync`.
        public let dataset: String?
        /// The key of the row: a text as it is, several values as a JSON array; nil for `fullSync`.
        public let entityId: String?
        public let timestamp: String
        /// `applied` or `refused` if this device, a publisher, has processed the message; nil if it has not.
        public let outcome: String?
        /// Why it was refused.
        public let reason: String?
    }

    /// A file in the mailbox that is no valid message for this device.
    public struct SetAside: Sendable, Encodable {
        public let file: String
        public let reason: String
    }

    /// The state of one change that was made on this device.
    public struct Told: Sendable, Encodable {
        /// `stored`, `sent`, `doubtful`, `applied`, `refused`, or `local` if no message type can carry the change.
        public let state: String
        public let id: String?
        public let type: String?
        public let dataset: String?
        public let entityId: String?
        public let timestamp: String?
        /// Why the change stays on this device.
        public let reason: String?
        /// Whether its file is missing from the mailbox or differs from what was sent; the next sync writes it again.
        public let isMissing: Bool
    }

    public let zone: String
    /// By sender, oldest first.
    public let waiting: [Waiting]
    public let setAside: [SetAside]
    /// Oldest first; empty at a publisher.
    public let told: [Told]
}

extension SnapshotInspector {
    /// The messages in the mailbox and, with a database, those that it sent and received.
    public func messages() async throws -> MessagesReport {
        try await WorkerThreads.host {
            let datasets = device?.settings.datasets
            let (told, heard, removed) = try SyncError.at(.read) {
                try device?.database.read { (try $0.outbox.entries(), try $0.inbox.entries(), try $0.state.removedColumns(of: datasets ?? [])) } ?? (
                    [], [], [:]
                )
            }
            let mailbox = try await cloud.at(.fetch).mailbox(MailboxRequest(limit: .max), in: zone)
            // Only a reader sends messages.
            let sent = try device.flatMap { device in
                try device.settings.role.publishes ? nil : SyncError.at(.read) { try UnansweredMessages(told, of: device) }
            }
            let missing = Set((sent?.missing(from: Set(mailbox.messages)) ?? []).map(\.id))
            let outcomes = Dictionary(heard.map { ($0.id, $0) }) { first, _ in first }
            var waiting: [MessagesReport.Waiting] = []
            var setAside = mailbox.setAside.map { MessagesReport.SetAside(file: $0.place, reason: $0.reason) }
            for found in mailbox.messages {
                do {
                    let message = try IncomingMessage(found, datasets: datasets, removed: removed, now: device?.now() ?? .now).message
                    let outcome = outcomes[found.id]
                    waiting.append(
                        MessagesReport.Waiting(
                            sender: found.sender, id: found.id, type: message.type.rawValue, dataset: message.type.dataset ?? message.dataset,
                            entityId: message.entityId, timestamp: message.timestamp,
                            outcome: outcome.map { $0.isApplied ? "applied" : "refused" }, reason: outcome?.reason))
                } catch let fault as IncomingMessage.Fault {
                    setAside.append(MessagesReport.SetAside(file: "\(zone)/messages/\(found.sender)/\(found.id).json", reason: fault.reason))
                }
            }
            let kept = try SyncError.at(.read) { try device.map(keptChanges) ?? [] }
            return MessagesReport(
                zone: zone.name, waiting: waiting, setAside: setAside, told: told.compactMap { MessagesReport.Told($0, missing: missing) } + kept)
        }
    }

    /// At a reader: for each dataset that readers may not edit, that it was changed here all the same.
    private func keptChanges(_ device: SyncContext) throws -> [MessagesReport.Told] {
        guard !device.settings.role.publishes else { return [] }
        return try device.database.read { transaction in
            try device.settings.datasets.filter { $0.messageRules == nil }.compactMap { schema in
                let count = try transaction.changeLog.summary(of: schema).count
                return count == 0 ? nil : MessagesReport.Told(keeping: count, of: schema.name)
            }
        }
    }
}

extension MessagesReport.Told {
    /// Changes that no message is about.
    fileprivate init(keeping count: Int, of dataset: String) {
        self.init(
            state: "local", id: nil, type: nil, dataset: dataset, entityId: nil, timestamp: nil,
            reason: "\(Format.count(count, "change stays", "changes stay")) here: readers may not edit \(dataset)", isMissing: false)
    }

    /// Makes an entry of an outbox row; nil if the row equals the applied version.
    fileprivate init?(_ entry: OutboxEntry, missing: Set<String>) {
        guard entry.state != .same else { return nil }
        let message = entry.body.flatMap { try? StrictJSON.decode(SyncUpdateMessage.self, from: $0) }
        self.init(
            state: entry.state.rawValue, id: entry.id, type: message?.type.rawValue, dataset: entry.dataset, entityId: entry.key?.plainText,
            timestamp: message?.timestamp, reason: entry.reason, isMissing: entry.id.map(missing.contains) == true)
    }
}
