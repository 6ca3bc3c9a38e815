import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns
import Synchronization

extension SyncEngine {
    /// Runs `body`. If another zone continues the database's zone, moves the database there first.
    ///
    /// - Throws: what `body` throws; ``SyncError`` with `.tryAgainLater` while this device cannot read the next zone.
    func followingZone<T>(_ body: () async throws -> T) async throws -> T {
        let waiting = try database.read { try $0.settings.exists() && !$0.settings.isInMemory() ? $0.state.nextZone() : nil }
        if let waiting {
            try await follow(StrictJSON.decode(ZoneSuccessor.self, from: Data(waiting.utf8)))
        }
        for _ in 0..<Self.moveLimit {
            do {
                return try await body()
            } catch {
                guard let move = SyncError(error).cloud?.successor else { throw error }
                try await follow(move)
            }
        }
        return try await body()
    }

    /// The largest number of zones that one run follows.
    static let moveLimit = 8

    /// Moves this database to the zone that continues its own. The caller holds the lock.
    ///
    /// The fingerprint of that zone's creator is recorded first. From then on the database follows no other zone, and nothing that is put into
    /// the old zone counts.
    ///
    /// If a third zone already continues that zone, and its members have signed this, the database moves on at once.
    ///
    /// - Parameter limit: the largest number of zones to follow.
    func follow(_ successor: ZoneSuccessor, limit: Int = SyncEngine.moveLimit) async throws {
        let context = try context()
        let text = try String(decoding: StrictJSON.encode(successor), as: UTF8.self)
        try database.write { transaction in
            guard try transaction.settings.read().zone == context.zone.name else { throw context.anotherRun(.open) }
            if try transaction.state.nextZone() == nil { try transaction.state.nextZone.set(text) }
        }
        let follower = try ZoneFollower(context, successor, keyStore: keyStore, in: openCloud(context.settings), nonces: options.nonces)
        do {
            let notice = try await follower.run()
            moves.withLock { $0.append(notice) }
        } catch {
            guard let next = SyncError(error).cloud?.successor, next.zone != successor.zone, limit > 1 else { throw error }
            try database.write { try $0.state.nextZone.set(String(decoding: StrictJSON.encode(next), as: UTF8.self)) }
            try await follow(next, limit: limit - 1)
        }
    }
}

/// Moves one database from its zone to the zone that continues it.
///
/// Unpublished local changes stay tracked with their instants; the next import compares all rows with the new zone's version. Messages without an
/// answer are sent again. Source: docs/security.md, "Existing zones".
struct ZoneFollower {
    private let context: SyncContext
    private let successor: ZoneSuccessor
    private let id: ZoneID
    private let owner: KeyOwner
    private let keyStore: any KeyStore
    private let cloud: CloudDatabase
    private let nonces: NonceSource

    init(_ context: SyncContext, _ successor: ZoneSuccessor, keyStore: any KeyStore, in cloud: CloudDatabase, nonces: NonceSource) {
        (self.context, self.successor, self.keyStore, self.cloud, self.nonces) = (context, successor, keyStore, cloud, nonces)
        id = ZoneID(successor.zone, scope: context.zone.scope)
        owner = KeyOwner(cloud: context.settings.cloudUUID, zone: id, device: context.settings.device)
    }

