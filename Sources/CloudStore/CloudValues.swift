public import StrictText

/// Who a cloud is: made once, when the cloud is created, and never changed.
public struct CloudIdentity: Hashable, Sendable, Codable {
    /// The version of the directory's format that a reader must know.
    public let formatVersion: Int
    /// A UUID in lower case.
    public let uuid: String
    /// `iCloud.` and the reverse-DNS name of the application.
    public let container: String

    public init(formatVersion: Int, uuid: String, container: String) {
        self.formatVersion = formatVersion
        self.uuid = uuid
        self.container = container
    }
}

/// Whether a zone's records are a user's own or for everybody.
public enum CloudScope: String, Codable, Sendable, CaseIterable {
    case `private`, `public`
}

/// A zone's scope and name.
public struct ZoneID: Hashable, Sendable, Codable, CustomStringConvertible {
    public let scope: CloudScope
    public let name: String

    public init(_ name: String, scope: CloudScope = .private) {
        self.scope = scope
        self.name = name
    }

    /// The zone that is meant when none is named.
    public static let standard = ZoneID("ZentikSyncZone")

    public var description: String { "\(scope.rawValue)/\(name)" }
}

/// Who may publish in a zone: one named device, or any (where all devices mount one file system).
public enum PublisherRule: String, Codable, Sendable {
    case one, many
}

/// What is known of a zone.
public struct ZoneInfo: Hashable, Sendable {
    public let id: ZoneID
    public let formatVersion: Int
    /// What a reader must know to read this zone: `signed`, `sealed` and `signed`, or nothing.
    public let features: [String]
    /// The device that made the zone; under `publishers: one` the only one that publishes.
    public let creator: String
    public let publishers: PublisherRule

    public init(id: ZoneID, formatVersion: Int, features: [String], creator: String, publishers: PublisherRule) {
        self.id = id
        self.formatVersion = formatVersion
        self.features = features
        self.creator = creator
        self.publishers = publishers
    }

    /// Whether keys, not rights on the store, decide who may publish and send messages.
    public var isSigned: Bool { features.contains(ZoneInfo.signedFeature) }

    /// Whether the store cannot read what the zone holds: assets, records and messages are encrypted for its members. Such a zone is signed, too.
    public var isSealed: Bool { features.contains(ZoneInfo.sealedFeature) }

    /// What a signed zone names among its ``features``.
    package static let signedFeature = "signed"
    /// What a sealed zone names besides.
    package static let sealedFeature = "sealed"
}

/// How far a device has read a zone: a commit's number and the SHA-256 of its bytes, in lower-case hexadecimal.
public struct ChangeToken: Hashable, Sendable, Codable {
    public let number: Int
    public let hash: String

    public init(number: Int, hash: String) {
        self.number = number
        self.hash = hash
    }
}

/// Where an immutable asset lies and how to know it again.
public struct CloudAsset: Hashable, Sendable, Codable {
    /// Beneath the zone's directory: `assets/notifications_data/00000000000000000013-0a1b2c3d.json.gz`.
    public let path: String
    /// The file's size in bytes.
    public let byteCount: Int
    /// The size in bytes of what it decompresses to; a hard cap for readers.
    public let rawByteCount: Int
    /// The SHA-256 of the file, in lower-case hexadecimal.
    public let sha256: String
    /// The block index beside the asset, if it has one.
    public let index: CloudAssetIndex?

    public init(path: String, byteCount: Int, rawByteCount: Int, sha256: String, index: CloudAssetIndex?) {
        self.path = path
        self.byteCount = byteCount
        self.rawByteCount = rawByteCount
        self.sha256 = sha256
        self.index = index
    }

    enum CodingKeys: String, CodingKey {
        case path, byteCount = "size", rawByteCount = "rawSize", sha256, index
    }
}

/// The size and hash of an asset's block index, whose path follows from the asset's.
public struct CloudAssetIndex: Hashable, Sendable, Codable {
    public let byteCount: Int
    public let sha256: String

    public init(byteCount: Int, sha256: String) {
        self.byteCount = byteCount
        self.sha256 = sha256
    }

    enum CodingKeys: String, CodingKey {
        case byteCount = "size", sha256
    }
}

/// What an asset holds.
public enum AssetKind: Sendable {
    /// One version of one container, whole: `….json.gz`.
    case snapshot
    /// What one commit changed: `….changes.json.gz`.
    case changes
}

/// What a commit is to change.
public struct CommitDraft: Sendable {
    /// The device that publishes.
    public var device: String
    /// The records to save, whole; at most one of a name.
    public var saving: [CloudRecord]
    /// The names of the records to delete.
    public var deleting: [String]
    /// The publisher's clock.
    public var clock: Instant
    /// What the publisher was explicitly allowed to do: `shrink:notifications_data`.
    public var approvals: [String]
    /// The ids of the mailbox messages that the publisher applied, and of those that it refused.
    public var messages = MessageAnswers()
    /// What the commit does to the zone itself, deletes it or makes it anew; such a commit saves and deletes no record.
    public var zoneEvent: ZoneEvent?
    /// A checkpoint that is in place and that the commit is to name, instead of the one that is due: with that it counts.
    public var checkpoint: CheckpointReference?

    public init(device: String, saving: [CloudRecord], deleting: [String] = [], clock: Instant, approvals: [String] = []) {
        self.device = device
        self.saving = saving
        self.deleting = deleting
        self.clock = clock
        self.approvals = approvals
    }
}

