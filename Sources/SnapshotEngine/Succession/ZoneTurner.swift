import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Ends a zone and begins the signed or sealed zone that continues it.
///
/// The order makes every interruption harmless: make the keys; create the next zone's `zone.json`; publish the last version of the present zone,
/// after which no device publishes there; record the next zone in the database; publish its first version; admit its members; and only then
/// remove the earlier zone's files.
struct ZoneTurner {
    private let context: SyncContext
    private let request: TurnOverRequest
    private let keyStore: any KeyStore
    private let cloud: CloudDatabase

    init(_ context: SyncContext, _ request: TurnOverRequest, keyStore: any KeyStore, in cloud: CloudDatabase) {
        (self.context, self.request, self.keyStore, self.cloud) = (context, request, keyStore, cloud)
    }

    private var kind: String { request.isSealed ? "sealed" : "signed" }

    private func owner(_ zone: ZoneID) -> KeyOwner { KeyOwner(cloud: context.settings.cloudUUID, zone: zone, device: context.settings.device) }

    // MARK: planning

    /// Returns what would happen or, if the zone was left already, what remains to be done. Changes nothing.
    func plan(_ begun: EarlierZone?) async throws -> TurnOverReport {
        if let begun { return try await report(of: ZoneID(begun.zone, scope: context.zone.scope), context.zone, context.signedZone?.authority.knowledge.own) }
        try await verify()
        for name in names {
            let id = ZoneID(name, scope: context.zone.scope)
            if try await !isFree(id) { continue }
            return try await report(of: context.zone, id, (try? keyStore.keys(of: owner(id)))?.publicKeys)
        }
        throw taken()
    }

    private func report(of earlier: ZoneID, _ next: ZoneID, _ own: DevicePublicKeys?) async throws -> TurnOverReport {
        let states = try context.database.read { try $0.datasetStates.all() }
        let files = try await context.cloud.storedFiles(in: earlier)
        let reports = try await context.cloud.deviceReports(in: earlier)
        let newest = files.compactMap { file in if case .commit(let number) = file.kind { number } else { nil } }.max()
        let isLeft = earlier != context.zone
        let version = isLeft ? newest.map { $0 - 1 } : newest
        let state = try? await context.cloud.records(in: earlier, at: version)
        // If the versions of the zone are gone, its members are unknown.
        let members = try? await cloud.members(in: earlier)
        // A member with a key of another kind has to ask again.
        let named = Set(members?.members.filter { $0.keys.sealingKind == request.protection.sealingKeyKind }.map(\.device) ?? []),
            device = context.settings.device
        let data = files.filter { $0.assetPath != nil }
        return TurnOverReport(
            isDryRun: request.isDryRun, earlierZone: earlier.name, earlierVersion: version, zone: next.name, isSealed: request.isSealed,
            creator: own?.fingerprint.words, version: nil,
            datasets: context.settings.datasets.map { schema in
                TurnOverReport.Dataset(name: schema.name, recordCount: states.first { $0.name == schema.name }?.recordCount)
            },
            admitted: named.subtracting([device]).sorted(), toApprove: reports.map(\.device).filter { $0 != device && !named.contains($0) },
            pinnedVersions: state?.pins.map(\.version).sorted() ?? [], earlierFiles: data.count, earlierBytes: data.reduce(0) { $0 + $1.byteCount },
            isEarlierRemoved: request.isDryRun && request.removesEarlier, warnings: [])
    }

    /// Refuses zones that cannot be signed or sealed later.
    private func verify() async throws {
        try await context.checkPublisher(.announce, else: "it does not decide about the zone", hint: "run it on a device that publishes")
        guard context.settings.scope == CloudScope.private.rawValue else {
            throw SyncError(.refused, step: .open, at: context.zone.place, "only a private zone can be turned over")
        }
    }

    /// The possible names of the next zone, in the order of the attempts.
    private var names: [String] {
        if let name = request.zone { return [name] }
        let present = context.zone.name, signed = "-signed"
        let base = String((present.exact.hasSuffix(signed) ? String(present.dropLast(signed.count)) : present).prefix(50)) + "-" + kind
        return [base] + (2...9).map { "\(base)-\($0)" }
    }

    /// Whether no zone with this name exists, or it is one that this device has begun.
    private func isFree(_ id: ZoneID) async throws -> Bool {
        let wanted = try await context.zoneInfo().publishers
        do {
            let info = try await cloud.zone(id)
            guard info.creator == context.settings.device, info.protection == request.protection, info.publishers == wanted else { return false }
            guard try keyStore.keys(of: owner(id)) != nil else { return false }
            return try await cloud.records(in: id).token == nil
        } catch let error as CloudError where error.code == .zoneNotFound {
            return true
        }
    }

    private func taken() -> SyncError {
        SyncError(
            .refused, step: .open, at: "zone \(names[0])", "there is such a zone already, and it is not one that this device has begun",
            hint: "choose another name with --zone")
    }

    // MARK: leaving the zone

