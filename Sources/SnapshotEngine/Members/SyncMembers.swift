public import CloudStore
import LocalTables
import SnapshotVersions
import StrictText
import SyncRuns

/// The members of a signed zone, and the devices that request membership.
public struct MembersReport: Sendable, Encodable {
    public struct Member: Sendable, Encodable {
        public let device: String
        /// `writer`, `peer`, `reader` or `observer`.
        public let role: String
        /// The eight words of the member's keys.
        public let fingerprint: String
        /// The member that admitted this member; itself for the creator.
        public let by: String
        /// The time of admission, by that member's clock.
        public let since: String
        /// Whether the member is this database's device.
        public let isOwn: Bool
    }

    /// A device that requests membership.
    public struct Request: Sendable, Encodable {
        public let device: String
        /// The role that the device was set up with.
        public let role: String
        public let fingerprint: String
        /// The time of the request, by the device's own clock.
        public let at: String
        /// Whether a member with other keys has that name.
        public let isNameTaken: Bool
    }

    public let zone: String
    /// Whether the zone is sealed, so that only its members can read it.
    public let isSealed: Bool
    /// The words of the zone's creator; nil if nothing has been published yet.
    public let creator: String?
    /// The device that made the zone.
    public let creatorDevice: String
    public let members: [Member]
    public let requests: [Request]
}

extension MembersReport {
    /// Reads the members of a zone; nil if it is not signed.
    ///
    /// - Parameter own: the keys of this device; nil without a database.
    package init?(_ cloud: CloudDatabase, _ zone: ZoneID, own: DevicePublicKeys?) async throws {
        let (found, reports, info) = (try await cloud.members(in: zone), try await cloud.joinRequests(in: zone), try await cloud.zone(zone))
        guard let list = found else { return nil }
        self.zone = zone.name
        isSealed = info.isSealed
        creator = list.creator?.keys.fingerprint.words
        creatorDevice = info.creator
        members = list.members.map {
            Member(
                device: $0.device, role: $0.role.rawValue, fingerprint: $0.keys.fingerprint.words, by: $0.by, since: $0.since.description,
                isOwn: $0.keys == own)
        }
        requests = reports.compactMap { report in
            report.keys.map {
                Request(
                    device: report.device, role: report.role, fingerprint: $0.fingerprint.words, at: report.clock.description,
                    isNameTaken: list.member(report.device) != nil)
            }
        }
    }
}

/// The result of a change in the list of members.
public struct MemberChangeReport: Sendable, Encodable {
    public enum Action: String, Sendable, Encodable { case approved, removed, role }

    public let zone: String
    public let action: Action
    public let device: String
    /// The member's new role, or its last role if it was removed.
    public let role: String
    public let fingerprint: String
    /// The version that carries the change.
    public let version: Int
    /// In a sealed zone, the epoch of the keys for versions published from now on.
    public let epoch: Int?
}

/// The result of `member freshness`.
package struct FreshnessReport: Sendable, Encodable {
    package let zone: String
    /// The longest time between two versions from now on, in seconds; nil if there is no promise any more.
    package let interval: Int?
    /// The version that carries the change.
    package let version: Int
}

extension SyncEngine {
    /// The members of a signed zone, and its keys.
    public var members: SyncMembers { SyncMembers(engine: self) }
}

/// The members of a signed zone, and its keys: `engine.members`.
public struct SyncMembers: Sendable {
    let engine: SyncEngine
}

extension SyncMembers {
    /// Returns the members of the zone, and the devices that request membership. Changes nothing.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone is not signed.
    public func list() async throws -> MembersReport {
        try await WorkerThreads.host {
            try engine.gate.verify(asIfWanted: true)
            let settings = try engine.database.read { try $0.settings.read() }
            let zone = try signed(engine.openToLook(settings).signedZone)
            guard let report = try await MembersReport(zone.cloud, zone.owner.zone, own: zone.authority.knowledge.own) else { throw notSigned() }
            return report
        }
    }

