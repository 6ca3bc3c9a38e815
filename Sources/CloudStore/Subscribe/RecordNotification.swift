/// A hint that something has happened. It carries no data: fetch what is new.
public struct RecordNotification: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        case recordCreated, recordUpdated, recordDeleted
        /// So much that it was not followed record by record: the zone was read whole.
        case zoneChanged
        /// The zone itself was deleted.
        case zoneDeleted(ZoneDeletion.Reason)
    }

    /// The subscription that wanted to know.
    public let subscription: String
    public let kind: Kind
    /// The record's type; nil where it is about the zone.
    public let recordType: String?
    /// The record's name; nil where it is about the zone.
    public let recordName: String?
}
