import GRDB

/// What `init` records in the database before it creates a zone.
///
/// If `init` crashes between creating the zone and writing the settings, the next `init` of this database finds the record and knows that it
/// created the zone. Without it the zone would look like another device's, and the first-publish guard would refuse its own creator.
/// The record has a table of its own, `snapsync_beginning`, which the transaction that writes the settings drops again.
package struct ZoneBeginning: Hashable, Sendable {
    private let cloudUUID: String
    private let zone: String
    private let device: String

    /// The creation of that zone, in that cloud, by that device.
    package init(of zone: String, inCloud cloudUUID: String, as device: String) {
        self.cloudUUID = cloudUUID
        self.zone = zone
        self.device = device
    }
}

extension ZoneBeginning {
    var arguments: StatementArguments { [cloudUUID, zone, device] }
}
