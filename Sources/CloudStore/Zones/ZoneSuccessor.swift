/// The zone in which another one goes on: one that was signed or sealed after it had been used without.
public struct ZoneSuccessor: Hashable, Sendable, Codable {
    /// The zone's name. It lies in the same scope of the same cloud.
    public let zone: String
    /// The eight words of the device that makes it (``KeyFingerprint``).
    public let creator: String
    /// What a reader must know to read it (``ZoneInfo/features``): `signed`, or `sealed` and `signed`.
    public let features: [String]

    /// Of a signed zone that goes on there: the statements of its list of members, so that its last commit is proved by itself.
    package var members: [String]?

    package init(zone: String, creator: String, features: [String], members: [String]? = nil) {
        self.zone = zone
        self.creator = creator
        self.features = features
        self.members = members
    }

    /// Whether the zone is encrypted for its members.
    public var isSealed: Bool { features.contains(ZoneInfo.sealedFeature) }

    /// One of the words `signed` and `sealed`.
    package var kind: String { isSealed ? ZoneInfo.sealedFeature : ZoneInfo.signedFeature }
}
