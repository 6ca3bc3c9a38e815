import Foundation
import GRDB
public import SnapshotModel

/// What `init` wrote into the database: the one source of truth for every later command.
public struct SyncSettings: Sendable, Hashable {
    /// The cloud directory's absolute path.
    public var cloud: String
    /// The UUID that `init` saw there.
    public var cloudUUID: String
    /// `private` or `public`.
    public var scope: String
    public var zone: String
    public var role: SyncRole
    public var device: String
    /// The datasets that travel, parents before children.
    public var datasets: [DatasetSchema]
    /// Whether the first import may replace rows that were there before it.
    public var replacesOwnRows: Bool
    /// Whether the first import keeps those rows that the cloud knows nothing of; a publisher's always does.
    public var adoptsOwnRows: Bool
    /// The container identifier that the cloud must have; nil in a database that an earlier version set up.
    public var container: String?

    public init(
        cloud: String, cloudUUID: String, scope: String, zone: String, role: SyncRole, device: String,
        datasets: [DatasetSchema], replacesOwnRows: Bool, adoptsOwnRows: Bool = false, container: String? = nil
    ) {
        self.cloud = cloud
        self.cloudUUID = cloudUUID
        self.scope = scope
        self.zone = zone
        self.role = role
        self.device = device
        self.datasets = datasets
        self.replacesOwnRows = replacesOwnRows
        self.adoptsOwnRows = adoptsOwnRows
        self.container = container
    }
}
