public import SnapshotVersions
public import StrictText

/// What a sync would do, on each side, found out without doing it.
///
/// It holds for the state that it was made on: the applied and the newest version, and the last change that was noted here.
public struct SyncPlan: Sendable, Codable, Hashable {
    /// How many entities one side would gain, change and lose.
    public struct Counts: Sendable, Codable, Hashable {
        public internal(set) var added = 0
        public internal(set) var changed = 0
        public internal(set) var removed = 0

        /// All of them together.
        public var total: Int { added + changed + removed }
    }

    /// One entity that a sync would not leave as it is on both sides. Under the policy `single` one can go on both, and is named for each.
    public struct Item: Sendable, Codable, Hashable {
        /// Where something would change: `local`, `cloud`; or `kept`, where a reader's change stays on this device.
        public let side: String
        /// `added`, `changed` or `removed`, on that side.
        public let change: String
        /// The entity's key.
        public let key: ReportedKey
        /// Whose state wins: `local` or `cloud`.
        public let wins: String
        /// Why.
        public let reason: String
    }

    public struct Dataset: Sendable, Codable, Hashable {
        public let name: String
        /// What would change in this database.
        public let local: Counts
        /// What would change in the cloud.
        public let cloud: Counts
        /// What was changed here and stays here alone: a reader's changes.
        public let kept: Counts
        /// How many entities were changed on both sides.
        public let conflicts: Int
        /// The first of them, in key order.
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
    /// The number of the last change that was noted here; 0 before the first.
    public let sequence: Int64
    public let datasets: [Dataset]
    /// Why a sync would stop before it changes anything, each in a sentence; usually none.
    public let refusals: [String]

    /// Whether a sync would change nothing.
    public var isEmpty: Bool { datasets.allSatisfy { $0.local.total + $0.cloud.total == 0 } && version == newestVersion }

    static let formatVersion = 1
}
