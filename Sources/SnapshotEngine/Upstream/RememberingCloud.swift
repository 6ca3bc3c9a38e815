import CloudStore
import CommitLog
import Foundation
import LocalStore
import ObjectCloud
import SnapshotModel
import SnapshotVersions
import StrictText
import Synchronization

/// A bucket whose answers are cached in the database, for runs that sync.
///
/// It also tells the bucket whether the database has changes to publish. If so, the bucket sends the requests for a publication in parallel.
struct RememberingCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let bucket: ObjectStoreCloud
    private let zone: ZoneID
    private let settings: SyncSettings
    private let database: LocalDatabase
    private let state: State

    private final class State: Sendable {
        /// The cached answers in the database.
        let saved: Mutex<ZoneMemory?>
        /// The token after which the zone was read in order to publish. A second read after the same token is a full one.
        let looked = Mutex<ChangeToken?>(nil)
        init(_ memory: ZoneMemory?) { saved = Mutex(memory) }
    }

    /// Gives a bucket the answers that the database has cached of its zone. Any other cloud is returned unchanged.
    static func wrap(_ cloud: any CloudDatabase, _ settings: SyncSettings, _ database: LocalDatabase) throws -> any CloudDatabase {
        // A cast that fails looks through the conformances of the whole program, at every run. The types are compared first.
        guard type(of: cloud) == ObjectCloud.self, let bucket = (cloud as? ObjectCloud)?.base else { return cloud }
        let zone = settings.zoneID
        // A cache that cannot be read is ignored, and the bucket is asked again.
        let memory = try database.read { try $0.state.zoneMemory() }.flatMap { try? StrictJSON.decode(ZoneMemory.self, from: $0) }
        bucket.recall(memory ?? ZoneMemory(cloud: settings.cloudUUID, zone: zone), of: zone)
        return RememberingCloud(wrapped: cloud, bucket: bucket, zone: zone, settings: settings, database: database, state: State(memory))
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
        // After this, an idle publisher's second run requests no markers, and later idle runs write nothing.
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
