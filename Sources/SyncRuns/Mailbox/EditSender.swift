import CloudStore
import LocalStore
import LocalTables
package import SnapshotModel
import SnapshotVersions
import StrictText

/// Hands a reader's edits over: numbers them, and keeps one message in the mailbox that has all that are not decided.
package struct EditSender: Sendable {
    let context: SyncContext

    package init(context: SyncContext) { self.context = context }

    /// The most bytes of edits in a message. The others follow when these are decided.
    private static let room = CloudMessage.byteLimit - 4096

    /// Numbers the edits since the last call, without the cloud.
    ///
    /// - Returns: the first number; nil if there are none.
    @discardableResult package func handOver() throws -> Int64? {
        guard context.settings.role == .reader else { return nil }
        let datasets = context.settings.datasets
        let hasWork = try context.database.read { transaction in
            guard try transaction.state.applied() != nil else { return false }
            return try transaction.changeLog.hasEntries(datasets) || datasets.contains { try transaction.changeLog.hasChanges(of: $0) }
                || transaction.waiting.hasAny()
        }
        guard hasWork else { return nil }
        let ledger = ImportLedger(database: context.database.path, settings: context.settings, now: context.now())
        return try context.database.write { transaction in
            try transaction.changeLog.consolidate(of: datasets)
            try ledger.recordOverwritten(transaction.waiting.takeOverwritten(of: datasets), of: datasets, in: transaction)
            return try transaction.sentEdits.handOver(of: datasets, as: context.settings.device, codec: .json, now: context.now(), limit: Self.room / 2)
        }
    }

    /// Hands edits over and puts the message into the mailbox.
    ///
    /// Before it writes, it makes sure that no other database sends under the device's name, and reports a new nonce, by which a copy or a backup of
    /// this database notices. If another one does, the edits are handed over under a new name.
    package func run() async throws -> SendReport {
        if let first = try handOver() {
            do {
                try await context.verifyClock()
            } catch {
                // They are numbered again, with their corrected instants, once the clock is right.
                try context.database.write { try $0.sentEdits.withdraw(from: first) }
                throw error
            }
        }
        let (edits, file, applied) = try context.database.read { transaction in
            (try transaction.sentEdits.all(), try transaction.sentEdits.file(), try transaction.state.applied())
        }
        guard let applied, !edits.isEmpty || file != nil else { return SendReport(sent: 0, putBack: 0, waiting: edits.count) }
        let name = context.settings.device, message = try Self.message(of: edits, datasets: context.settings.datasets)
        let mailbox = try await context.cloud.mailbox(of: name, in: context.zone)
        let isSame = file.map { $0.device.exact == name.exact && $0.numbers == message.map(\.number) } ?? false
        let id = isSame ? file?.id ?? "" : CloudMessage.newID(at: context.now(), nonces: context.nonces)
        let wanted = try message.isEmpty ? nil : CloudMessage(id: id, sender: name, body: StrictJSON.encode(EditMessage(id: id, device: name, edits: message)))
        let isThere = wanted.map(mailbox.messages.contains) ?? true
        if !isThere, let wanted {
            let identity = try await DeviceIdentity.check(context, applied: applied, commits: [])
            guard identity.reason == nil else {
                var report = try await EditSender(context: identity.context).run()
                report.warnings = identity.warnings + report.warnings
                return report
            }
            try await identity.context.announce(applied.token)
            var written = SentEdits.File(id: id, device: name, numbers: message.map(\.number))
            try context.database.write { try $0.sentEdits.file.set(written) }
            try await write(wanted)
            written.isWritten = true
            try context.database.write { try $0.sentEdits.file.set(written) }
        }
        for old in mailbox.messages where try old.id != wanted?.id && (old.id == file?.id || isRepeated(old, by: edits)) {
            try await remove(CloudMessageName(sender: name, id: old.id))
        }
        if let file, file.device.exact != name.exact { try await remove(CloudMessageName(sender: file.device, id: file.id)) }
        if wanted == nil { try context.database.write { try $0.sentEdits.file.set(nil) } }
        let before = file.map { $0.isWritten ? Set($0.numbers) : [] } ?? []
        return SendReport(
            sent: message.count { !before.contains($0.number) }, putBack: isSame && file?.isWritten == true && !isThere ? 1 : 0, waiting: edits.count)
    }

    /// The first edits that fit into a message, without what readers may not edit.
    package static func message(of edits: [HandedOverEdit], datasets: [DatasetSchema]) throws -> [HandedOverEdit] {
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

    /// Whether every edit of an earlier message is decided or among the edits of this database. A database that had the name before may have sent others.
    private func isRepeated(_ message: CloudMessage, by edits: [HandedOverEdit]) throws -> Bool {
        guard let earlier = try? ReceivedMessage(message, datasets: nil) else { return true }
        let decided = try context.database.read { try $0.decidedEdits.number(of: context.settings.device) }
        return earlier.edits.allSatisfy { edit in edit.number <= decided || edits.contains { $0.isSame(as: edit) } }
    }

    /// Writes a message's file, and replaces a damaged one: only the sender knows all of its bytes.
    private func write(_ message: CloudMessage) async throws {
        do {
            try await context.cloud.send(message, clock: context.now(), in: context.zone)
        } catch let error as CloudError where error.code == .serverRecordChanged || error.code == .damaged {
            try await context.cloud.removeMessage(message.name, in: context.zone)
            try await context.cloud.send(message, clock: context.now(), in: context.zone)
        }
    }

    private func remove(_ name: CloudMessageName) async throws { try await context.cloud.removeMessage(name, in: context.zone) }
}