    /// Admits a device that has requested membership, and publishes a version for that.
    ///
    /// - Parameters:
    ///   - role: the member's role; nil means the role that the device was set up with.
    ///   - fingerprint: the words that a person has compared with those on the device. A request with other keys under the name is refused.
    /// - Throws: ``SyncError`` with `.nothingThere` if no such device has requested membership; `.refused` if this device may not admit members,
    ///   or the role does not fit the zone.
    public func approve(_ device: String, as role: MemberRole? = nil, fingerprint: KeyFingerprint) async throws -> MemberChangeReport {
        try await changeMembers(.approved, device) { zone, info, list, now, token in
            let report = try await zone.cloud.joinRequests(in: zone.owner.zone).first { $0.device == device }
            if let member = list.member(device), member.keys.fingerprint == fingerprint || report == nil {
                throw SyncError(
                    .refused, step: .announce, at: zone.owner.zone.place, "\(device) is a member already", hint: "snapsync zone members shows who is")
            }
            guard let report, let keys = report.keys else {
                throw SyncError(
                    .nothingThere, step: .announce, at: zone.owner.zone.place, "no device asks to be a member as \(device)",
                    hint: "run snapsync init there first; snapsync zone members shows who asks")
            }
            guard keys.fingerprint == fingerprint else {
                throw SyncError(
                    .refused, step: .announce, at: zone.owner.zone.place, "another device asks as \(device) by now: \(keys.fingerprint)",
                    hint: "compare these words with those on the device, then run the same command again")
            }
            guard list.member(device) == nil else {
                throw SyncError(
                    .refused, step: .announce, at: zone.owner.zone.place, "\(device) is a member with other keys",
                    hint: "if that one is gone: snapsync zone revoke \(device), then approve again; else set the new device up under another name")
            }
            let role = role ?? MemberRole(rawValue: report.role) ?? .reader
            try Self.verify(role, of: device, in: info)
            try list.add(device, as: role, with: keys, floor: token, by: (zone.owner.device, zone.authority.signer()), at: now, of: zone.history)
            return (role, keys)
        }
    }

    /// Ends a device's membership: signatures that it makes from then on do not count. The device can still read what it could read before.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if it is no member, `.refused` for the last member that publishes.
    public func remove(_ device: String) async throws -> MemberChangeReport { try await change(device, to: nil) }

    /// Gives a member another role.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if it is no member, `.refused` if the role does not fit the zone, or if no publisher would be
    ///   left.
    public func setRole(_ role: MemberRole, of device: String) async throws -> MemberChangeReport { try await change(device, to: role) }

    private func change(_ device: String, to role: MemberRole?) async throws -> MemberChangeReport {
        try await changeMembers(role == nil ? .removed : .role, device) { zone, info, list, now, _ in
            guard let member = list.member(device) else {
                throw SyncError(
                    .nothingThere, step: .announce, at: zone.owner.zone.place, "\(device) is no member", hint: "snapsync zone members shows who is")
            }
            if let role { try Self.verify(role, of: device, in: info) }
            try list.change(device, to: role, by: (zone.owner.device, zone.authority.signer()), at: now, of: zone.history)
            return (role ?? member.role, member.keys)
        }
    }

    /// Publishes a version that changes only the list of members.
    ///
    /// - Parameter change: makes the change, and returns the member that was changed; called again after a lost race.
    private func changeMembers(
        _ action: MemberChangeReport.Action, _ device: String,
        by change: (SignedZone, ZoneInfo, inout MemberList, Instant, ChangeToken) async throws -> (MemberRole, DevicePublicKeys)
    ) async throws -> MemberChangeReport {
        try await engine.gate.enter()
        return try await engine.locked {
            let context = try engine.context()
            let zone = try signed(context.signedZone)
            let info = try await context.zoneInfo()
            var changed: (role: MemberRole, keys: DevicePublicKeys)?
            let (token, epoch) = try await context.publishMembers(of: zone) { changed = try await change(zone, info, &$0, context.now(), $1) }
            guard let changed else { throw unpublished(zone.owner.zone, by: info.creator) }
            return MemberChangeReport(
                zone: zone.owner.zone.name, action: action, device: device, role: changed.role.rawValue, fingerprint: changed.keys.fingerprint.words,
                version: token.number, epoch: epoch)
        }
    }

