import CloudStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// The signature of a zone, as `status` shows it.
public struct SignatureReport: Sendable, Encodable {
    /// The creator's fingerprint, eight words; nil if nothing has been published yet.
    public let creator: String?
    /// How many members the zone has.
    public let members: Int
    /// How many devices ask to be members.
    public let requests: Int
    /// The fingerprint of this device, eight words; nil without a database.
    public let fingerprint: String?
    /// The role of this device as a member; nil if it is no member or without a database.
    public let role: String?
    /// Whether the zone is sealed, so that the store cannot read its data.
    public let isSealed: Bool
    /// How the zone is protected: `padded`, `post-quantum`, `sealed`, `signed`.
    public let features: [String]
    /// The member with the oldest keys, and their date; nil if nothing has been published yet.
    public let oldestKey: MemberKey?
    /// The epoch of a sealed zone's newest keys, from 1; nil in other zones and before the first version.
    public let epoch: Int?
    /// Whether this device has these keys; nil without a database, and in a zone that is not sealed.
    public let hasKeys: Bool?

    /// The age of a member's keys.
    public struct MemberKey: Sendable, Encodable {
        public let device: String
        /// By the clock of the member that admitted it.
        public let since: String
    }

    /// Reads a zone's signature; nil if the zone is not signed.
    ///
    /// - Parameter cloud: the backend itself, without the layers of the engine.
    init?(_ cloud: CloudDatabase, _ zone: ZoneID, own: DevicePublicKeys?) async throws {
        guard let list = try await cloud.members(in: zone) else { return nil }
        let info = try await cloud.zone(zone)
        (isSealed, features) = (info.isSealed, info.features)
        let ring = isSealed ? try await cloud.records(in: zone).record(KeyRing.recordName).map { try KeyRing($0, at: zone.place) } : nil
        epoch = ring.map { Int($0.epoch) }
        hasKeys = own.flatMap { own in ring.map { $0.isFor(own.sealing) } }
        creator = list.creator?.keys.fingerprint.words
        members = list.members.count
        oldestKey = list.members.min { $0.since < $1.since }.map { MemberKey(device: $0.device, since: $0.since.description) }
        requests = try await cloud.joinRequests(in: zone).count { list.member($0.device) == nil }
        fingerprint = own?.fingerprint.words
        role = list.members.first { $0.keys == own }?.role.rawValue
    }

    private var kinds: String {
        let kinds = features.filter { $0 != "sealed" && $0 != "signed" }
        return kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"
    }

    /// One line for people.
    public var sentence: String {
        (isSealed ? "sealed\(kinds)\(epoch.map { ", epoch \($0)" } ?? ""), " : "") + "signed by \(Format.count(members, "member"))"
            + (creator.map { ", creator \($0)" } ?? "; nothing was published yet")
            + (oldestKey.map { ", the oldest key is \($0.device)'s, of \($0.since.prefix(10))" } ?? "")
            + (fingerprint.map { role == nil ? "; this device is no member, its words are \($0)" : "" } ?? "")
            + (requests == 0 ? "" : "; \(Format.count(requests, "device asks", or: "devices ask")) to be a member: snapsync zone members")
    }
}
