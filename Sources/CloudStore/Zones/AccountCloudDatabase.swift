public import StrictText

/// A cloud that needs an account, as CloudKit does. Without one, private zones cannot be used, and public zones can only be read.
public struct AccountCloudDatabase: CloudDatabaseDecorator {
    /// The cloud that does the work.
    public let wrapped: any CloudDatabase
    /// The account. Its state at the time of a call counts.
    public let account: CloudAccount

    /// Wraps a cloud with an account.
    public init(wrapping cloud: any CloudDatabase, account: CloudAccount) {
        wrapped = cloud
        self.account = account
    }

    /// The account's state; if the account is available, the state of the cloud.
    public func accountStatus() async -> AccountStatus {
        account.status == .available ? await wrapped.accountStatus() : account.status
    }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try verify("\(zone)")
        return try await wrapped.createZone(zone, creator: creator, publishers: publishers)
    }

    public func zone(_ zone: ZoneID) async throws -> ZoneInfo {
        try verifyReading(zone)
        return try await wrapped.zone(zone)
    }

    /// The zones that can be read in the account's present state.
    public func zones() async throws -> [ZoneInfo] {
        let isOpen = account.status == .available
        return try await wrapped.zones().filter { isOpen || $0.id.scope == .public }
    }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try verifyReading(zone)
        return try await wrapped.changes(since: token, in: zone)
    }

    public func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try verifyReading(zone)
        return try await wrapped.records(in: zone, at: number, notBefore: token)
    }

    public func history(in zone: ZoneID) async throws -> [Commit] {
        try verifyReading(zone)
        return try await wrapped.history(in: zone)
    }

    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try verifyReading(zone)
        return try await wrapped.commits(upTo: token, count: count, in: zone)
    }

    public func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy] {
        try verifyReading(zone)
        return try await wrapped.conflictCopies(in: zone)
    }

    public func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try verify("\(zone)")
        return try await wrapped.prepare(draft, after: token, in: zone)
    }

    public func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try verify("\(commit.zone)")
        return try await wrapped.publish(commit)
    }

    public func newAsset(
        for record: String, number: Int, kind: AssetKind, in zone: ZoneID
    ) async throws -> sending any AssetWriter {
        try verify("\(zone)")
        return try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try verifyReading(zone)
        return try await wrapped.openAsset(asset, in: zone)
    }

    /// Discards assets that no commit names. Without an account they stay until the next prune.
    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        guard account.status == .available else { return }
        await wrapped.discard(assets, in: zone)
    }

    public func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.report(report, in: zone)
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.forgetDevice(device, in: zone)
    }

    public func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] {
        try verifyReading(zone)
        return try await wrapped.deviceReports(in: zone)
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try verifyReading(zone)
        return try await wrapped.deviceReport(of: device, in: zone)
    }

    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try verify("\(zone)")
        return try await wrapped.placeCheckpoint(at: number, in: zone)
    }

    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try verifyReading(zone)
        return try await wrapped.records(in: zone, of: checkpoint)
    }

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] {
        try verifyReading(zone)
        return try await wrapped.storedFiles(in: zone)
    }

    public func storeClock(in zone: ZoneID) async throws -> Instant {
        try verify("\(zone)")
        return try await wrapped.storeClock(in: zone)
    }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.remove(files, by: device, in: zone)
    }

    public func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.send(message, clock: clock, in: zone)
    }

    public func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        try verifyReading(zone)
        return try await wrapped.mailbox(request, in: zone)
    }

    public func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool {
        try verifyReading(zone)
        return try await wrapped.isMailboxUnchanged(since: mark, in: zone)
    }

    public func publishQueue(in zone: ZoneID) async throws -> [PublishTicket] {
        try verifyReading(zone)
        return try await wrapped.publishQueue(in: zone)
    }

    public func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.enqueue(ticket, in: zone)
    }

    public func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.dequeue(ticket, in: zone)
    }

    public func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try verify("\(zone)")
        try await wrapped.removeMessage(message, in: zone)
    }

    private func verify(_ place: String) throws {
        if let error = account.status.error(at: place) { throw error }
    }

    private func verifyReading(_ zone: ZoneID) throws {
        if zone.scope == .private { try verify("\(zone)") }
    }
}
