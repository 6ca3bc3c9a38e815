package import CloudStore
package import LocalStore

extension SyncSettings {
    /// The zone in which the database takes part.
    package var zoneID: ZoneID { ZoneID(zone, scope: CloudScope(rawValue: scope) ?? .private) }
}
