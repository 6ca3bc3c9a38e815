import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// A commit that lost its number to another device's commit. A folder-replicating tool allows two devices to publish the same number.
public struct ForkReport: Sendable, Encodable, Hashable {
    /// The number of both commits.
    public let version: Int
    /// The device that made the losing commit.
    public let device: String
    /// The name of the losing commit's file in the zone's `commits`; nil if it is gone.
    public let file: String?
    /// The losing commit's timestamp; nil if it is gone.
    public let timestamp: String?
    /// Whether its author has followed the winning commit and published its own changes again.
    public let isHealed: Bool

    /// The fork in a sentence that says what to do.
    public var sentence: String {
        let what = "fork: two devices published version \(version), and the one by \(device)\(timestamp.map { " of \($0)" } ?? "") does not count"
        let whereabouts = file.map { "commits/\($0)" }
        if isHealed { return "\(what); what it had was published again" + (whereabouts.map { ", and \($0) can be removed" } ?? "") }
        return "\(what)\(whereabouts.map { " (\($0))" } ?? ""); run snapsync sync on \(device), which publishes again what only it had"
    }
}

extension SnapshotInspector {
    /// The forks that files in the zone's directory show, oldest first.
    func forks() async throws -> [ForkReport] {
        try await SyncError.at(.fetch) {
            let copies = try await cloud.conflictCopies(in: zone)
            if copies.isEmpty { return [] }
            let reports = try await cloud.deviceReports(in: zone)
            var forks: [ForkReport] = []
            for copy in copies {
                let author = reports.first { $0.device == copy.device }?.token
                forks.append(
                    ForkReport(
                        version: copy.token.number, device: copy.device, file: copy.fileName, timestamp: copy.timestamp.description,
                        isHealed: copy.authorHasGoneOn ? true : try await stands(author, from: copy.token.number)))
            }
            return forks
        }
    }

    /// Whether `token`, a device's applied version, is on the winning history at or after `number`.
    private func stands(_ token: ChangeToken?, from number: Int) async throws -> Bool {
        guard let token, token.number >= number else { return false }
        do {
            _ = try await cloud.changes(since: token, in: zone)
            // Reading the records follows every parent link: the token's own commit may be in place while its parent is a losing one.
            _ = try await cloud.records(in: zone)
            return true
        } catch let error as CloudError where [.rolledBack, .damaged, .changeTokenExpired].contains(error.code) {
            return error.code == .changeTokenExpired
        }
    }
}

extension ForkReport {
    /// The forks that the directory shows, plus the one that only this device knows of.
    static func all(_ news: UpstreamChanges, at device: SyncContext) async throws -> [ForkReport] {
        let inspector = SnapshotInspector(cloud: device.cloud, zone: device.zone, applied: news.applied, device: device)
        let forks = try await inspector.forks()
        guard news.fork != nil, let applied = news.applied, !forks.contains(where: { $0.version == applied.number && !$0.isHealed }) else { return forks }
        return forks + [ForkReport(version: applied.number, device: device.settings.device, file: nil, timestamp: nil, isHealed: false)]
    }
}
