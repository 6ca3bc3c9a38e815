public import CloudStore

/// A hint that something has happened. It carries no data: fetch the changes.
public struct RecordNotification: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        case recordCreated, recordUpdated, recordDeleted
        /// More changed than can be followed record by record: the whole zone was read again.
        case zoneChanged
        /// The zone itself was deleted.
        case zoneDeleted(ZoneDeletion.Reason)
        /// The zone was signed or sealed, and continues in another zone; nil if it does not say in which. The notifications end.
        case zoneMoved(to: ZoneSuccessor?)
    }

    /// The id of the subscription that matched.
    public let subscription: String
    /// What happened.
    public let kind: Kind
    /// The record's type; nil if the hint is about the zone.
    public let recordType: String?
    /// The record's name; nil if the hint is about the zone.
    public let recordName: String?
}