    /// Moves the database. Returns a notice for the report.
    ///
    /// - Throws: ``SyncError`` with `.tryAgainLater` if the zone has no version yet, or this device must be approved first; `.dataRefused` if the
    ///   zone is not the announced one.
    func run() async throws -> String {
        let info = try await zoneInfo()
        guard Set(info.features) == Set(successor.features) else {
            throw SyncError(
                .dataRefused, step: .verify, at: id.place, "it was announced as a \(successor.kind) zone, and it says that it is another kind",
                hint: "somebody has changed or replaced the zone; bring zone.json back from a copy")
        }
        let keys = try ZoneMoveKeys.keys(of: owner, for: successor.protection, before: context.signedZone?.owner, in: keyStore)
        var knowledge = ZoneKnowledge(creator: KeyFingerprint(successor.creator), own: keys.publicKeys)
        knowledge.protection = successor.protection
        var zone = SignedZone(knowledge, owner: owner, keyStore: keyStore, in: cloud)
        // Use the cloud that holds this device's keys: several devices may share a backend.
        let cloud = zone.cloud
        let list = try await cloud.members(in: id)
        let state = try await cloud.records(in: id)
        let isOwn = keys.publicKeys.fingerprint.words == successor.creator
        guard let token = state.token else {
            guard isOwn else {
                throw SyncError(
                    .tryAgainLater, step: .fetch, at: id.place, "the zone goes on here, and its first version is still to come",
                    hint: "run snapsync sync on \(info.creator), then here again")
            }
            // A run that was ended before it noted where the zone goes on.
            if successor.isSealed { knowledge.recoveryKey = RecoveryCode().publicKey(successor.protection.sealingKeyKind) }
            return try begin(knowledge, info)
        }
        let isMember = list?.member(owner.device, key: keys.publicKeys.signing) != nil
        let nonce = try await ask(zone, list, as: keys.publicKeys, isMember: isMember)
        if successor.isSealed {
            let ring = try state.record(KeyRing.recordName).map { try KeyRing($0, at: id.place) }
            guard ring?.isFor(keys.publicKeys.sealing) == true else { throw waiting(keys.publicKeys) }
        }
        knowledge = zone.authority.knowledge
        knowledge.floor = token
        zone = SignedZone(knowledge, owner: owner, keyStore: keyStore, in: cloud)
        let zoneKeys = zone.keys
        try zoneKeys?.learn(state.records)
        try await settleOldZone()
        let sent = try sentMessages()
        try enter(zone.authority.knowledge, madeNext: false, seen: nonce)
        // The messages are sent again in the next zone. Remove the old ones, because anybody could read them.
        for message in sent { try? await context.cloud.removeMessage(message, in: context.zone) }
        return notice(keys.publicKeys, isMember: isMember)
    }

    /// Continues the creation of the next zone, which this database has begun. Its next export is the first version.
    private func begin(_ knowledge: ZoneKnowledge, _ info: ZoneInfo) throws -> String {
        guard info.creator == owner.device else {
            throw SyncError(
                .refused, step: .open, at: id.place, "it is to be made by the device \(info.creator), and this one is \(owner.device)",
                hint: "run snapsync sync on \(info.creator)")
        }
        try enter(knowledge, madeNext: true, seen: nil)
        return "zone \(context.zone.name) goes on as the \(successor.kind) zone \(id.name), which this device makes"
            + (knowledge.recoveryKey == nil ? "" : "; no recovery code was shown: snapsync zone rotate-keys --new-recovery-code makes one")
    }

    private func enter(_ knowledge: ZoneKnowledge, madeNext: Bool, seen nonce: String?) throws {
        try context.database.write { transaction in
            try ZoneFollower.enter(id, context, knowing: knowledge, madeNext: madeNext, seen: nonce, in: transaction)
        }
    }

    /// Records in one transaction that the next zone is this database's zone.
    static func enter(
        _ next: ZoneID, _ context: SyncContext, knowing knowledge: ZoneKnowledge, madeNext: Bool, seen nonce: String?, in transaction: LocalTransaction
    ) throws {
        guard try transaction.settings.read().zone == context.zone.name else { throw context.anotherRun(.open) }
        let earlier = EarlierZone(
            zone: context.zone.name, version: try transaction.state.applied(), madeNext: madeNext, mustAdmit: madeNext && context.signedZone != nil)
        try transaction.enterZone(next.name, after: earlier)
        try transaction.state.zoneKnowledge.set(SignedZone.text(knowledge))
        try transaction.state.reportNonces.set(nonce.map { ReportNonces(seen: $0, next: context.nonces.uuid()) })
    }

    private func zoneInfo() async throws -> ZoneInfo {
        do {
            return try await cloud.zone(id)
        } catch let error as CloudError where error.code == .zoneNotFound {
            throw SyncError(
                .tryAgainLater, step: .open, at: id.place, "zone \(context.zone.name) goes on here, and it has not arrived yet",
                hint: "if a sync tool is bringing files, wait for it; else run snapsync sync on the device that made it")
        }
    }

