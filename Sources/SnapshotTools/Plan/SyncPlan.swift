public import SnapshotVersions
public import StrictText

/// What a sync would do on each side.
///
/// A plan is valid for the state from which it was made: the applied version, the newest version, and the last logged change.
public struct SyncPlan: Sendable, Codable, Hashable {
    /// How many entities would be added, changed and removed on one side.
    public struct Counts: Sendable, Codable, Hashable {
        public internal(set) var added = 0
        public internal(set) var changed = 0
        public internal(set) var removed = 0

        /// All of them together.
        public var total: Int { added + changed + removed }
    }

    /// One entity that a sync would change on a side. Under the policy `single` an entity can be removed on both sides; then it is listed twice.
    public struct Item: Sendable, Codable, Hashable {
        /// The side that would change: `local`, `cloud`, or `kept` for a reader's change that stays on this device.
        public let side: String
        /// `added`, `changed` or `removed`, on that side.
        public let change: String
        /// The entity's key.
        public let key: ReportedKey
        /// The side whose state wins: `local` or `cloud`.
        public let wins: String
        /// The reason why that side wins.
        public let reason: String
    }

    public struct Dataset: Sendable, Codable, Hashable {
        public let name: String
        /// The changes in this database.
        public let local: Counts
        /// The changes in the cloud.
        public let cloud: Counts
        /// The changes of a reader that stay on this device.
        public let kept: Counts
        /// How many entities were changed on both sides.
        public let conflicts: Int
        /// The first entities that would change, in key order.
        public let items: [Item]
    }

    public let formatVersion: Int
    public let madeAt: Instant
    public let database: String
    public let cloudUUID: String
    public let zone: String
    public let device: String
    public let role: String
    /// The version that is applied here; nil before the first.
    public let version: Int?
    /// The SHA-256 of that version's commit.
    public let versionHash: String?
    /// The zone's newest version; nil if it has none.
    public let newestVersion: Int?
    /// The SHA-256 of that version's commit.
    public let newestHash: String?
    /// The sequence number of the last logged change; 0 before the first.
    public let sequence: Int64
    public let datasets: [Dataset]
    /// Why a sync would stop before it changes anything, each in a sentence; usually empty.
    public let refusals: [String]

    /// Whether a sync would change nothing.
    public var isEmpty: Bool { datasets.allSatisfy { $0.local.total + $0.cloud.total == 0 } && version == newestVersion }

    static let formatVersion = 1
}
