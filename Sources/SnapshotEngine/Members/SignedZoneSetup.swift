import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

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
                .nothingThere, step: .open, at: "zone \(id)", "there is no zone yet whose creator could be trusted",
                hint: "check --cloud and --zone; whoever makes the zone gives no --trust")
        }
        try verifyProtection(request, info)
        guard info.isSigned else {
            guard !request.isSigned, request.trust == nil else {
                throw SyncError(
                    .refused, step: .open, at: "zone \(id)",
                    request.isSigned ? "the zone is there, and it is not signed" : "the zone is not signed, and --trust says that it is",
                    hint: request.isSigned
                        ? "on a device that publishes there: snapsync sign; or make another zone (--zone)"
                        : "ask whoever made the zone; somebody may have put another in its place")
            }
            return nil
        }
        var knowledge = ZoneKnowledge(creator: request.trust)
        knowledge.protection = info.protection
        cloud.authorities.set(ZoneAuthority(knowledge) { throw CloudError(.keyUnavailable, at: "\(id)", "no keys yet") }, of: id)
        _ = try await SyncError.at(.verify) { try await cloud.members(in: id) }
        return cloud.authorities.authority(of: id).knowledge.creator.flatMap(KeyFingerprint.init) ?? request.trust
    }

    /// Refuses a zone that is there and is not protected as the request wants it to be made; one that is not signed is told elsewhere.
    private static func verifyProtection(_ request: SetupRequest, _ info: ZoneInfo) throws {
        let missing = request.protection.subtracting(info.protection)
        if missing.contains(.sealed) {
            throw SyncError(
                .refused, step: .open, at: "zone \(info.id)", "the zone is there, and it is not sealed: everybody who can read the store can read it",
                hint: "on a device that publishes there: snapsync seal; or make another zone (--zone)")
        }
        guard missing.isDisjoint(with: [.padded, .postQuantum]) else {
            throw SyncError(
                .refused, step: .open, at: "zone \(info.id)", "the zone is there, and it is not \(missing.features.joined(separator: ", "))",
                hint: "a zone stays as it was made; make another one (--zone)")
        }
    }

    /// Finds or makes the device's keys, and checks whether they are a member's; nil in a zone that is not signed.
    ///
    /// - Parameter trusted: the result of ``verifyTrust(_:_:)``.
    init?(_ request: SetupRequest, _ id: ZoneID, in cloud: CloudDatabase, uuid: String, as device: String, trusting trusted: KeyFingerprint?) async throws {
        let info = try await cloud.at(.open).zone(id)
        try Self.verifyProtection(request, info)
        guard info.isSigned else {
            guard !request.isSigned, request.trust == nil else {
                throw SyncError(.refused, step: .open, at: "zone \(id)", "the zone is not signed", hint: "ask whoever made the zone")
            }
            return nil
        }
        let owner = KeyOwner(cloud: uuid, zone: id, device: device), store = request.keyStore
        let keys = try SyncError.at(.open) {
            try store.keys(of: owner, for: info.protection) ?? store.makeKeys(of: owner, for: info.protection)
        }
        var knowledge = ZoneKnowledge(creator: trusted, own: keys.publicKeys)
        knowledge.protection = info.protection
        let first = try SignedZone(knowledge, owner, store, in: cloud)
        let state = try await cloud.at(.verify).records(in: id)
        let list = try await SyncError.at(.verify) { try await first.cloud.members(in: id) }
        if list?.creator == nil, info.creator == device, trusted == nil { knowledge.creator = keys.publicKeys.fingerprint.words }
        if list?.creator != nil { knowledge = first.authority.knowledge }
        knowledge.floor = state.token
        // Only the person gets the private part. It is stored in no database and no cloud.
        let code = info.isSealed && state.token == nil && info.creator == device ? RecoveryCode() : nil
        knowledge.recoveryKey = code?.publicKey(info.protection.sealingKeyKind)
        zone = try SignedZone(knowledge, owner, store, in: cloud)
        let zoneKeys = zone.keys
        try SyncError.at(.verify) { try zoneKeys?.learn(state.records) }
        let isMember = list?.member(device, key: keys.publicKeys.signing) != nil || list?.creator == nil && info.creator == device
        report = SignedSetupReport(
            creator: knowledge.creator, isVerified: request.trust != nil || knowledge.creator == keys.publicKeys.fingerprint.words,
            fingerprint: keys.publicKeys.fingerprint.words, isMember: isMember, keys: store.place(of: owner), isSealed: info.isSealed, features: info.features,
            recoveryCode: code?.words)
    }

    /// Requests membership: writes the report that every device writes, with the device's public keys and signed by them.
    func request(_ role: String, nonce: String) async throws {
        guard !report.isMember else { return }
        try await SyncError.at(.announce) {
            try await zone.cloud.report(DeviceReport(device: zone.owner.device, role: role, token: nil, clock: .now, nonce: nonce), in: zone.owner.zone)
        }
    }
}
