import Foundation
import GRDB
public import SnapshotModel

/// What `init` stored in the database. Every later command reads its settings from here.
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
    /// The datasets that are synced, parents before children.
    public var datasets: [DatasetSchema]
    /// Whether the first import may replace rows that existed before it.
    public var replacesOwnRows: Bool
    /// Whether the first import keeps existing rows that the zone does not have. A publisher's first import always does.
    public var adoptsOwnRows: Bool
    /// The container identifier that the cloud must have; nil if any will do.
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
