import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Hands a reader's edits over: numbers them, and keeps one message in the mailbox that has all that are not decided.
struct EditSender: Sendable {
    let device: SyncContext

    /// The most bytes of edits in a message. The others follow when these are decided.
    private static let room = CloudMessage.byteLimit - 4096

    /// Numbers the edits since the last call, without the cloud.
    ///
    /// - Returns: the first number; nil if there are none.
    @discardableResult func handOver() throws -> Int64? {
        guard device.settings.role == .reader else { return nil }
        let datasets = device.settings.datasets
        let hasWork = try device.database.read(at: .read) { transaction in
            guard try transaction.state.view() == nil, try transaction.state.applied() != nil else { return false }
            return try transaction.changeLog.hasEntries(datasets) || datasets.contains { try transaction.changeLog.hasChanges(of: $0) }
                || transaction.waiting.hasAny()
        }
        guard hasWork else { return nil }
        let ledger = ImportLedger(database: device.database.path, settings: device.settings, now: device.now())
        return try device.database.write(at: .read) { transaction in
            try transaction.changeLog.consolidate(of: datasets)
            try ledger.recordOverwritten(transaction.waiting.takeOverwritten(of: datasets), of: datasets, in: transaction)
            return try transaction.sentEdits.handOver(of: datasets, as: device.settings.device, codec: .json, now: device.now(), limit: Self.room / 2)
        }
    }

    /// Hands edits over and puts the message into the mailbox.
    func run() async throws -> SendReport {
        if let first = try handOver() {
            do {
                try await device.verifyClock()
            } catch {
                // They are numbered again, with their corrected instants, once the clock is right.
                try device.database.write(at: .announce) { try $0.sentEdits.withdraw(from: first) }
                throw error
            }
        }
        let (edits, file, isNew) = try device.database.read(at: .read) { transaction in
            (try transaction.sentEdits.all(), try transaction.sentEdits.file(), try transaction.state.applied() == nil)
        }
        var placed = (sent: 0, putBack: 0)
        if !isNew, !edits.isEmpty || file != nil {
            placed = try await place(Self.message(of: edits, datasets: device.settings.datasets), file)
        }
        return SendReport(sent: placed.sent, putBack: placed.putBack, waiting: edits.count)
    }

    /// The first edits that fit into a message, without what readers may not edit.
    static func message(of edits: [HandedOverEdit], datasets: [DatasetSchema]) throws -> [HandedOverEdit] {
        var size = 0, message: [HandedOverEdit] = []
        for edit in edits {
            let schema = datasets.first { $0.name.exact == edit.dataset?.exact }
            let edit = try schema.map { try edit.permitted(in: $0, .json) } ?? edit
            size += try StrictJSON.encode(edit).count + 1
            guard size <= room else { break }
            message.append(edit)
        }
        return message
    }

    /// Makes the mailbox's message of this device the one with these edits.
    ///
    /// - Returns: how many edits are new in the mailbox; and 1 if a message that should have been there was missing or damaged.
    private func place(_ edits: [HandedOverEdit], _ last: SentEdits.File?) async throws -> (sent: Int, putBack: Int) {
        let name = device.settings.device, mailbox = try await device.cloud.at(.announce).mailbox(of: name, in: device.zone)
        let isSame = last.map { $0.device.exact == name.exact && $0.numbers == edits.map(\.number) } ?? false
        let id = isSame ? last?.id ?? "" : CloudMessage.newID(at: device.now(), nonces: device.nonces)
        let message =
            edits.isEmpty
            ? nil
            : CloudMessage(
                id: id, sender: name, body: try StrictJSON.encode(EditMessage(id: id, device: name, edits: edits)))
        let isThere = message.map(mailbox.messages.contains) ?? true
        if !isThere, let message {
            var file = SentEdits.File(id: id, device: name, numbers: edits.map(\.number))
            try device.database.write(at: .announce) { try $0.sentEdits.setFile(file) }
            try await write(message)
            file.isWritten = true
            try device.database.write(at: .announce) { try $0.sentEdits.setFile(file) }
        }
        // What an earlier message says, this one repeats.
        for old in mailbox.messages where old.id != message?.id { try await remove(CloudMessageName(sender: name, id: old.id)) }
        if let last, last.device.exact != name.exact { try await remove(CloudMessageName(sender: last.device, id: last.id)) }
        if message == nil { try device.database.write(at: .announce) { try $0.sentEdits.setFile(nil) } }
        let before = last.map { $0.isWritten ? Set($0.numbers) : [] } ?? []
        return (edits.count { !before.contains($0.number) }, isSame && last?.isWritten == true && !isThere ? 1 : 0)
    }

    /// Writes a message's file, and replaces a damaged one: only the sender knows all of its bytes.
    private func write(_ message: CloudMessage) async throws {
        try await SyncError.at(.announce) {
            do {
                try await device.cloud.send(message, clock: device.now(), in: device.zone)
            } catch let error as CloudError where error.code == .serverRecordChanged || error.code == .damaged {
                try await device.cloud.removeMessage(message.name, in: device.zone)
                try await device.cloud.send(message, clock: device.now(), in: device.zone)
            }
        }
    }

    private func remove(_ name: CloudMessageName) async throws { try await device.cloud.at(.announce).removeMessage(name, in: device.zone) }
}

/// What a reader handed over to the publisher.
public struct SendReport: Hashable, Sendable, Encodable {
    /// The number of edits that are new in the mailbox.
    public let sent: Int
    /// 1 if the message was missing from the mailbox or damaged, and was put there again.
    public let putBack: Int
    /// The number of edits that no version has decided.
    public let waiting: Int
}
