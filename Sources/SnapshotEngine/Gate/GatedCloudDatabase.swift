import CloudStore
import StrictText

/// A cloud that takes no commit and no message once the gate has closed: who turns sync off while a run works is heard before anything is announced.
struct GatedCloudDatabase: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    let gate: SyncGate

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try gate.verify()
        return try await wrapped.publish(commit)
    }

    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try gate.verify()
        try await wrapped.send(message, clock: clock, in: zone)
    }
}
