package import CloudStore
import DirectoryCloud
package import LocalTables
package import Sealing
import SnapshotModel
import SnapshotVersions
import StrictText

/// A device's view of a signed zone: whom it trusts, where its keys are, and the cloud that checks signatures with them.
package struct SignedZone: Sendable {
    package let owner: KeyOwner
    package let authority: ZoneAuthority
    package let keyStore: any KeyStore
    /// The history that the zone's documents name.
    package let history: HistoryID
    /// The backend itself.
    package let cloud: CloudDatabase
    /// The keys that open and seal the zone's contents; nil if the zone is not sealed.
    package let keys: ZoneKeys?

    /// Gives a cloud what this device knows of its zone.
    package init(_ knowledge: ZoneKnowledge, owner: KeyOwner, keyStore: any KeyStore, in cloud: CloudDatabase) {
        authority = ZoneAuthority(knowledge) {
            guard let keys = try keyStore.keys(of: owner) else {
                throw CloudError(
                    .keyUnavailable, at: keyStore.place(of: owner), "the keys of \(owner.device) are not there, and nothing is written unsigned",
                    hint: "bring the file back from a copy; without one, detach the device, set it up under another name, and have it approved")
            }
            guard let own = knowledge.own else { return keys }
            // The sealing key of a zone that is not sealed opens nothing yet.
            guard let keys = keys.confirmed(as: own), !knowledge.isSealed || keys.hasSealingKey(own.sealing) else {
                throw CloudError(
                    .keyUnavailable, at: keyStore.place(of: owner), "the keys there are not those with which \(owner.device) was set up",
                    hint: "bring the right file back from a copy")
            }
            return keys
        }
        (self.owner, self.keyStore, self.cloud) = (owner, keyStore, cloud.forOneDevice())
        let history = HistoryID(cloud: owner.cloud, zone: owner.zone, protection: knowledge.protection)
        keys = knowledge.isSealed ? ZoneKeys(owner: owner, authority: authority, history: history) : nil
        self.history = history
        self.cloud.authorities.set(authority, of: owner.zone)
    }

    /// Creates the signed zone of a database that is set up; nil if its zone is not signed.
    package init?(of settings: SyncSettings, knowing text: String?, _ keyStore: any KeyStore, in cloud: CloudDatabase) throws {
        guard let text else { return nil }
        let owner = KeyOwner(
            cloud: settings.cloudUUID, zone: settings.zoneID, device: settings.device)
        self.init(try StrictJSON.decode(ZoneKnowledge.self, from: text), owner: owner, keyStore: keyStore, in: cloud)
    }

    /// Returns a cloud through which the zone's contents can be read and written.
    ///
    /// - Parameter database: where the cloud stores what it learns of the members; nil stores nothing.
    package func opening(_ cloud: CloudDatabase, savingIn database: LocalDatabase? = nil) -> CloudDatabase {
        cloud.adding(ZoneSeal(self, of: cloud, savingIn: database))
    }

    /// The backend as a cloud through which the zone's contents can be read and written.
    package var opened: CloudDatabase { opening(cloud) }

    /// Returns the keys of a sealed zone, and reads them from `cloud` if they are not known yet; nil for a zone that is not sealed.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` or `.notAuthorized` if this device has none.
    package func boxKeys(in cloud: CloudDatabase) async throws -> BoxKeys? { try await ZoneSeal(self, of: cloud).boxes() }

    /// Encodes the knowledge of a zone for the database.
    package static func text(_ knowledge: ZoneKnowledge) throws -> String { try StrictJSON.text(knowledge) }
}
