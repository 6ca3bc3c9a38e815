import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// The result of `relocate`.
public struct RelocationReport: Sendable, Encodable {
    public let database: String
    public let zone: String
    /// The path of the cloud directory until now.
    public let previousCloud: String
    /// The new path.
    public let cloud: String
    public let cloudUUID: String
}

extension SyncEngine {
    /// Stores another path of the cloud directory for all later runs, after the directory was moved or mounted elsewhere.
    ///
    /// Nothing is imported or published.
    ///
    /// - Parameter path: a directory or a bucket (`s3://BUCKET/PREFIX`) with the same cloud, whose zone has the applied version.
    /// - Throws: ``SyncError``; with `.refused` for another cloud, or, at a peer, for a replicated folder or a store without conditional writes;
    ///   with `.dataRefused` for an older copy of the zone.
    public func relocate(to path: String) async throws -> RelocationReport {
        try await locked {
            guard backend == nil else {
                throw SyncError(
                    .refused, step: .open, at: path,
                    "only a directory or a bucket has a path; this database was opened with a backend of the application's own",
                    hint: "open the database without a backend")
            }
            try gate.verify()
            let settings = try database.read(at: .open) { try $0.settings.read() }
            let place = try await Self.verifyPlace(path, for: settings, database, keyStore)
            try database.write(at: .open) { try $0.settings.setCloud(place) }
            return RelocationReport(
                database: database.path, zone: settings.zone, previousCloud: settings.cloud, cloud: place, cloudUUID: settings.cloudUUID)
        }
    }

    /// Checks that a directory or bucket has the cloud and the history of a database. Returns the text for the settings.
    static func verifyPlace(_ path: String, for settings: SyncSettings, _ database: LocalDatabase, _ keyStore: any KeyStore) async throws -> String {
        let (applied, isReplicated) = try database.read(at: .read) { (try $0.state.applied(), try $0.settings.operatorSettings().isReplicated) }
        let cloud = try SyncError.at(.open) { try CloudLocation.open(path, expecting: settings.cloudUUID, container: settings.container) }
        let known = try database.read(at: .read) { try $0.state.zoneKnowledge() }
        _ = try SyncError.at(.open) { try SignedZone(of: settings, knowing: known, keyStore, in: cloud) }
        let place = CloudLocation.canonical(path, cloud)
        if settings.role == .peer, !CloudLocation.isBucket(place) { try ReplicatedFolder.refuse(place, isSaid: isReplicated) }
        do {
            _ = try await cloud.changes(since: applied?.token, in: settings.zoneID)
        } catch let error as CloudError where error.code == .changeTokenExpired {
            // The applied version was pruned; the zone continues from it.
        } catch {
            throw SyncError(error, step: .open)
        }
        if settings.role == .peer { _ = try await BucketTrial.run(in: cloud, for: settings.role, at: place) }
        return place
    }
}
