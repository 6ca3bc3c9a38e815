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
        self.reason = reason
        self.device = device
        self.at = at
        self.successor = successor
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
