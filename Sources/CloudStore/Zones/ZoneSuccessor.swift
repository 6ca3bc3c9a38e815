/// The zone that continues another one, which was signed or sealed after a time of use without.
public struct ZoneSuccessor: Hashable, Sendable, Codable {
    /// The zone's name. It is in the same scope of the same cloud.
    public let zone: String
    /// The key fingerprint of the device that creates it, in eight words (``KeyFingerprint``).
    public let creator: String
    /// The features that a reader must support to read it (``ZoneInfo/features``): `signed`, or `sealed` and `signed`, perhaps with more.
    public let features: [String]

    /// If the moved zone is signed: the statements of its list of members. With them its last commit can be verified after everything else
    /// was removed.
    package var members: [String]?

    package init(zone: String, creator: String, features: [String], members: [String]? = nil) {
        self.zone = zone
        self.creator = creator
        self.features = features
        self.members = members
    }

    /// Whether the zone is encrypted for its members.
    public var isSealed: Bool { protection.contains(.sealed) }

    /// How the zone is protected.
    public var protection: ZoneProtection { ZoneProtection(features: features) ?? [] }

    /// The word for error messages: `signed` or `sealed`.
    package var kind: String { isSealed ? "sealed" : "signed" }
}
