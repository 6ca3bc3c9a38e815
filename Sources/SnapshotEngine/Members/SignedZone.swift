package import CloudStore
package import CommitLog
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText
import Synchronization

/// A device's view of a signed zone: whom it trusts, where its keys are, and the cloud that checks signatures with them.
package struct SignedZone: Sendable {
    package let owner: KeyOwner
    package let authority: ZoneAuthority
    package let keyStore: any KeyStore
    /// The history that the zone's documents name.
    package let history: HistoryID
    /// The backend itself.
    package let cloud: any SigningCloud
    /// The keys that open and seal the zone's contents; nil if the zone is not sealed.
    package let keys: ZoneKeys?

    /// Gives a cloud what this device knows of its zone.
    ///
    /// - Throws: ``SyncError`` with `.refused` for a backend without signatures.
    init(_ knowledge: ZoneKnowledge, _ owner: KeyOwner, _ keyStore: any KeyStore, in cloud: any CloudDatabase) throws {
        guard let signing = cloud.signing?.forOneDevice() else {
            throw SyncError(
                .refused, step: .open, at: "zone \(owner.zone)", "the zone is signed, and this backend does not check signatures",
                hint: "use a directory or a bucket")
        }
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
        (self.owner, self.keyStore, self.cloud) = (owner, keyStore, signing)
        let history = HistoryID(cloud: owner.cloud, zone: owner.zone, protection: knowledge.protection)
        keys = knowledge.isSealed ? ZoneKeys(owner, authority, history) : nil
        self.history = history
        signing.authorities.set(authority, of: owner.zone)
    }

    /// Creates the signed zone of a database that is set up; nil if its zone is not signed.
    init?(of settings: SyncSettings, knowing text: String?, _ keyStore: any KeyStore, in cloud: any CloudDatabase) throws {
        guard let text else { return nil }
        let owner = KeyOwner(
            cloud: settings.cloudUUID, zone: settings.zoneID, device: settings.device)
        try self.init(try StrictJSON.decode(ZoneKnowledge.self, from: text), owner, keyStore, in: cloud)
    }

    /// Returns a cloud through which the zone's contents can be read and written. It is `cloud` itself if the zone is not sealed.
    package func opening(_ cloud: any CloudDatabase) -> any CloudDatabase { keys.map { SealedZoneCloud(wrapping: cloud, $0) } ?? cloud }

    /// The backend as a cloud through which the zone's contents can be read and written.
    package var opened: any CloudDatabase { opening(cloud) }

    /// Encodes the knowledge of a zone for the database.
    static func text(_ knowledge: ZoneKnowledge) throws -> String { try StrictJSON.text(knowledge) }
}

/// A cloud that stores what it learns of a signed zone's members in the database, before the change token can move past it.
struct SignedZoneCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let signedZone: SignedZone
    private let database: LocalDatabase
    private let saved: SavedKnowledge

    init(wrapping cloud: any CloudDatabase, _ zone: SignedZone, _ database: LocalDatabase) {
        wrapped = cloud
        signedZone = zone
        self.database = database
        saved = SavedKnowledge(zone.authority.knowledge)
    }

    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        let changes = try await wrapped.changes(since: token, in: zone)
        try save()
        return changes
    }

    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        let state = try await wrapped.records(in: zone, at: number, notBefore: token)
        try save()
        return state
    }

    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        // Fail before writing assets that no commit could name, if this device may not publish.
        try signedZone.authority.verifyMayPublish(signedZone.owner.device, in: signedZone.history)
        return try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone)
    }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        let token = try await wrapped.publish(commit)
        try save()
        return token
    }

    private func save() throws {
        let knowledge = signedZone.authority.knowledge, last = saved.value.withLock { $0 }
        guard last != knowledge else { return }
        try database.write { try $0.state.setZoneKnowledge(SignedZone.text(knowledge)) }
        saved.value.withLock { $0 = knowledge }
    }

    private final class SavedKnowledge: Sendable {
        let value: Mutex<ZoneKnowledge>
        init(_ knowledge: ZoneKnowledge) { value = Mutex(knowledge) }
    }
}

extension CloudDatabase {
    /// The backend as one whose zones can be signed; nil if it has no signatures.
    package var signing: (any SigningCloud)? { self as? any SigningCloud }
}
