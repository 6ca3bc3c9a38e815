import CloudStore
import StrictText

/// A cloud that refuses commits and messages once the gate is closed. If the user turns sync off during a run, nothing is published after that.
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
