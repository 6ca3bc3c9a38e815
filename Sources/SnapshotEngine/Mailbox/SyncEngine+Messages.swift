import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncEngine {
    /// Sends local changes to the publisher. For readers only; other devices publish their changes themselves.
    ///
    /// A failure is recorded for ``status()``: until messages can be sent again, the last success is not later than the first failure.
    ///
    /// - Returns: nil if this database has never had a message to send.
    public func sendMessages() async throws -> SendReport? {
        try await locked {
            try await recorded {
                let device = try device()
                guard device.settings.role == .reader else { return nil }
                do {
                    let report = try await send(from: device)
                    if try database.read(at: .read, { try $0.state.unsentSince() }) != nil {
                        try database.write(at: .announce) { try $0.state.setUnsentSince(nil) }
                    }
                    return report
                } catch {
                    // If the database cannot be written, nothing is recorded: the thrown error says enough.
                    try? database.write { if try $0.state.unsentSince() == nil { try $0.state.setUnsentSince(now()) } }
                    throw error
                }
            }
        }
    }

    private func send(from device: SyncContext) async throws -> SendReport? {
        try await MessageComposer(device: device).run()
        guard try device.database.read(at: .read, { try $0.mailbox.exist() }) else { return nil }
        return try await MessageSender(device: device).run()
    }

    /// Asks the publisher to write every dataset whole at its next sync. Use it if an asset in the cloud is damaged. For readers only.
    public func requestFullSync() async throws -> SendReport {
        try await locked {
            let device = try device()
            guard device.settings.role == .reader else {
                throw SyncError(
                    .refused, step: .announce, at: device.database.path, "this device is a \(device.settings.role.rawValue), which publishes itself",
                    hint: "run: snapsync export --full")
            }
            try device.database.write(at: .announce) { transaction in
                try transaction.mailbox.prepare()
                let isAsked = try transaction.outbox.entries(onlyMessages: true).contains { $0.dataset == nil && [.stored, .sent].contains($0.state) }
                // One request is enough until it is answered.
                guard !isAsked else { return }
                let now = device.now(), id = CloudMessage.newID(at: now, nonces: device.nonces)
                let message = SyncUpdateMessage(type: .fullSync, timestamp: now.description, id: id, sender: device.settings.device)
                try transaction.outbox.add(id: id, body: StrictJSON.encode(message))
            }
            return try await MessageSender(device: device).run()
        }
    }

    /// Sets how many messages of this device may wait in the mailbox. Further messages stay in the database until there is room.
    public func setMessageLimit(_ limit: Int) throws {
        try lockedHere {
            try database.write(at: .open) { transaction in
                _ = try transaction.settings.read()
                try transaction.state.setMessageLimit(limit)
            }
        }
    }
}

extension SyncContext {
    /// Removes the files of withdrawn messages from the mailbox.
    ///
    /// - Returns: a warning; nil if they were removed.
    package func removeWithdrawnMessages() async -> String? {
        do {
            guard try settings.role == .reader && database.read({ try $0.mailbox.exist() }) else { return nil }
            _ = try await MessageSender(device: self).run()
            return nil
        } catch {
            return "messages about what was replaced are still in the mailbox, and the next sync removes them (\(SyncError(error, step: .announce).reason))"
        }
    }
}
