import CloudStore
import LocalStore
import SnapshotModel
import StrictText
import SyncRuns

/// The part of `init` for a signed zone: it verifies the creator, finds or makes the device's keys, and requests membership.
struct SignedZoneSetup {
    let zone: SignedZone
    let report: SignedSetupReport

    /// Checks, before the zone is used, that the creator whom the request trusts has signed it. Returns the fingerprint to trust from now on.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone should be signed and is not, with `.dataRefused` if another creator made it.
    static func verifyTrust(_ request: SetupRequest, _ backend: CloudDatabase?) async throws -> KeyFingerprint? {
        let id = ZoneID(request.zone)
        guard let cloud = try? backend ?? CloudLocation.open(request.cloud), let info = try? await cloud.zone(id) else {
            // A reader gets the error from the code that needs the zone. A publisher would make the zone.
            guard request.trust != nil, request.role.publishes else { return request.trust }
            throw SyncError(
                .nothingThere, step: .open, at: id.place, "there is no zone yet whose creator could be trusted",
                hint: "check the location and --zone; whoever makes the zone gives no --trust")
        }
        try verifyProtection(request, info)
        guard info.isSigned else {
            guard !request.isSigned, request.trust == nil else {
                throw SyncError(
                    .refused, step: .open, at: id.place,
                    request.isSigned ? "the zone is there, and it is not signed" : "the zone is not signed, and --trust says that it is",
                    hint: request.isSigned
                        ? "on a device that publishes there: snapsync zone sign; or make another zone (--zone)"
                        : "ask whoever made the zone; somebody may have put another in its place")
            }
            return nil
        }
        var knowledge = ZoneKnowledge(creator: request.trust)
        knowledge.protection = info.protection
        cloud.authorities.set(ZoneAuthority(knowledge) { throw CloudError(.keyUnavailable, at: id.place, "no keys yet") }, of: id)
        _ = try await cloud.members(in: id)
        return cloud.authorities.authority(of: id).knowledge.creator.flatMap(KeyFingerprint.init) ?? request.trust
    }

    /// Refuses a zone that is there and is not protected as the request wants it to be made; one that is not signed is told elsewhere.
    private static func verifyProtection(_ request: SetupRequest, _ info: ZoneInfo) throws {
        let missing = request.protection.subtracting(info.protection)
        if missing.contains(.sealed) {
            throw SyncError(
                .refused, step: .open, at: info.id.place, "the zone is there, and it is not sealed: everybody who can read the store can read it",
                hint: "on a device that publishes there: snapsync zone encrypt; or make another zone (--zone)")
        }
        guard missing.isDisjoint(with: [.padded, .postQuantum]) else {
            throw SyncError(
                .refused, step: .open, at: info.id.place, "the zone is there, and it is not \(missing.features.joined(separator: ", "))",
                hint: "a zone stays as it was made; make another one (--zone)")
        }
    }

    /// Finds or makes the device's keys, and checks whether they are a member's; nil in a zone that is not signed.
    ///
    /// - Parameter trusted: the result of ``verifyTrust(_:_:)``.
    init?(_ request: SetupRequest, _ id: ZoneID, in cloud: CloudDatabase, uuid: String, as device: String, trusting trusted: KeyFingerprint?) async throws {
        let info = try await cloud.zone(id)
        try Self.verifyProtection(request, info)
        guard info.isSigned else {
            guard !request.isSigned, request.trust == nil else {
                throw SyncError(.refused, step: .open, at: id.place, "the zone is not signed", hint: "ask whoever made the zone")
            }
            return nil
        }
        let owner = KeyOwner(cloud: uuid, zone: id, device: device), store = request.keyStore
        let keys = try store.keys(of: owner, for: info.protection) ?? store.makeKeys(of: owner, for: info.protection)
        var knowledge = ZoneKnowledge(creator: trusted, own: keys.publicKeys)
        knowledge.protection = info.protection
        let first = SignedZone(knowledge, owner: owner, keyStore: store, in: cloud)
        let state = try await cloud.records(in: id)
        let list = try await first.cloud.members(in: id)
        if list?.creator == nil, info.creator == device, trusted == nil { knowledge.creator = keys.publicKeys.fingerprint.words }
        if list?.creator != nil { knowledge = first.authority.knowledge }
        knowledge.floor = state.token
        // Only the person gets the private part. It is stored in no database and no cloud.
        let code = info.isSealed && state.token == nil && info.creator == device ? RecoveryCode() : nil
        knowledge.recoveryKey = code?.publicKey(info.protection.sealingKeyKind)
        zone = SignedZone(knowledge, owner: owner, keyStore: store, in: cloud)
        let zoneKeys = zone.keys
        try zoneKeys?.learn(state.records)
        let isMember = list?.member(device, key: keys.publicKeys.signing) != nil || list?.creator == nil && info.creator == device
        report = SignedSetupReport(
            creator: knowledge.creator, isVerified: request.trust != nil || knowledge.creator == keys.publicKeys.fingerprint.words,
            fingerprint: keys.publicKeys.fingerprint.words, isMember: isMember, keys: store.place(of: owner), isSealed: info.isSealed, features: info.features,
            recoveryCode: code?.words)
    }

