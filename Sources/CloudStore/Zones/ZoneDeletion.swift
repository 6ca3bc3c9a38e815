public import StrictText

/// Why, when and by which device a zone was deleted.
public struct ZoneDeletion: Hashable, Sendable {
    /// The three ways in which CloudKit deletes a zone.
    public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
        /// A program deleted the zone.
        case deleted
        /// A person removed the app's data in the settings. It should not be uploaded again automatically.
        case purged
        /// The account's encrypted data was reset. A device may upload its data again.
        case encryptedDataReset
    }

    /// The reason for the deletion.
    public let reason: Reason
    /// The device that deleted the zone.
    public let device: String
    /// The timestamp of the deleting commit.
    public let at: Instant
    /// For a moved zone, the zone that continues it; otherwise nil.
    public let successor: ZoneSuccessor?

    /// Makes the description of a deletion.
    public init(reason: Reason, device: String, at: Instant, successor: ZoneSuccessor? = nil) {
        (self.reason, self.device, self.at, self.successor) = (reason, device, at, successor)
    }
}

/// A commit's effect on the zone itself; for backends. Applications call ``CloudDatabase/deleteZone(_:reason:by:retry:now:clock:)``.
public enum ZoneEvent: Hashable, Sendable {
    /// The zone and all its records are deleted. Only a commit that creates it again may follow.
    case deleted(ZoneDeletion.Reason)
    /// The zone exists again, empty.
    case created
    /// Another zone continues this one. No commit may follow.
    case moved(ZoneSuccessor)
}

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
        (self.zone, self.creator, self.features, self.members) = (zone, creator, features, members)
    }

    /// Whether the zone is encrypted for its members.
    public var isSealed: Bool { protection.contains(.sealed) }

    /// How the zone is protected.
    public var protection: ZoneProtection { ZoneProtection(features: features) ?? [] }

    /// The word for error messages: `signed` or `sealed`.
    package var kind: String { isSealed ? "sealed" : "signed" }
}