    func signed(_ zone: SignedZone?) throws -> SignedZone {
        guard let zone else { throw notSigned() }
        return zone
    }

    /// The error before the zone's first version.
    func unpublished(_ zone: ZoneID, by creator: String? = nil) -> SyncError {
        let place = creator.map { "on \($0) " } ?? ""
        return SyncError(.nothingThere, step: .announce, at: zone.place, "nothing has been published yet", hint: "run snapsync sync \(place)first")
    }

    private func notSigned() -> SyncError {
        SyncError(
            .refused, step: .open, at: engine.database.path, "its zone is not signed, so it has no members",
            hint: "who may write the location may publish; snapsync zone sign or snapsync zone encrypt changes that")
    }

    /// Refuses a role that does not fit the zone.
    private static func verify(_ role: MemberRole, of device: String, in info: ZoneInfo) throws {
        guard role.mayPublish, info.publishers == .one, device != info.creator else { return }
        throw SyncError(
            .refused, step: .announce, at: info.id.place, "its one publisher is \(info.creator), so \(device) cannot be a \(role.rawValue)",
            hint: "give it the role reader (sends messages) or observer (reads only)")
    }
}

extension SyncContext {
    /// Publishes a changed list of members, and the keys that go with it; nothing if `change` leaves the list as it is, or before the first version.
    ///
    /// - Returns: the zone's newest version, and the epoch of the keys if they have changed.
    @discardableResult
    func publishMembers(
        of zone: SignedZone, _ change: (inout MemberList, _ floor: ChangeToken) async throws -> Void
    ) async throws -> (version: ChangeToken, epoch: Int?) {
        var epoch: Int?
        let version = try await MetadataPublisher(context: self).publish { state in
            guard let record = state.record(MemberList.recordName), let token = state.token else { return MetadataPublisher.Changes() }
            let list = try MemberList(record, savedBy: token.number, of: zone.history, at: zone.owner.zone.place)
            var changed = list
            try await change(&changed, token)
            guard changed != list else { return MetadataPublisher.Changes() }
            let ring = try zone.keys?.ring(for: changed, after: list)
            epoch = ring.map { Int($0.epoch) } ?? epoch
            return MetadataPublisher.Changes(saving: [changed.record] + [ring?.record].compactMap(\.self))
        }
        return (version, epoch)
    }
}

extension SyncMembers {
    /// Promises that the signed zone gets a new version at least once a day, or withdraws the promise. Every publisher keeps the promise when it
    /// syncs; readers warn after three days without a version.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone is not signed, or this device does not publish in it.
    package func setFreshness(_ isPromised: Bool) async throws -> FreshnessReport {
        try await engine.gate.enter()
        return try await engine.locked {
            let context = try engine.context()
            _ = try signed(context.signedZone)
            let promise = isPromised ? FreshnessRecord(interval: FreshnessRecord.standardInterval) : nil
            let token = try await MetadataPublisher(context: context).publish { state in
                let known = state.record(FreshnessRecord.recordName)
                guard promise == nil || known.flatMap(FreshnessRecord.init) == nil else { return MetadataPublisher.Changes() }
                return MetadataPublisher.Changes(
                    saving: [promise?.record].compactMap(\.self), deleting: promise == nil && known != nil ? [FreshnessRecord.recordName] : [])
            }
            guard token.number > 0 else { throw unpublished(context.zone) }
            try engine.database.write { transaction in
                try transaction.state.freshness.set(promise.map { FreshnessNote(interval: $0.interval, newest: context.now()) })
            }
            return FreshnessReport(zone: context.zone.name, interval: promise?.interval, version: token.number)
        }
    }
}