    /// Requests membership: writes the report that every device writes, with the device's public keys and signed by them.
    func request(_ role: String, nonce: String) async throws {
        guard !report.isMember else { return }
        try await zone.cloud.report(DeviceReport(device: zone.owner.device, role: role, token: nil, clock: .now, nonce: nonce), in: zone.owner.zone)
    }
}

/// The first part of `init` in a sealed zone, whose contents cannot be read without keys. It chooses the device's name, finds or makes its keys,
/// and checks whether the zone's keys are encrypted for it.
///
/// If they are not, the device requests membership, and `init` ends. Once the device is approved, the same `init` continues from here.
struct SealedJoin {
    let name: DeviceName
    /// The zone's cloud, through which this device can read the contents.
    let cloud: CloudDatabase

    /// Reads the zone; nil if it does not exist or is not sealed.
    ///
    /// - Parameter trusted: the result of ``SignedZoneSetup/verifyTrust(_:_:)``.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if the device must be approved first, or with `.refused`.
    init?(_ request: SetupRequest, _ backend: CloudDatabase?, trusting trusted: KeyFingerprint?) async throws {
        let id = ZoneID(request.zone)
        guard let opened = try? backend ?? CloudLocation.open(request.cloud), let info = try? await opened.zone(id), info.isSealed else {
            guard request.recovery == nil else {
                throw SyncError(
                    .nothingThere, step: .open, at: id.place, "there is no sealed zone to read with a recovery code", hint: "check the location and --zone")
            }
            return nil
        }
        let identity = try await opened.identity()
        name = try await DeviceName(request, in: id, of: opened, identity, isStable: true)
        let owner = KeyOwner(cloud: identity.uuid, zone: id, device: name.name)
        let keys = try Self.keys(of: owner, info.protection, request)
        var knowledge = ZoneKnowledge(creator: trusted, own: keys.publicKeys)
        knowledge.protection = info.protection
        let zone = SignedZone(knowledge, owner: owner, keyStore: request.keyStore, in: opened)
        cloud = zone.opened
        let state = try await opened.records(in: id)
        // The zone belongs to this device, and its first version is not published yet.
        if state.token == nil, info.creator == name.name, request.role.publishes { return }
        if request.role.publishes, info.publishers == .one, info.creator != name.name { throw SyncSetup.otherPublisher(info, request) }
        let ring = try state.record(KeyRing.recordName).map { try KeyRing($0, at: id.place) }
        if let ring, ring.isFor(keys.publicKeys.sealing) { return }
        guard request.recovery == nil else {
            throw SyncError(
                .refused, step: .open, at: id.place, ring == nil ? "nothing has been published yet" : "the recovery code is not the zone's",
                hint: "it may be that of another zone, or an earlier one: snapsync zone rotate-keys --new-recovery-code on a member makes another")
        }
        try await ask(zone, request, as: keys.publicKeys, hasVersions: state.token != nil)
    }

    /// Returns the device's keys, and makes them if there are none.
    private static func keys(of owner: KeyOwner, _ protection: ZoneProtection, _ request: SetupRequest) throws -> DeviceKeys {
        if let found = try request.keyStore.keys(of: owner, for: protection) {
            guard let code = request.recovery, code.seed != found.sealingSeed else { return found }
            throw CloudError(
                .keyUnavailable, at: request.keyStore.place(of: owner), "\(owner.device) has keys already, and the recovery code would replace them",
                hint: "choose another name with --name")
        }
        return try request.keyStore.makeKeys(of: owner, for: protection, recovery: request.recovery)
    }

    /// Requests membership in the zone, and throws an error that says what to do next.
    private func ask(_ zone: SignedZone, _ request: SetupRequest, as own: DevicePublicKeys, hasVersions: Bool) async throws {
        let id = zone.owner.zone, device = name.name
        let list = try await zone.cloud.members(in: id)
        if let member = list?.member(device), member.keys != own {
            throw SyncError(
                .refused, step: .open, at: id.place, "\(device) is a member with other keys than those in \(zone.keyStore.place(of: zone.owner))",
                hint: "bring its key file back from a copy, choose another name with --name, or have it removed: snapsync zone revoke \(device)")
        }
        _ = try await NameClaim(device, in: id, of: zone.cloud, takesOver: request.takesOver, detached: name.detached, keys: own)
        try await zone.cloud.report(
            DeviceReport(device: device, role: request.role.rawValue, token: nil, clock: .now, nonce: NonceSource.system.uuid()), in: id)
        let approve = "snapsync zone approve \(device)"
        throw SyncError(
            .tryAgainLater, step: .open, at: id.place,
            "the zone is sealed, and \(device) has asked to be a member; nothing was set up yet. Its words are \(own.fingerprint)",
            hint: hasVersions
                ? "on a member that publishes, compare these words: \(approve); then run the same command again"
                : "on the device that made the zone: snapsync sync, compare these words, \(approve); then run the same command again")
    }
}
