package import StrictText

/// A cloud's identity: set when the cloud is created, and never changed.
package struct CloudIdentity: Hashable, Sendable, Codable {
    /// The version of the directory's format that a reader must support.
    package let formatVersion: Int
    /// A UUID in lower case.
    package let uuid: String
    /// `iCloud.` and the reverse-DNS name of the application.
    package let container: String

    package init(formatVersion: Int, uuid: String, container: String) {
        (self.formatVersion, self.uuid, self.container) = (formatVersion, uuid, container)
    }
}

/// Whether a zone's records belong to one user or are for everybody.
public enum CloudScope: String, Codable, Sendable, CaseIterable {
    case `private`, `public`
}

/// A zone's scope and name.
public struct ZoneID: Hashable, Sendable, Codable, CustomStringConvertible {
    public let scope: CloudScope
    public let name: String

    public init(_ name: String, scope: CloudScope = .private) { (self.scope, self.name) = (scope, name) }

    /// The zone that is used if none is named.
    public static let standard = ZoneID("ZentikSyncZone")

    public var description: String { "\(scope.rawValue)/\(name)" }

    /// The zone of a location where none is named.
    package static let main = "main"

    /// What errors name: where the zones have no names of their own, the location.
    package var place: String { name.exact == Self.main.exact ? "the location" : "zone \(scope == .private ? name : description)" }
}

/// Who may publish in a zone: one named device, or any device (if all devices mount one file system).
public enum PublisherRule: String, Codable, Sendable {
    case one, many
}

/// The properties of a zone.
public struct ZoneInfo: Hashable, Sendable {
    public let id: ZoneID
    public let formatVersion: Int
    /// The features that a reader must support to read this zone: none, `signed`, or `sealed` and `signed`, perhaps with more (``ZoneProtection``).
    public let features: [String]
    /// The device that created the zone; under `publishers: one` the only one that publishes.
    public let creator: String
    public let publishers: PublisherRule

    public init(id: ZoneID, formatVersion: Int, features: [String], creator: String, publishers: PublisherRule) {
        (self.id, self.formatVersion, self.features, self.creator, self.publishers) = (id, formatVersion, features, creator, publishers)
    }

    /// Whether keys, not rights on the store, decide who may publish and send messages.
    public var isSigned: Bool { protection.contains(.signed) }

    /// Whether assets, records and messages are encrypted for the zone's members, so that the store cannot read them. Such a zone is signed
    /// as well.
    public var isSealed: Bool { protection.contains(.sealed) }

    /// The protection that the ``features`` name.
    package var protection: ZoneProtection { ZoneProtection(features: features) ?? [] }
}

/// How far a device has read a zone: a commit's number and the SHA-256 of its bytes, in lower-case hexadecimal.
public struct ChangeToken: Hashable, Sendable, Codable {
    public let number: Int
    public let hash: String

    public init(number: Int, hash: String) { (self.number, self.hash) = (number, hash) }
}

/// The path of an immutable asset, and the sizes and hash that identify its content.
public struct CloudAsset: Hashable, Sendable, Codable {
    /// Relative to the zone's directory: `assets/notifications_data/00000000000000000013-0a1b2c3d.json.gz`.
    public let path: String
    /// The file's size in bytes.
    public let byteCount: Int
    /// The decompressed size in bytes; readers refuse to decompress more.
    package let rawByteCount: Int
    /// The SHA-256 of the file, in lower-case hexadecimal.
    public let sha256: String
    /// The block index beside the asset, if it has one.
    public let index: CloudAssetIndex?

    public init(path: String, byteCount: Int, rawByteCount: Int, sha256: String, index: CloudAssetIndex?) {
        (self.path, self.byteCount, self.rawByteCount, self.sha256, self.index) = (path, byteCount, rawByteCount, sha256, index)
    }

    enum CodingKeys: String, CodingKey {
        case path, byteCount = "size", rawByteCount = "rawSize", sha256, index
    }
}

/// The size and hash of an asset's block index, whose path follows from the asset's.
public struct CloudAssetIndex: Hashable, Sendable, Codable {
    public let byteCount: Int
    public let sha256: String

    public init(byteCount: Int, sha256: String) { (self.byteCount, self.sha256) = (byteCount, sha256) }

    enum CodingKeys: String, CodingKey {
        case byteCount = "size", sha256
    }
}

/// What an asset holds.
public enum AssetKind: Sendable {
    /// One whole version of one container: `….json.gz`.
    case snapshot
    /// The changes of one commit: `….changes.json.gz`.
    case changes
}