    /// Ends the present zone, and switches this database to the next one.
    ///
    /// - Parameter code: the recovery code of a sealed zone.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if another device has published first.
    func close(_ code: RecoveryCode?) async throws -> TurnOverReport {
        try await verify()
        try ClockGuard.verify(context.now())
        guard let token = try context.database.read({ try $0.state.appliedHere() })?.token else {
            throw SyncError(
                .nothingThere, step: .announce, at: context.zone.place, "nothing has been published yet",
                hint: "make the zone again: snapsync detach; then: snapsync init LOCATION \(request.isSealed ? "--encrypt" : "--sign")")
        }
        let (id, keys, info) = try await makeZone()
        var report = try await report(of: context.zone, id, keys)
        let successor = ZoneSuccessor(zone: id.name, creator: keys.fingerprint.words, features: info.features, members: try await members())
        // A copy of the database must not end the zone in the original's name.
        let identity = try await context.checkIdentity(applied: AppliedVersion(token), commits: [])
        guard identity.context.settings.device == context.settings.device else { throw context.anotherRun(.announce) }
        var draft = CommitDraft(device: context.settings.device, saving: [], clock: context.now())
        draft.successor = successor
        // The checkpoint tells a reader of an older version that it was pruned, even after everything else is removed.
        draft.checkpoint = try await context.cloud.placeCheckpoint(at: token.number, in: context.zone)
        let commit = try await context.cloud.prepare(draft, after: token, in: context.zone)
        _ = try await context.cloud.publish(commit)
        var knowledge = ZoneKnowledge(creator: keys.fingerprint, own: keys)
        knowledge.protection = request.protection
        knowledge.recoveryKey = code?.publicKey(request.protection.sealingKeyKind)
        try context.database.write { [knowledge] transaction in
            try ZoneFollower.enter(id, context, knowing: knowledge, madeNext: true, seen: nil, in: transaction)
        }
        report.isEarlierRemoved = false
        return report
    }

    /// Returns the statements in the present zone's list of members; nil if the zone is not signed.
    private func members() async throws -> [String]? {
        guard let zone = context.signedZone else { return nil }
        return try await zone.cloud.members(in: context.zone)?.statements
    }

    /// Makes this device's keys for the next zone, then creates its `zone.json`.
    private func makeZone() async throws -> (ZoneID, DevicePublicKeys, ZoneInfo) {
        let publishers = try await context.zoneInfo().publishers
        for name in names {
            let id = ZoneID(name, scope: context.zone.scope)
            if try await !isFree(id) { continue }
            let keys = try ZoneMoveKeys.keys(of: owner(id), for: request.protection, before: context.signedZone?.owner, in: keyStore)
            let info = try await cloud.createSignedZone(id, creator: context.settings.device, publishers: publishers, protection: request.protection)
            if info.creator == context.settings.device { return (id, keys.publicKeys, info) }
        }
        throw taken()
    }

    // MARK: after the first version

    /// Admits the earlier zone's members to the new zone, and removes the earlier zone's files if requested.
    func finish(_ turned: TurnOverReport) async throws -> TurnOverReport {
        var report = turned
        try await context.admitEarlierMembers()
        report.version = try context.database.read { try $0.state.applied()?.number }
        if request.removesEarlier {
            try await removeEarlier()
            report.isEarlierRemoved = true
        }
        return report
    }

    /// Removes versions, assets and messages of all zones that this database has left. The commits that name the next zones stay.
    private func removeEarlier() async throws {
        let zones = try context.database.read { try $0.state.earlierZones() }
        for earlier in zones where !earlier.isPruned {
            let id = ZoneID(earlier.zone, scope: context.zone.scope)
            // Remove the messages first: once the rest of the zone is gone, their senders are unknown.
            let messages = (try? await cloud.mailbox(in: id).messages) ?? []
            for message in messages {
                try await cloud.removeMessage(CloudMessageName(sender: message.sender, id: message.id), in: id)
            }
            let files = try await cloud.storedFiles(in: id)
            let last = files.compactMap { file in if case .commit(let number) = file.kind { number } else { nil } }.max() ?? 0
            try await cloud.remove(files.filter { $0.kind != .commit(last) }, by: context.settings.device, in: id)
        }
        try context.database.write { transaction in
            try transaction.state.earlierZones.set(
                transaction.state.earlierZones().map { zone in
                    var removed = zone
                    removed.isPruned = true
                    return removed
                })
        }
    }
}

extension SyncContext {
    /// Admits the members of the earlier signed zone, with their keys and roles, to the zone that this database made to continue it.
    func admitEarlierMembers() async throws {
        guard let zone = signedZone, let earlier = try database.read({ try $0.state.earlierZones().last }), earlier.mustAdmit else { return }
        let before = try await zone.cloud.members(in: ZoneID(earlier.zone, scope: self.zone.scope))
        let members =
            before?.members.filter { $0.device != settings.device && $0.keys.sealingKind == zone.history.protection.sealingKeyKind } ?? []
        if !members.isEmpty {
            try await publishMembers(of: zone) { list, token in
                for member in members where list.member(member.device) == nil {
                    try list.add(
                        member.device, as: member.role, with: member.keys, floor: token, by: (settings.device, zone.authority.signer()), at: now(),
                        of: zone.history)
                }
            }
        }
        try database.write { transaction in
            var zones = try transaction.state.earlierZones()
            if let last = zones.indices.last { zones[last].mustAdmit = false }
            try transaction.state.earlierZones.set(zones)
        }
    }
}
