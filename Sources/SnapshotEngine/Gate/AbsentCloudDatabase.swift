import CloudStore
import SnapshotVersions
import StrictText

/// Replaces a cloud that could not be opened or must not be used: every request throws the reason.
struct AbsentCloudDatabase: CloudDatabase {
    let reason: SyncError

    func identity() async throws -> CloudIdentity { throw reason }
    func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo { throw reason }
    func zone(_ zone: ZoneID) async throws -> ZoneInfo { throw reason }
    func zones() async throws -> [ZoneInfo] { throw reason }
    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges { throw reason }
    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState { throw reason }
    func history(in zone: ZoneID) async throws -> [Commit] { throw reason }
    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit { throw reason }
    func publish(_ commit: PreparedCommit) async throws -> ChangeToken { throw reason }
    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter { throw reason }
    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader { throw reason }
    func discard(_ assets: [CloudAsset], in zone: ZoneID) async {}
    func report(_ report: DeviceReport, in zone: ZoneID) async throws { throw reason }
    func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] { throw reason }
    func forgetDevice(_ device: String, in zone: ZoneID) async throws { throw reason }
    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws { throw reason }
    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox { throw reason }
    func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws { throw reason }
}
