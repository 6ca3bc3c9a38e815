import CloudStore
import CommitLog
import SnapshotEngine
import SnapshotVersions
import StrictText

/// What makes a zone a signed one, as `status` shows it.
public struct SignatureReport: Sendable, Encodable {
    /// The eight words of the zone's creator; nil where nothing has been published yet.
    public let creator: String?
    /// How many members the zone has.
    public let members: Int
    /// How many devices ask to be members.
    public let requests: Int
    /// The eight words of this device; nil where no database was named.
    public let fingerprint: String?
    /// What this device may do as a member; nil if it is none, or no database was named.
    public let role: String?
    /// Whether the zone is sealed: the store cannot read what it holds.
    public let isSealed: Bool
    /// The member whose keys are the oldest, and since when it has them; nil where nothing was published yet.
    public let oldestKey: MemberKey?
    /// The number of the newest keys of a sealed zone, from 1; nil elsewhere, and before the first version.
    public let epoch: Int?
    /// Whether these keys are for this device; nil where no database was named, and in a zone that is not sealed.
    public let hasKeys: Bool?

    /// The age of a member's keys.
    public struct MemberKey: Sendable, Encodable {
        public let device: String
        /// By the clock of the member that admitted it.
        public let since: String
    }

    /// Looks at a zone; nil if it is not signed.
    ///
    /// - Parameter cloud: the backend itself.
    init?(_ cloud: any CloudDatabase, _ zone: ZoneID, own: DevicePublicKeys?) async throws {
        guard let signing = cloud as? any SigningCloud, let list = try await signing.members(in: zone) else { return nil }
        isSealed = try await signing.zone(zone).isSealed
        let ring = isSealed ? try await signing.records(in: zone).record(KeyRing.recordName).map { try KeyRing($0, at: "\(zone)") } : nil
        epoch = ring.map { Int($0.epoch) }
        hasKeys = own.flatMap { own in ring.map { $0.isFor(own.sealing) } }
        creator = list.creator?.keys.fingerprint.words
        members = list.members.count
        oldestKey = list.members.min { $0.since < $1.since }.map { MemberKey(device: $0.device, since: $0.since.description) }
        requests = try await signing.joinRequests(in: zone).count { list.member($0.device) == nil }
        fingerprint = own?.fingerprint.words
        role = list.members.first { $0.keys == own }?.role.rawValue
    }

    /// One line for people.
    public var sentence: String {
        (isSealed ? "sealed\(epoch.map { ", epoch \($0)" } ?? ""), " : "") + "signed by \(Format.count(members, "member"))"
            + (creator.map { ", creator \($0)" } ?? "; nothing was published yet")
            + (oldestKey.map { ", the oldest key is \($0.device)'s, of \($0.since.prefix(10))" } ?? "")
            + (fingerprint.map { role == nil ? "; this device is no member, its words are \($0)" : "" } ?? "")
            + (requests == 0 ? "" : "; \(Format.count(requests, "device asks", "devices ask")) to be a member: snapsync member list")
    }
}
