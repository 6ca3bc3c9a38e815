import CloudStore
import Foundation
import LocalStore
import ObjectCloud
import SnapshotModel
import SnapshotVersions
import StrictText
import Synchronization

/// A bucket that is not asked again for what this database keeps of it, for runs that sync.
///
/// It also tells the bucket whether the database has something to publish: then what a publish asks for is asked for side by side.
struct RememberingCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let bucket: ObjectCloud
    private let zone: ZoneID
    private let settings: SyncSettings
    private let database: LocalDatabase
    private let state: State

    private final class State: Sendable {
        /// What the database keeps.
        let saved: Mutex<ZoneMemory?>
        /// The token after which the zone was looked at to publish; a second look after the same token is one at everything.
        let looked = Mutex<ChangeToken?>(nil)
        init(_ memory: ZoneMemory?) { saved = Mutex(memory) }
    }

    /// Tells a bucket what the database keeps of its zone; a cloud that is near comes back as it is.
    static func wrap(_ cloud: any CloudDatabase, _ settings: SyncSettings, _ database: LocalDatabase) throws -> any CloudDatabase {
        guard let bucket = cloud as? ObjectCloud else { return cloud }
        let zone = ZoneID(settings.zone, scope: CloudScope(rawValue: settings.scope) ?? .private)
        // What cannot be read is asked for again.
        let memory = try database.read { try $0.state.zoneMemory() }.flatMap { try? StrictJSON.decode(ZoneMemory.self, from: Data($0.utf8)) }
        bucket.recall(memory ?? ZoneMemory(cloud: settings.cloudUUID, zone: zone), of: zone)
        return RememberingCloud(wrapped: bucket, bucket: bucket, zone: zone, settings: settings, database: database, state: State(memory))
    }

    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        guard let token, zone == self.zone, state.looked.withLock({ $0 != token }), try wantsToPublish() else {
            return try await bucket.changes(since: token, in: zone)
        }
        state.looked.withLock { $0 = token }
        return try await bucket.changes(since: token, toPublishIn: zone)
    }

    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        let mailbox = try await bucket.mailbox(request, in: zone)
        // An idle publisher's second run asks for no marker, and all further ones write nothing.
        if state.saved.withLock({ $0?.knowsMarkers != true }) { try save() }
        return mailbox
    }

    func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        defer { try? save() }
        try await bucket.report(report, in: zone)
    }

    private func wantsToPublish() throws -> Bool {
        guard settings.role.publishes else { return false }
        return try database.read(at: .read) { transaction in try settings.datasets.contains { try transaction.changeLog.isTouched($0) } }
    }

    private func save() throws {
        let memory = bucket.memory(of: zone)
        guard state.saved.withLock({ $0 != memory }) else { return }
        try database.write { try $0.state.setZoneMemory(String(decoding: StrictJSON.encode(memory), as: UTF8.self)) }
        state.saved.withLock { $0 = memory }
    }
}
