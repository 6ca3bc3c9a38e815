/// What `sign` or `seal` did, or with a dry run would do.
public struct TurnOverReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// The number of entities in the next zone's first version, as far as it is known; nil before the first version.
        public let recordCount: Int?
    }

    public let isDryRun: Bool
    /// The zone that is left behind.
    public let earlierZone: String
    /// Its last version.
    public let earlierVersion: Int?
    /// The zone that continues it.
    public let zone: String
    /// Whether that zone is sealed; if not, it is signed.
    public let isSealed: Bool
    /// The eight words of this device, which creates the zone; nil in a dry run if the device has no keys there yet.
    public let creator: String?
    /// The zone's newest version; nil in a dry run.
    public internal(set) var version: Int?
    /// The datasets that are published whole.
    public let datasets: [Dataset]
    /// The devices that stay members, if the earlier zone was signed.
    public internal(set) var admitted: [String]
    /// The devices that have reported in the earlier zone and must be approved in the next one.
    public let toApprove: [String]
    /// The versions that were pinned in the earlier zone. The pins stay there.
    public let pinnedVersions: [Int]
    /// The number and total size in bytes of the earlier zone's files that hold data.
    public let earlierFiles: Int
    public let earlierBytes: Int
    /// Whether those files were removed, or in a dry run would be. If not, anybody who can read the store can read them.
    public internal(set) var isEarlierRemoved: Bool
    /// The recovery code of a sealed zone. It is a secret and stored nowhere. nil if this call made none.
    public internal(set) var recoveryCode: String?
    /// Warnings, one sentence each.
    public internal(set) var warnings: [String]

    /// The word `signed` or `sealed`.
    public var kind: String { isSealed ? "sealed" : "signed" }
}
