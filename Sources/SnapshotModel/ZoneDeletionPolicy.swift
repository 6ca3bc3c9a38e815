/// What a device does with its own data after the zone that it syncs with was deleted.
public enum ZoneDeletionPolicy: String, Sendable, CaseIterable {
    /// All local data stays.
    case keep
    /// The device deletes the data that came from the zone, and keeps data that was changed locally and is not in the zone's last version. If the
    /// zone was deleted because the account's encrypted data was reset, all data stays, so that it can be uploaded again.
    case erase
}
