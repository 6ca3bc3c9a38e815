/// What a device does about its own data when the zone that it syncs with was deleted.
public enum ZoneDeletionPolicy: String, Sendable, CaseIterable {
    /// Everything here stays as it is.
    case keep
    /// What came from the zone goes; what was changed here and is not in the zone's last version stays. Where the zone was deleted because
    /// the account's encrypted data was reset, everything stays all the same: it is there to be uploaded again.
    case erase
}
