/// What `sign` or `seal` did, or with a dry run would do.
public struct TurnOverReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many entities the next zone's first version has, as far as it is known; nil before the first version.
        public let recordCount: Int?
    }

    public let isDryRun: Bool
    /// The zone that is left.
    public let earlierZone: String
    /// Its last version.
    public let earlierVersion: Int?
    /// The zone in which it goes on.
    public let zone: String
    /// Whether that zone is sealed; if not, it is signed.
    public let isSealed: Bool
    /// The eight words of this device, which makes the zone; nil in a dry run before it has keys there.
    public let creator: String?
    /// The zone's newest version; nil in a dry run.
    public internal(set) var version: Int?
    /// The datasets that are published whole.
    public let datasets: [Dataset]
    /// The devices that stay members, because the zone that is left was signed.
    public internal(set) var admitted: [String]
    /// The devices that have reported in the zone that is left and have to be approved in the next one.
    public let toApprove: [String]
    /// The versions that were pinned in the zone that is left; the pins stay there.
    public let pinnedVersions: [Int]
    /// How many files of the zone that is left hold data, and their size in bytes.
    public let earlierFiles: Int
    public let earlierBytes: Int
    /// Whether they were removed, or a dry run was asked whether they would be; if not, whoever can read the store can read them.
    public internal(set) var isEarlierRemoved: Bool
    /// The recovery code of a sealed zone: a secret, which is stored nowhere. nil if none was made by this call.
    public internal(set) var recoveryCode: String?
    /// What deserves attention, in words.
    public internal(set) var warnings: [String]

    /// One of the words `signed` and `sealed`.
    public var kind: String { isSealed ? "sealed" : "signed" }
}
