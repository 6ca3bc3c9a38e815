import CloudStore
import Foundation
import SnapshotEngine
import SnapshotVersions
import StrictText
public import SyncRuns

/// The result of ``CloudMirror/run(progress:)``.
public struct MirrorReport: Sendable, Encodable {
    /// One zone.
    public struct Zone: Sendable, Encodable {
        /// Scope and name: `private/ZentikSyncZone`.
        public let zone: String
        /// How many versions the copy lacked, and how many assets of what total size in bytes.
        public let versions: Int
        public let assets: Int
        public let bytes: Int
        /// The newest version of the copy; nil if the zone has none.
        public let newestVersion: Int?
        /// The zone in which this one goes on, if all its versions were removed since and the copy keeps those that it has; else nil.
        public let successor: String?
    }

    public let from: String
    public let to: String
    public let cloudUUID: String
    /// Whether this run created the copy.
    public let isNew: Bool
    public let zones: [Zone]
}

/// Copies a cloud to another place, or updates an earlier copy. Source and copy can each be a directory or a bucket.
///
///     let report = try await CloudMirror(from: "/mnt/share/cloud", to: "s3://team-data/app").run()
///
/// The copy is the same cloud, with the same files, names and bytes. Commits are copied last, so an interrupted copy is a valid cloud that ends
/// at an earlier version, and the next run continues it. A copy serves readers, restores, and a move (``SyncDevices/relocate(to:)``). Devices
/// that publish must all use one place, so a copy in which a device has published is refused.
public struct CloudMirror: Sendable {
    let from: String
    let to: String

    /// - Parameters:
    ///   - from: the path of a cloud's directory, or `s3://BUCKET/PREFIX`.
    ///   - to: an empty or missing directory, a prefix without objects, or an earlier copy.
    public init(from: String, to: String) { (self.from, self.to) = (from, to) }

    /// Copies every zone.
    ///
    /// - Parameter progress: gets the number of copied assets of each zone, in place of entities.
    /// - Throws: ``SyncError`` with `.refused` if `to` holds another cloud or has versions of its own; `.dataRefused` if files of `from`
    ///   are damaged; and the errors of clouds that cannot be opened, read or written.
    public func run(progress: ProgressHandler? = nil) async throws -> MirrorReport { try await WorkerThreads.host { try await copy(progress) } }

    private func copy(_ progress: ProgressHandler?) async throws -> MirrorReport {
        let source = try CloudLocation.open(from)
        let identity = try await source.identity()
        let (outer, inner) = (URL(fileURLWithPath: from).standardizedFileURL.path, URL(fileURLWithPath: to).standardizedFileURL.path)
        guard CloudLocation.isBucket(from) || !"\(inner)/".exact.hasPrefix("\(outer)/") else {
            throw SyncError(.refused, step: .store, at: to, "a location is not copied into itself", hint: "give another place")
        }
        let (target, isNew) = try CloudLocation.create(at: to, copyOf: identity)
        let there = try await target.identity()
        guard there == identity else {
            throw SyncError(
                .refused, step: .store, at: target.location, "this is the location \(there.uuid), not a copy of \(identity.uuid) in \(source.location)",
                hint: "give an empty place")
        }
        guard source.location != target.location else {
            throw SyncError(.refused, step: .store, at: target.location, "a location is not copied into itself", hint: "give another place")
        }
        var zones: [MirrorReport.Zone] = []
        for info in try await source.zones() {
            let copy = try await createZone(like: info, in: target)
            guard copy == info else {
                throw SyncError(
                    .refused, step: .store, at: "\(target.location), \(info.id)", "the zone there was made by another device, or with other rules",
                    hint: "give an empty place")
            }
            let name = "\(info.id)"
            let tell = progress.map { progress in
                { @Sendable in progress(SyncProgress(step: .store, dataset: name, entityCount: $0, expectedCount: $1)) }
            }
            let outcome = try SyncError.at(.store) { try ZoneCopy(info.id, from: source, to: target, progress: tell).run() }
            zones.append(
                MirrorReport.Zone(
                    zone: info.id.description, versions: outcome.versions, assets: outcome.assets, bytes: outcome.bytes, newestVersion: outcome.newest,
                    successor: outcome.successor))
        }
        return MirrorReport(from: source.location, to: target.location, cloudUUID: identity.uuid, isNew: isNew, zones: zones)
    }

    /// Creates the zone in the copy, with the rules of the original.
    private func createZone(like info: ZoneInfo, in target: CloudDatabase) async throws -> ZoneInfo {
        guard info.isSigned else {
            return try await target.createZone(info.id, creator: info.creator, publishers: info.publishers)
        }
        return try await target.createSignedZone(info.id, creator: info.creator, publishers: info.publishers, protection: info.protection)
    }
}
