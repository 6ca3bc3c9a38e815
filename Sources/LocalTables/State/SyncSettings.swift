import Foundation
import GRDB
package import SnapshotModel
import StrictText

/// What `init` stored in the database. Every later command reads its settings from here.
package struct SyncSettings: Sendable, Hashable {
    /// The cloud directory's absolute path.
    package var cloud: String
    /// The UUID that `init` saw there.
    package var cloudUUID: String
    /// `private` or `public`.
    package var scope: String
    package var zone: String
    package var role: SyncRole
    package var device: String
    /// The datasets that are synced, parents before children.
    package var datasets: [DatasetSchema]
    /// Whether the first import may replace rows that existed before it.
    package var replacesOwnRows: Bool
    /// Whether the first import keeps existing rows that the zone does not have. A publisher's first import always does.
    package var adoptsOwnRows: Bool
    /// The container identifier that the cloud must have; nil if any will do.
    package var container: String?

    package init(
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

    /// The command that stops syncing a dataset: a database has at least one.
    package func removal(of schema: DatasetSchema, at path: String) -> String {
        datasets.count > 1 ? "snapsync tables remove \(path.shellWord) \(schema.name.shellWord)" : "snapsync detach \(path.shellWord)"
    }
}
