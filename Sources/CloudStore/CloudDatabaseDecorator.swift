public import StrictText

/// A ``CloudDatabase`` that wraps another one and changes part of its behaviour: limits, accounts, faults for tests.
///
///     struct SlowCloud: CloudDatabaseDecorator {
///         let wrapped: any CloudDatabase
///         func publish(_ commit: PreparedCommit) async throws -> ChangeToken { … }
///     }
///
/// Calls that a decorator does not implement go to the wrapped cloud unchanged.
public protocol CloudDatabaseDecorator: CloudDatabase {
    /// The cloud that does the work.
    var wrapped: any CloudDatabase { get }

    /// Called before each call that concerns a zone, if the decorator does not implement that call itself. Throws to refuse the call; the
    /// default permits all.
    func verify(_ access: ZoneAccess, of zone: ZoneID) throws
}

/// What a call does with a zone.
public enum ZoneAccess: Hashable, Sendable {
    case read, write
}

extension CloudDatabaseDecorator {
    public func verify(_ access: ZoneAccess, of zone: ZoneID) throws {}

    public func identity() async throws -> CloudIdentity { try await wrapped.identity() }

    public func accountStatus() async -> AccountStatus { await wrapped.accountStatus() }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try verify(.write, of: zone)
        return try await wrapped.createZone(zone, creator: creator, publishers: publishers)
    }

    public func zone(_ zone: ZoneID) async throws -> ZoneInfo {
        try verify(.read, of: zone)
        return try await wrapped.zone(zone)
    }

    public func zones() async throws -> [ZoneInfo] { try await wrapped.zones() }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try verify(.read, of: zone)
        return try await wrapped.changes(since: token, in: zone)
    }

    public func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try verify(.read, of: zone)
        return try await wrapped.records(in: zone, at: number, notBefore: token)
    }

    public func history(in zone: ZoneID) async throws -> [Commit] {
        try verify(.read, of: zone)
        return try await wrapped.history(in: zone)
    }

    public func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy] {
        try verify(.read, of: zone)
        return try await wrapped.conflictCopies(in: zone)
    }

    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try verify(.read, of: zone)
        return try await wrapped.commits(upTo: token, count: count, in: zone)
    }

    public func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try verify(.write, of: zone)
        return try await wrapped.prepare(draft, after: token, in: zone)
    }

    public func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try verify(.write, of: commit.zone)
        return try await wrapped.publish(commit)
    }

    public func newAsset(
        for record: String, number: Int, kind: AssetKind, in zone: ZoneID
    ) async throws -> sending any AssetWriter {
        try verify(.write, of: zone)
        return try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try verify(.read, of: zone)
        return try await wrapped.openAsset(asset, in: zone)
    }

    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        guard (try? verify(.write, of: zone)) != nil else { return }
        await wrapped.discard(assets, in: zone)
    }

    public func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        wrapped.events(in: zone, handler)
    }

    public func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.report(report, in: zone)
    }

    public func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] {
        try verify(.read, of: zone)
        return try await wrapped.deviceReports(in: zone)
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.forgetDevice(device, in: zone)
    }

    public func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.send(message, clock: clock, in: zone)
    }

    public func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        try verify(.read, of: zone)
        return try await wrapped.mailbox(request, in: zone)
    }

    public func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool {
        try verify(.read, of: zone)
        return try await wrapped.isMailboxUnchanged(since: mark, in: zone)
    }

    public func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.removeMessage(message, in: zone)
    }

    public func publishQueue(in zone: ZoneID) async throws -> [PublishTicket] {
        try verify(.read, of: zone)
        return try await wrapped.publishQueue(in: zone)
    }

    public func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.enqueue(ticket, in: zone)
    }

    public func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.dequeue(ticket, in: zone)
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try verify(.read, of: zone)
        return try await wrapped.deviceReport(of: device, in: zone)
    }

    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try verify(.write, of: zone)
        return try await wrapped.placeCheckpoint(at: number, in: zone)
    }

    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try verify(.read, of: zone)
        return try await wrapped.records(in: zone, of: checkpoint)
    }

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] {
        try verify(.read, of: zone)
        return try await wrapped.storedFiles(in: zone)
    }

    public func storeClock(in zone: ZoneID) async throws -> Instant {
        try verify(.write, of: zone)
        return try await wrapped.storeClock(in: zone)
    }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try verify(.write, of: zone)
        try await wrapped.remove(files, by: device, in: zone)
    }
}
