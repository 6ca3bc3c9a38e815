public import StrictText

/// Why, when and by which device a zone was deleted.
public struct ZoneDeletion: Hashable, Sendable {
    /// The three ways in which CloudKit deletes a zone.
    public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
        /// A program deleted the zone.
        case deleted
        /// A person removed the app's data in the settings: it should not come back by itself.
        case purged
        /// The account's encrypted data was reset: what is here may be uploaded again.
        case encryptedDataReset
    }

    /// Why.
    public let reason: Reason
    /// The device that did it.
    public let device: String
    /// When: the commit's timestamp.
    public let at: Instant
    /// Where the zone goes on; nil if it does not.
    public let successor: ZoneSuccessor?

    /// Describes a deletion.
    public init(reason: Reason, device: String, at: Instant, successor: ZoneSuccessor? = nil) {
        self.reason = reason
        self.device = device
        self.at = at
        self.successor = successor
    }
}

/// What a commit does to the zone itself; for backends. Others call ``RecordDatabase/deleteZone(_:reason:by:retry:now:clock:)``.
public enum ZoneEvent: Hashable, Sendable {
    /// The zone and all its records are gone; only a commit that makes it anew may follow.
    case deleted(ZoneDeletion.Reason)
    /// The zone is there again, empty.
    case created
    /// The zone goes on in another one; nothing may follow.
    case moved(ZoneSuccessor)
}
