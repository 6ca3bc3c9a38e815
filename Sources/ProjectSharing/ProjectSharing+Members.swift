public import CloudStore
public import RecordZones
public import SnapshotEngine
import SnapshotVersions
public import StrictText

// A signed zone: not rights on the store, but keys say who shares and comments.
extension ProjectSharing {
    /// Shares through a cloud whose zone may be signed, or is to be made so by the first publication.
    ///
    /// In a signed zone what no member has signed is refused (`untrusted`). A device that is no member asks to be one when it shares or comments, and is refused
    /// until a member has approved it (``approveMember(_:fingerprint:)``).
    ///
    /// - Parameters:
    ///   - trust: the words of the zone's creator: a zone of another one, or one that is not signed, is refused. nil takes the creator that it meets.
    ///   - makesSigned: whether a zone that is made is signed, and one that is there must be.
    ///   - keys: where this device's keys lie.
    /// - Throws: ``SyncError`` with `.refused` if the zone is not signed and should be; ``CloudError``.
    public init(
        opening cloud: CloudDatabase, device: String, zone: String = standardZone, trust: KeyFingerprint? = nil, makesSigned: Bool = false,
        keys: any KeyStore = FileKeyStore(), now: @escaping @Sendable () -> Instant = { .now }
    ) async throws {
        let id = ZoneID(zone, scope: .public)
        let members = try await SharedZoneMembers(id, in: cloud, as: device, trusting: trust, makesZone: makesSigned, keys: keys)
        let database: CloudDatabase = members?.cloud ?? cloud
        self.init(database, zone: CloudZone(id, of: database, as: device, now: now), nonces: .system, members: members)
    }

    /// The same through the cloud in a directory, or `s3://BUCKET/PREFIX`.
    public init(
        openingAt location: String, device: String, zone: String = standardZone, trust: KeyFingerprint? = nil, makesSigned: Bool = false,
        keys: any KeyStore = FileKeyStore()
    ) async throws {
        try await self.init(opening: CloudLocation.open(location), device: device, zone: zone, trust: trust, makesSigned: makesSigned, keys: keys)
    }

    /// Who may share and comment in a signed zone, and who asks for it; nil if the zone is not signed.
    public func members() async throws -> MembersReport? { try await signedMembers?.report() }

    /// Lets a device that asks for it share and comment.
    ///
    /// - Parameter fingerprint: the words that a person has compared with those on the device.
    /// - Throws: ``SyncError`` with `.nothingThere` if no such device asks, `.refused` if the zone is not signed; ``CloudError`` with `.notAuthorized` if this
    ///   device is no member.
    public func approveMember(_ device: String, fingerprint: KeyFingerprint) async throws -> MemberChangeReport {
        try await signed().approve(device, fingerprint: fingerprint)
    }

    /// Ends a device's membership: nothing that it shares or says from then on counts. What it has shared stays.
    ///
    /// - Throws: as ``approveMember(_:fingerprint:)``.
    public func removeMember(_ device: String) async throws -> MemberChangeReport { try await signed().remove(device) }

    private func signed() throws -> SharedZoneMembers {
        if let signedMembers { return signedMembers }
        throw SyncError(.refused, at: "zone \(zone.id)", "it is not signed, so it has no members", hint: "whoever can write the store can share there")
    }
}
