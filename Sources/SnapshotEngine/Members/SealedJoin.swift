import CloudStore
import DirectoryCloud
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

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
                    .nothingThere, step: .open, at: "zone \(id)", "there is no sealed zone to read with a recovery code", hint: "check --cloud and --zone")
            }
            return nil
        }
        let identity = try await opened.at(.open).identity()
        name = try await DeviceName(request, in: id, of: opened, identity, isStable: true)
        let owner = KeyOwner(cloud: identity.uuid, zone: id, device: name.name)
        let keys = try SyncError.at(.open) { try Self.keys(of: owner, info.protection, request) }
        var knowledge = ZoneKnowledge(creator: trusted, own: keys.publicKeys)
        knowledge.protection = info.protection
        let zone = try SignedZone(knowledge, owner, request.keyStore, in: opened)
        cloud = zone.opened
        let state = try await opened.at(.verify).records(in: id)
        // The zone belongs to this device, and its first version is not published yet.
        if state.token == nil, info.creator == name.name, request.role.publishes { return }
        if request.role.publishes, info.publishers == .one, info.creator != name.name { throw SyncSetup.otherPublisher(info, request) }
        let ring = try SyncError.at(.verify) { try state.record(KeyRing.recordName).map { try KeyRing($0, at: "zone \(id)") } }
        if let ring, ring.isFor(keys.publicKeys.sealing) { return }
        guard request.recovery == nil else {
            throw SyncError(
                .refused, step: .open, at: "zone \(id)", ring == nil ? "nothing has been published yet" : "the recovery code is not the zone's",
                hint: "it may be that of another zone, or an earlier one: key rotate --new-recovery-code makes another")
        }
        try await ask(zone, request, keys.publicKeys, hasVersions: state.token != nil)
    }

    /// Returns the device's keys, and makes them if there are none.
    private static func keys(of owner: KeyOwner, _ protection: ZoneProtection, _ request: SetupRequest) throws -> DeviceKeys {
        if let found = try request.keyStore.keys(of: owner, for: protection) {
            guard let code = request.recovery, code.seed != found.sealingSeed else { return found }
            throw CloudError(
                .keyUnavailable, at: request.keyStore.place(of: owner), "\(owner.device) has keys already, and the recovery code would replace them",
                hint: "choose another name with --device")
        }
        return try request.keyStore.makeKeys(of: owner, for: protection, recovery: request.recovery)
    }

    /// Requests membership in the zone, and throws an error that says what to do next.
    private func ask(_ zone: SignedZone, _ request: SetupRequest, _ own: DevicePublicKeys, hasVersions: Bool) async throws {
        let id = zone.owner.zone, device = name.name
        let list = try await SyncError.at(.verify) { try await zone.cloud.members(in: id) }
        if let member = list?.member(device), member.keys != own {
            throw SyncError(
                .refused, step: .open, at: "zone \(id)", "\(device) is a member with other keys than those in \(zone.keyStore.place(of: zone.owner))",
                hint: "bring its key file back from a copy, choose another name with --device, or have it removed: snapsync member remove \(device)")
        }
        _ = try await NameClaim(device, in: id, of: zone.cloud, takesOver: request.takesOver, detached: name.detached, keys: own)
        try await SyncError.at(.announce) {
            try await zone.cloud.report(
                DeviceReport(device: device, role: request.role.rawValue, token: nil, clock: .now, nonce: NonceSource.system.uuid()), in: id)
        }
        let approve = "snapsync member approve \(device)"
        throw SyncError(
            .tryAgainLater, step: .open, at: "zone \(id)",
            "the zone is sealed, and \(device) has asked to be a member; nothing was set up yet. Its words are \(own.fingerprint)",
            hint: hasVersions
                ? "on a member that publishes, compare these words: \(approve); then run the same command again"
                : "on the device that made the zone: snapsync sync, compare these words, \(approve); then run the same command again")
    }
}
