package import CloudStore
import SnapshotVersions
import StrictText

/// The members of a signed zone of the public scope, as one device meets them.
///
/// No database keeps what is known of such a zone: whose words to trust is said with each call, and without them the creator that is met counts.
package struct SharedZoneMembers: Sendable {
    private let zone: SignedZone
    /// Whether the zone is made, signed, by the first who shares.
    private let makesZone: Bool

    /// The backend, which refuses what no member has signed.
    package var cloud: CloudDatabase { zone.cloud }
    private var id: ZoneID { zone.owner.zone }
    private var device: String { zone.owner.device }

    /// Looks at a zone; nil if it is there and not signed, or not there and not to be made so.
    ///
    /// - Parameters:
    ///   - trust: the words of the zone's creator.
    ///   - makesZone: whether the zone, if there is none, is made as a signed one.
    /// - Throws: ``SyncError`` with `.refused` if the zone is not signed and should be; ``CloudError`` with `.untrusted` if this device has keys for it.
    package init?(
        _ id: ZoneID, in cloud: CloudDatabase, as device: String, trusting trust: KeyFingerprint?, makesZone: Bool, keys keyStore: any KeyStore
    ) async throws {
        let info: ZoneInfo?
        do {
            info = try await cloud.zone(id)
        } catch let error as CloudError where error.code == .zoneNotFound {
            info = nil
        }
        guard info?.isSigned ?? makesZone else {
            // Without a database the device's own key file says that the zone was signed.
            if let uuid = try? await cloud.identity().uuid, (try? keyStore.keys(of: KeyOwner(cloud: uuid, zone: id, device: device))) != nil {
                throw CloudError(
                    .untrusted, at: "\(id)/\(ZoneMarker.fileName)",
                    "\(device) has keys for this zone, and it is \(info == nil ? "not there any more" : "not signed any more")",
                    hint: "somebody has changed or replaced the zone; bring zone.json back from a copy")
            }
            guard trust == nil, !makesZone else {
                throw SyncError(
                    .refused, step: .open, at: "zone \(id)",
                    info == nil ? "there is no zone yet whose creator could be trusted" : "the zone is there, and it is not signed",
                    hint: info == nil ? "check --cloud and --zone" : "choose another zone with --zone; whoever can write the store can write this one")
            }
            return nil
        }
        let owner = KeyOwner(cloud: try await cloud.identity().uuid, zone: id, device: device)
        zone = try SignedZone(ZoneKnowledge(creator: trust, own: try keyStore.keys(of: owner)?.publicKeys), owner, keyStore, in: cloud)
        self.makesZone = info == nil
    }

    /// Sees that this device can publish: gets it keys, makes the zone if it is to be made, and asks to be a member if it is none.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized` for a device that has to be approved first, `.keyUnavailable`, `.untrusted`.
    package func prepareToPublish() async throws {
        let store = zone.keyStore
        let keys = try store.keys(of: zone.owner, for: .signed) ?? store.makeKeys(of: zone.owner, for: .signed)
        if makesZone {
            guard try await cloud.createSignedZone(id, creator: device, publishers: .many, protection: .signed).isSigned else {
                throw CloudError(.untrusted, at: "\(id)", "somebody has made the zone meanwhile, and it is not signed")
            }
        }
        guard let list = try await cloud.members(in: id), list.creator != nil, list.member(device, key: keys.publicKeys.signing) == nil else { return }
        try await cloud.report(
            DeviceReport(device: device, role: MemberRole.peer.rawValue, token: nil, clock: .now, nonce: NonceSource.system.uuid()), in: id)
        throw CloudError(
            .notAuthorized, at: "\(id)",
            "the zone is signed, and \(device) has asked to be a member; nothing was shared. Its words are \(keys.publicKeys.fingerprint)",
            hint: "on a member, compare these words: snapsync share approve \(device); then run the same command again")
    }

    /// Who is a member, and who asks to be one.
    package func report() async throws -> MembersReport? {
        try await MembersReport(cloud, id, own: zone.keyStore.keys(of: zone.owner)?.publicKeys)
    }

    /// Makes a device that asks for it a member that shares and comments.
    ///
    /// - Parameter fingerprint: the words that a person has compared.
    /// - Throws: ``SyncError`` with `.nothingThere` if no such device asks with these words; ``CloudError`` with `.notAuthorized` if this one is no member.
    package func approve(_ device: String, fingerprint: KeyFingerprint) async throws -> MemberChangeReport {
        let requests = try await cloud.joinRequests(in: id)
        guard let keys = requests.first(where: { $0.device == device })?.keys, keys.fingerprint == fingerprint else {
            throw SyncError(
                .nothingThere, step: .announce, at: "zone \(id)", "no device asks to be a member as \(device) with these words",
                hint: "snapsync share members shows who asks")
        }
        return try await change(.approved, device) { list, token in
            guard list.member(device) == nil else {
                throw SyncError(
                    .refused, step: .announce, at: "zone \(id)", "\(device) is a member already", hint: "snapsync share members shows who is")
            }
            try list.add(device, .peer, keys, floor: token, by: self.device, zone.authority.signer(), at: .now, of: zone.history)
        }
    }

    /// Ends a device's membership: nothing that it shares or says from then on counts.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if it is no member; ``CloudError`` with `.notAuthorized` if this device is none.
    package func remove(_ device: String) async throws -> MemberChangeReport {
        try await change(.removed, device) { list, _ in
            try list.change(device, to: nil, by: self.device, zone.authority.signer(), at: .now, of: zone.history)
        }
    }

    /// Publishes a version that changes the list of members alone; the change is made anew after a lost race.
    private func change(
        _ action: MemberChangeReport.Action, _ device: String, _ change: (inout MemberList, ChangeToken) throws -> Void
    ) async throws -> MemberChangeReport {
        for _ in 0..<10 {
            let state = try await cloud.records(in: id)
            guard let token = state.token, let record = state.record(MemberList.recordName) else {
                throw SyncError(.nothingThere, step: .announce, at: "zone \(id)", "nothing has been shared yet", hint: "share something first")
            }
            let before = try MemberList(record, savedBy: token.number, of: zone.history, at: "zone \(id)")
            var list = before
            try change(&list, token)
            guard let member = list.member(device) ?? before.member(device) else {
                throw SyncError(.nothingThere, step: .announce, at: "zone \(id)", "\(device) is no member", hint: "snapsync share members shows who is")
            }
            do {
                let draft = CommitDraft(device: self.device, saving: [list.record], clock: .now)
                let published = try await cloud.publish(cloud.prepare(draft, after: token, in: id))
                return MemberChangeReport(
                    zone: id.name, action: action, device: device, role: member.role.rawValue, fingerprint: member.keys.fingerprint.words,
                    version: published.number, epoch: nil)
            } catch let error as CloudError where error.code == .serverRecordChanged {
                continue
            }
        }
        throw SyncError(.tryAgainLater, step: .announce, at: "zone \(id)", "other devices publish without a pause", hint: "run the same command again")
    }
}