/// A checkpoint as commits name it: its number and the SHA-256 of its file.
public struct CheckpointReference: Hashable, Sendable, Codable {
    public let number: Int
    /// In lower-case hexadecimal.
    public let sha256: String

    public init(number: Int, sha256: String) {
        self.number = number
        self.sha256 = sha256
    }
}

/// What a publisher did with the messages that it found, by their ids.
public struct MessageAnswers: Hashable, Sendable {
    public var applied: [String]
    public var refused: [String]

    public init(applied: [String] = [], refused: [String] = []) {
        self.applied = applied
        self.refused = refused
    }

    /// Whether it answers none.
    public var isEmpty: Bool { applied.isEmpty && refused.isEmpty }
}

/// A commit that is ready to be put in place: its number, its exact bytes' hash, and what the backend needs.
public struct PreparedCommit: Sendable {
    public let zone: ZoneID
    /// The token that the zone will have.
    public let token: ChangeToken
    /// What the backend that prepared the commit puts in place; its hash is the token's.
    public let bytes: [UInt8]

    /// Made by a backend's `prepare`.
    public init(zone: ZoneID, token: ChangeToken, bytes: [UInt8]) {
        self.zone = zone
        self.token = token
        self.bytes = bytes
    }
}

/// One numbered, immutable change of a zone, as it was read.
public struct Commit: Hashable, Sendable {
    public let token: ChangeToken
    /// The hash of the commit before; nil for the first.
    public let parent: String?
    /// max(the publisher's clock, the parent's + 1 ms): for people, never for order.
    public let timestamp: Instant
    /// The publisher's clock as it was.
    public let clock: Instant
    public let device: String
    public let saved: [CloudRecord]
    public let deleted: [String]
    public let approvals: [String]
    /// What its publisher did with messages of other devices.
    public let messages: MessageAnswers
    /// Why the commit deletes the zone itself; nil for all other commits.
    public let zoneDeletion: ZoneDeletion?
    /// The newest checkpoint that its publisher knew, which counts with it; nil before the first.
    public var checkpoint: CheckpointReference?
    /// In a signed zone: the Ed25519 public key that signed the commit, as 64 hexadecimal digits.
    public package(set) var key: String?

    public init(
        token: ChangeToken, parent: String?, timestamp: Instant, clock: Instant, device: String,
        saved: [CloudRecord], deleted: [String], approvals: [String], messages: MessageAnswers = MessageAnswers(), zoneDeletion: ZoneDeletion? = nil
    ) {
        self.token = token
        self.parent = parent
        self.timestamp = timestamp
        self.clock = clock
        self.device = device
        self.saved = saved
        self.deleted = deleted
        self.approvals = approvals
        self.messages = messages
        self.zoneDeletion = zoneDeletion
    }

    /// The same commit with its saved records in another form.
    package func saving(_ saved: [CloudRecord]) -> Commit {
        var commit = Commit(
            token: token, parent: parent, timestamp: timestamp, clock: clock, device: device, saved: saved, deleted: deleted, approvals: approvals,
            messages: messages, zoneDeletion: zoneDeletion)
        (commit.checkpoint, commit.key) = (checkpoint, key)
        return commit
    }
}

/// The commits that a device has not read yet.
public struct ZoneChanges: Sendable {
    /// The records of the checkpoint that reading began at; empty if it began at the token or at the first commit.
    public let base: [CloudRecord]
    /// The commits after that, oldest first.
    public let commits: [Commit]
    /// The zone's newest commit; nil if there is none.
    public let token: ChangeToken?

    public init(base: [CloudRecord], commits: [Commit], token: ChangeToken?) {
        self.base = base
        self.commits = commits
        self.token = token
    }
}

/// A zone's live records as of one commit, in the order of their names.
public struct ZoneState: Sendable {
    public let records: [CloudRecord]
    /// That commit; nil if the zone has none.
    public let token: ChangeToken?
    /// That commit's timestamp.
    public let timestamp: Instant?

    public init(records: [CloudRecord], token: ChangeToken?, timestamp: Instant?) {
        self.records = records
        self.token = token
        self.timestamp = timestamp
    }

    /// The record of that name.
    public func record(_ name: String) -> CloudRecord? {
        records.first { $0.name == name }
    }
}

/// What a device last applied, in its own words.
public struct DeviceReport: Hashable, Sendable, Codable {
    public let device: String
    /// `writer`, `reader` or `peer`.
    public let role: String
    /// The last version that the device applied or published; nil before the first.
    public let token: ChangeToken?
    /// The device's clock when it said so.
    public let clock: Instant
    /// What the database that reported keeps, too: a copy of it, or a backup put back, keeps another. Absent in older reports.
    public let nonce: String?
    /// In a signed zone: the keys of the device, the first of which has signed the report.
    public package(set) var keys: DevicePublicKeys?
    /// In a signed zone: whether these are the keys of a member of that name; if not, the report asks for membership. nil elsewhere.
    public package(set) var isMember: Bool?

    public init(device: String, role: String, token: ChangeToken?, clock: Instant, nonce: String? = nil) {
        self.device = device
        self.role = role
        self.token = token
        self.clock = clock
        self.nonce = nonce
    }

    /// Of the report itself; the keys stand beside these.
    enum CodingKeys: String, CodingKey {
        case device, role, token, clock, nonce
    }
}
