import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// A commit that lost its number to another device's, for a tool that replicates folders let both be published.
public struct ForkReport: Sendable, Encodable, Hashable {
    /// The number that two commits have.
    public let version: Int
    /// Who made the commit that lost.
    public let device: String
    /// The file that holds it, in the zone's `commits`; nil if it is gone.
    public let file: String?
    /// The commit's timestamp; nil if it is gone.
    public let timestamp: String?
    /// Whether its author has gone on with the commit that stands, and has published again what only it had.
    public let isHealed: Bool

    /// The fork in a sentence with what to do.
    public var sentence: String {
        let what = "fork: two devices published version \(version), and the one by \(device)\(timestamp.map { " of \($0)" } ?? "") does not count"
        let whereabouts = file.map { "commits/\($0)" }
        if isHealed { return "\(what); what it had was published again" + (whereabouts.map { ", and \($0) can be removed" } ?? "") }
        return "\(what)\(whereabouts.map { " (\($0))" } ?? ""); run snapsync sync on \(device), which publishes again what only it had"
    }
}

extension SnapshotInspector {
    /// The forks that show in the zone's directory, oldest first.
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

    /// Whether a device that has applied `token` goes on with the commits that stand, from `number` on.
    private func stands(_ token: ChangeToken?, from number: Int) async throws -> Bool {
        guard let token, token.number >= number else { return false }
        do {
            _ = try await cloud.changes(since: token, in: zone)
            // Folding follows every link: a later commit of its own may stand on one that does not.
            _ = try await cloud.records(in: zone)
            return true
        } catch let error as CloudError where [.rolledBack, .damaged, .changeTokenExpired].contains(error.code) {
            return error.code == .changeTokenExpired
        }
    }
}

extension ForkReport {
    /// The forks that show in the directory, and the one that a device alone knows of.
    static func all(_ news: UpstreamChanges, at device: SyncContext) async throws -> [ForkReport] {
        let inspector = SnapshotInspector(cloud: device.cloud, zone: device.zone, applied: news.applied, device: device)
        let forks = try await inspector.forks()
        guard news.fork != nil, let applied = news.applied, !forks.contains(where: { $0.version == applied.number && !$0.isHealed }) else { return forks }
        return forks + [ForkReport(version: applied.number, device: device.settings.device, file: nil, timestamp: nil, isHealed: false)]
    }
}