    /// Requests membership in the zone, once. Returns the nonce of this device's report there.
    private func ask(_ zone: SignedZone, _ list: MemberList?, as own: DevicePublicKeys, isMember: Bool) async throws -> String? {
        if let member = list?.member(owner.device), member.keys != own {
            throw SyncError(
                .refused, step: .open, at: id.place, "\(owner.device) is a member with other keys than those in \(keyStore.place(of: owner))",
                hint: "bring its key file back from a copy, or have it removed: snapsync zone revoke \(owner.device)")
        }
        if let report = try await zone.cloud.deviceReport(of: owner.device, in: id), report.keys == own { return report.nonce }
        if isMember { return nil }
        let nonce = nonces.uuid()
        try await zone.cloud.report(
            DeviceReport(device: owner.device, role: context.settings.role.rawValue, token: nil, clock: context.now(), nonce: nonce), in: id)
        return nonce
    }

    private func waiting(_ own: DevicePublicKeys) -> SyncError {
        let approve = "snapsync zone approve \(owner.device)"
        return SyncError(
            .tryAgainLater, step: .open, at: id.place,
            "zone \(context.zone.name) goes on as this sealed zone, made by \(successor.creator), and \(owner.device) has asked to be a member; what was changed here waits. Its words are \(own.fingerprint)",
            hint: "compare the words of the zone's maker; on a member that publishes, compare those of this device: \(approve); then sync here again")
    }

    /// Finds untracked changes now, because that needs a version of the zone that is left.
    private func settleOldZone() async throws {
        let applied = try context.database.read { try $0.state.applied() }
        guard let applied else { return }
        let news = UpstreamChanges(applied: applied, changes: ZoneChanges(base: [], commits: [], token: applied.token), warnings: [])
        // If the applied version was pruned, skip this: the next import compares all rows with the new zone's version.
        do { _ = try await TrackingRebuild(context: context).run(news) } catch  where SyncError(error).code != .inputOutput {}
    }

    /// Returns the messages of this device that may still be in the mailbox of the zone that is left.
    private func sentMessages() throws -> [CloudMessageName] {
        try context.database.read { try $0.sentEdits.file().map { [CloudMessageName(sender: $0.device, id: $0.id)] } ?? [] }
    }

    private func notice(_ own: DevicePublicKeys, isMember: Bool) -> String {
        let trust =
            context.signedZone == nil ? "; from now on this device trusts its maker, \(successor.creator): compare these words with those on that device" : ""
        let request =
            isMember ? "" : "; this device is no member yet: on a member, compare \(own.fingerprint), then: snapsync zone approve \(owner.device)"
        return "zone \(context.zone.name) goes on as the \(successor.kind) zone \(id.name)\(trust)\(request)"
    }
}

/// Finds or makes a device's keys for the zone that continues its zone.
enum ZoneMoveKeys {
    /// Returns the device's keys in the next zone: its existing keys there, else those of the earlier signed zone, else new ones. If the next zone needs
    /// another kind of sealing key than the earlier one, that key is new.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    static func keys(of owner: KeyOwner, for protection: ZoneProtection, before earlier: KeyOwner?, in store: any KeyStore) throws -> DeviceKeys {
        if let found = try store.keys(of: owner, for: protection) { return found }
        if let earlier {
            let kind = protection.sealingKeyKind
            if let files = store as? FileKeyStore {
                try files.copy(of: earlier, to: owner, sealing: kind)
            } else if let keys = try store.keys(of: earlier) {
                try store.store(keys.sealingKind == kind ? keys : keys.renewing(kind, at: store.place(of: owner)), of: owner)
            }
            guard let copied = try store.keys(of: owner, for: protection) else {
                throw CloudError(
                    .keyUnavailable, at: store.place(of: earlier), "the keys of \(earlier.device) are not there, and the next zone wants the same",
                    hint: "bring the file back from a copy")
            }
            return copied
        }
        return try store.makeKeys(of: owner, for: protection)
    }
}
