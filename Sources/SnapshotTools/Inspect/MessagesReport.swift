import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The edits in a zone's mailbox, and those of this device on their way to the publisher.
public struct MessagesReport: Sendable, Encodable {
    /// An edit.
    public struct Edit: Sendable, Encodable {
        /// The device that made it.
        public let device: String
        public let number: Int64
        /// `insert`, `update`, `delete` or `fullSync`.
        public let operation: String
        /// The dataset; nil for `fullSync`.
        public let dataset: String?
        /// The key of the row: a text as it is, several values as a JSON array; nil for `fullSync`.
        public let entityId: String?
        /// The columns that it changes; nil for all.
        public let columns: [String]?
        public let timestamp: String?
        /// At a publisher: whether it is decided, and the next version says so.
        public let isDecided: Bool
    }

    /// A file in the mailbox, or an edit in it, that is none for this device.
    public struct SetAside: Sendable, Encodable {
        public let file: String
        public let reason: String
    }

    /// A change of a reader, or a part of one, that no message carries.
    public struct Kept: Sendable, Encodable {
        public let dataset: String
        /// The key of the row, as in ``Edit/entityId``; nil for a key that cannot be synced.
        public let entityId: String?
        /// `insert`, `update` or `delete`.
        public let operation: String
        /// The columns that stay; nil for the whole row.
        public let columns: [String]?
        /// Why, as a clause.
        public let reason: String
    }

    public let zone: String
    /// The edits in the mailbox: by device, then in the order of their numbers.
    public let waiting: [Edit]
    public let setAside: [SetAside]
    /// The edits that this reader has handed over and no version has decided; empty at a publisher.
    public let sent: [Edit]
    /// Whether the message with ``sent`` is missing from the mailbox or differs from what was sent; the next sync writes it again.
    public let isMissing: Bool
    /// At a reader: the changes that stay there, wholly or in part, because no message can carry them.
    public let kept: [Kept]
}

extension SnapshotInspector {
    /// The edits in the mailbox and, with a database, those that it handed over.
    public func messages() async throws -> MessagesReport {
        try await WorkerThreads.host {
            let datasets = context?.settings.datasets
            let mailbox = try await cloud.mailbox(in: zone)
            let (sent, file, removed) =
                try context?.database.read { (try $0.sentEdits.all(), try $0.sentEdits.file(), try $0.state.removedColumns(of: datasets ?? [])) } ?? (
                    [], nil, [:]
                )
            var waiting: [MessagesReport.Edit] = []
            var setAside = mailbox.setAside.map { MessagesReport.SetAside(file: $0.place, reason: $0.reason) }
            for found in mailbox.messages {
                let place = "\(zone)/messages/\(found.sender)/\(found.id).json"
                do {
                    let decided = try context?.database.read { try $0.decidedEdits.number(of: found.sender) } ?? 0
                    let message = try ReceivedMessage(found, datasets: datasets, removed: removed, decided: decided)
                    waiting += message.edits.map { MessagesReport.Edit($0, of: found.sender, isDecided: $0.number <= decided) }
                    if let fault = message.fault { setAside.append(MessagesReport.SetAside(file: place, reason: fault.reason)) }
                } catch let fault as ReceivedMessage.Fault {
                    setAside.append(MessagesReport.SetAside(file: place, reason: fault.reason))
                }
            }
            let isReader = context.map { !$0.settings.role.publishes } ?? false
            return MessagesReport(
                zone: zone.name, waiting: waiting, setAside: setAside,
                sent: isReader ? sent.map { MessagesReport.Edit($0, of: context?.settings.device ?? "", isDecided: false) } : [],
                isMissing: isReader && !sent.isEmpty
                    && !mailbox.messages.contains { $0.id == file?.id && (try? ReceivedMessage($0, datasets: nil))?.edits.map(\.number) == file?.numbers },
                kept: try context.map(kept) ?? [])
        }
    }

    private func kept(_ context: SyncContext) throws -> [MessagesReport.Kept] {
        guard !context.settings.role.publishes else { return [] }
        return try context.database.read { transaction in
            try context.settings.datasets.flatMap { try transaction.sentEdits.kept(of: $0) }.map {
                MessagesReport.Kept(dataset: $0.dataset, entityId: $0.key?.plainText, operation: $0.operation, columns: $0.columns, reason: $0.sentence)
            }
        }
    }
}

extension MessagesReport.Edit {
    fileprivate init(_ edit: HandedOverEdit, of device: String, isDecided: Bool) {
        let isInsertion = edit.base == nil || edit.base?.deletedAt != nil
        self.init(
            device: device, number: edit.number,
            operation: edit.fullSync == true ? "fullSync" : edit.row == nil ? "delete" : isInsertion ? "insert" : "update", dataset: edit.dataset,
            entityId: edit.key?.plainText, columns: isInsertion ? nil : edit.columns?.map(\.name), timestamp: edit.at?.description, isDecided: isDecided)
    }
}
