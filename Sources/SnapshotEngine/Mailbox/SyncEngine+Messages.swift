import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
package import SyncRuns

extension SyncEngine {
    /// Hands local edits over to the publisher. For readers only; other devices publish their changes themselves.
    ///
    /// A failure is recorded for ``status()``: until the message can be sent again, the last success is not later than the first failure.
    ///
    /// - Returns: nil if nothing was handed over and nothing waits.
    package func sendMessages() async throws -> SendReport? {
        try await locked {
            try await recorded {
                let context = try context()
                guard context.settings.role == .reader else { return nil }
                do {
                    let report = try await send(from: context)
                    if try database.read({ try $0.state.unsentSince() }) != nil {
                        try database.write { try $0.state.unsentSince.set(nil) }
                    }
                    return report
                } catch {
                    // If the database cannot be written, nothing is recorded: the thrown error says enough.
                    try? database.write { if try $0.state.unsentSince() == nil { try $0.state.unsentSince.set(now()) } }
                    throw error
                }
            }
        }
    }

    private func send(from context: SyncContext) async throws -> SendReport? {
        let report = try await EditSender(context: context).run()
        return report == SendReport(sent: 0, putBack: 0, waiting: 0) ? nil : report
    }

    /// Asks the publisher to write every dataset whole at its next sync. Use it if an asset in the cloud is damaged. For readers only.
    package func requestFullSync() async throws -> SendReport {
        try await locked {
            let context = try context()
            guard context.settings.role == .reader else {
                throw SyncError(
                    .refused, step: .announce, at: context.database.path, "this device is a \(context.settings.role.rawValue), which publishes itself",
                    hint: "run: snapsync export --full")
            }
            try context.database.write { try $0.sentEdits.requestFullSync(at: context.now(), as: context.settings.device) }
            return try await EditSender(context: context).run()
        }
    }
}

extension SyncContext {
    /// Removes the message with withdrawn edits from the mailbox.
    ///
    /// - Returns: a warning; nil if it was removed.
    package func removeWithdrawnMessage() async -> String? {
        do {
            guard settings.role == .reader else { return nil }
            _ = try await EditSender(context: self).run()
            return nil
        } catch {
            return "the message about what was replaced is still in the mailbox, and the next sync removes it (\(SyncError(error, step: .announce).reason))"
        }
    }
}
