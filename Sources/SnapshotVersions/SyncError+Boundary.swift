package import CloudStore
package import LocalStore
import SnapshotModel
package import StrictText

// Errors of the database and the cloud become a `SyncError` here, which names the step.

extension LocalDatabase {
    /// Reads in one transaction; errors name the step.
    package func read<T>(at step: SyncStep, _ body: (LocalTransaction) throws -> T) throws -> T { try SyncError.at(step) { try read(body) } }

    /// Writes in one transaction; errors name the step.
    package func write<T>(at step: SyncStep, _ body: (LocalTransaction) throws -> T) throws -> T { try SyncError.at(step) { try write(body) } }
}

extension ReadSession {
    /// Calls `body` with a reader; errors name the step.
    package func withReader<T>(_ number: Int, at step: SyncStep, _ body: (DatasetReader) throws -> T) throws -> T {
        try SyncError.at(step) { try withReader(number, body) }
    }
}

extension CloudDatabase {
    /// The same cloud, whose errors name a step.
    ///
    ///     let state = try await cloud.at(.fetch).records(in: zone)
    package func at(_ step: SyncStep) -> CloudStep { CloudStep(cloud: self, step: step) }
}

/// The calls of a cloud, with errors that name a step. The three protocols of ``CloudDatabase`` document the calls.
package struct CloudStep: Sendable {
    fileprivate let cloud: any CloudDatabase
    fileprivate let step: SyncStep

    package func identity() async throws -> CloudIdentity {
        try await SyncError.at(step) { try await cloud.identity() }
    }

    package func zone(_ zone: ZoneID) async throws -> ZoneInfo {
        try await SyncError.at(step) { try await cloud.zone(zone) }
    }

    package func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try await SyncError.at(step) { try await cloud.createZone(zone, creator: creator, publishers: publishers) }
    }

    package func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try await SyncError.at(step) { try await cloud.changes(since: token, in: zone) }
    }

    package func records(in zone: ZoneID, at number: Int? = nil, notBefore token: ChangeToken? = nil) async throws -> ZoneState {
        try await SyncError.at(step) { try await cloud.records(in: zone, at: number, notBefore: token) }
    }

    package func history(in zone: ZoneID) async throws -> [Commit] {
        try await SyncError.at(step) { try await cloud.history(in: zone) }
    }

    package func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try await SyncError.at(step) { try await cloud.commits(upTo: token, count: count, in: zone) }
    }

    package func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy] {
        try await SyncError.at(step) { try await cloud.conflictCopies(in: zone) }
    }

    package func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try await SyncError.at(step) { try await cloud.prepare(draft, after: token, in: zone) }
    }

    package func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try await SyncError.at(step) { try await cloud.publish(commit) }
    }

    package func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        do { return try await cloud.newAsset(for: record, number: number, kind: kind, in: zone) } catch { throw SyncError(error, step: step) }
    }

    package func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        try await SyncError.at(step) { try await cloud.mailbox(request, in: zone) }
    }

    package func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool {
        try await SyncError.at(step) { try await cloud.isMailboxUnchanged(since: mark, in: zone) }
    }

    package func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try await SyncError.at(step) { try await cloud.removeMessage(message, in: zone) }
    }

    package func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try await SyncError.at(step) { try await cloud.deviceReport(of: device, in: zone) }
    }

    package func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try await SyncError.at(step) { try await cloud.forgetDevice(device, in: zone) }
    }

    package func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try await SyncError.at(step) { try await cloud.placeCheckpoint(at: number, in: zone) }
    }

    package func storedFiles(in zone: ZoneID) async throws -> [StoredFile] {
        try await SyncError.at(step) { try await cloud.storedFiles(in: zone) }
    }

    package func storeClock(in zone: ZoneID) async throws -> Instant {
        try await SyncError.at(step) { try await cloud.storeClock(in: zone) }
    }

    package func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try await SyncError.at(step) { try await cloud.remove(files, by: device, in: zone) }
    }
}