/// The changes that a commit is to make.
package struct CommitDraft: Sendable {
    /// The device that publishes.
    package var device: String
    /// The complete records to save; at most one of each name.
    package var saving: [CloudRecord]
    /// The names of the records to delete.
    package var deleting: [String]
    /// The publisher's clock.
    package var clock: Instant
    /// The exceptions that the user explicitly allowed for this publish: `shrink:notifications_data`.
    package var approvals: [String]
    /// For devices whose edits the commit decides: the number of the last one. All others keep the number that the parent states.
    package var answered: [ExactText: Int64] = [:]
    /// The zone that continues this one from now on. Such a commit saves and deletes no record.
    package var successor: ZoneSuccessor?
    /// A stored checkpoint that the commit is to name, so that it counts; then no other checkpoint is written, even if one is due.
    package var checkpoint: CheckpointReference?

    package init(device: String, saving: [CloudRecord], deleting: [String] = [], clock: Instant, approvals: [String] = []) {
        (self.device, self.saving, self.deleting, self.clock, self.approvals) = (device, saving, deleting, clock, approvals)
    }
}

/// A checkpoint as commits name it: its number and the SHA-256 of its file.
package struct CheckpointReference: Hashable, Sendable, Codable {
    package let number: Int
    /// In lower-case hexadecimal.
    package let sha256: String

    package init(number: Int, sha256: String) { (self.number, self.sha256) = (number, sha256) }
}

/// A commit that is ready to be published: its zone, its token, and its bytes.
package struct PreparedCommit: Sendable {
    package let zone: ZoneID
    /// The zone's token once this commit is published.
    package let token: ChangeToken
    /// The bytes that the backend stores on publishing; their hash is the token's.
    package let bytes: [UInt8]
}

/// One numbered, immutable change of a zone, as it was read.
package struct Commit: Hashable, Sendable {
    package let token: ChangeToken
    /// The hash of the parent commit; nil for the first.
    package let parent: String?
    /// max(the publisher's clock, the parent's timestamp + 1 ms). For people to read, never used for order.
    package let timestamp: Instant
    /// The publisher's unmodified clock.
    package let clock: Instant
    package let device: String
    package var saved: [CloudRecord]
    package let deleted: [String]
    package let approvals: [String]
    /// For each device that has handed over edits: the number up to which they are decided.
    package var answered: [ExactText: Int64] = [:]
    /// Where the commit moves the zone; nil for all other commits.
    package let zoneMove: ZoneMove?
    /// The newest checkpoint that the publisher knew. It counts because this commit names it. nil before the first.
    package var checkpoint: CheckpointReference?
    /// In a signed zone: the Ed25519 public key that signed the commit, as 64 hexadecimal digits.
    package var key: String?

    package init(
        token: ChangeToken, parent: String?, timestamp: Instant, clock: Instant, device: String,
        saved: [CloudRecord], deleted: [String], approvals: [String], zoneMove: ZoneMove? = nil
    ) {
        self.token = token
        self.parent = parent
        self.timestamp = timestamp
        self.clock = clock
        self.device = device
        self.saved = saved
        self.deleted = deleted
        self.approvals = approvals
        self.zoneMove = zoneMove
    }
}

/// The commits that a device has not read yet.
package struct ZoneChanges: Sendable {
    /// The records of the checkpoint that reading started at; empty if reading started at the token or at the first commit.
    package let base: [CloudRecord]
    /// The commits after that, oldest first.
    package let commits: [Commit]
    /// The zone's newest commit; nil if there is none.
    package let token: ChangeToken?
    /// For each device that has handed over edits: the number up to which they are decided by the newest commit; nil if no commit was read.
    package var answered: [ExactText: Int64]?

    package init(base: [CloudRecord], commits: [Commit], token: ChangeToken?) {
        self.base = base
        self.commits = commits
        self.token = token
        answered = commits.last?.answered
    }
}

/// A zone's live records as of one commit, sorted by name.
package struct ZoneState: Sendable {
    package let records: [CloudRecord]
    /// That commit; nil if the zone has none.
    package let token: ChangeToken?
    /// That commit's timestamp.
    package let timestamp: Instant?

    package init(records: [CloudRecord], token: ChangeToken?, timestamp: Instant?) {
        (self.records, self.token, self.timestamp) = (records, token, timestamp)
    }

    /// The record of that name.
    package func record(_ name: String) -> CloudRecord? {
        records.first { $0.name == name }
    }
}

/// A device's report of the version that it last applied.
package struct DeviceReport: Hashable, Sendable, Codable {
    package let device: String
    /// `writer`, `reader` or `peer`.
    package let role: String
    /// The last version that the device applied or published; nil before the first.
    package let token: ChangeToken?
    /// The device's clock when it wrote the report.
    package let clock: Instant
    /// A random value that the reporting database stores too. A copy of the database, or a restored backup, has another one. Absent in older
    /// reports.
    package let nonce: String?
    /// In a signed zone: the device's keys. The signing key has signed the report.
    package var keys: DevicePublicKeys?
    /// In a signed zone: whether the keys are those of the member of that name. If not, the report is a request for membership. nil in an
    /// unsigned zone.
    package var isMember: Bool?

    package init(device: String, role: String, token: ChangeToken?, clock: Instant, nonce: String? = nil) {
        (self.device, self.role, self.token, self.clock, self.nonce) = (device, role, token, clock, nonce)
    }

    /// Only the report's own keys; `keys` and `isMember` are not part of it.
    enum CodingKeys: String, CodingKey {
        case device, role, token, clock, nonce
    }
}
