import Foundation
import GRDB
import SnapshotModel
package import StrictText

/// A version of the zone that this database has: a commit's number and hash.
package struct AppliedVersion: Hashable, Sendable, Codable {
    package let number: Int
    /// SHA-256 of the commit's bytes, in lower-case hexadecimal.
    package let hash: String

    package init(number: Int, hash: String) { (self.number, self.hash) = (number, hash) }
}

/// A commit that is about to be published, and the tracked changes that it contains.
package struct IntendedVersion: Hashable, Sendable, Codable {
    package let version: AppliedVersion
    /// The sequence number of the last tracked change in the commit, by dataset name.
    package let sequences: [String: Int64]
    /// Earlier attempts to publish a commit under the same number: a store may still carry out a request whose answer was lost. Oldest first;
    /// their own `earlier` is nil. Nil if there are none.
    private var earlier: [IntendedVersion]?

    /// How many earlier attempts are kept. A store accepts no request whose signature is older than a quarter of an hour.
    static let earlierLimit = 256

    package init(version: AppliedVersion, sequences: [String: Int64]) { (self.version, self.sequences) = (version, sequences) }

    /// This commit or the earlier attempt with this number and hash; nil if there is none.
    package func attempt(_ version: AppliedVersion) -> IntendedVersion? { ([self] + (earlier ?? [])).first { $0.version == version } }

    /// A copy that also knows the earlier attempts for its number.
    func after(_ last: IntendedVersion?) -> IntendedVersion {
        guard var before = last, before.version.number == version.number else { return self }
        let older = before.earlier ?? []
        before.earlier = nil
        var result = self
        let others = (older + [before]).filter { $0.version != version }.suffix(Self.earlierLimit)
        result.earlier = others.isEmpty ? nil : Array(others)
        return result
    }
}

/// A dataset's record in the cloud as of one version, as a document in a format that the caller defines.
package struct KnownRecord: Hashable, Sendable, Codable {
    package let version: AppliedVersion
    package let document: String

    package init(version: AppliedVersion, document: String) { (self.version, self.document) = (version, document) }
}

/// What the database records about the applied version of a dataset.
package struct DatasetState: Hashable, Sendable {
    package let name: String
    /// The container's `syncTimestamp`, as an instant.
    package let syncTimestamp: Instant
    package let recordCount: Int
    /// Fields of the container that this device's dataset file does not describe.
    package let unknownFields: [String]

    package init(name: String, syncTimestamp: Instant, recordCount: Int, unknownFields: [String]) {
        (self.name, self.syncTimestamp, self.recordCount, self.unknownFields) = (name, syncTimestamp, recordCount, unknownFields)
    }
}

/// What `undo` would restore: the state of the data before a command replaced it.
package struct UndoPoint: Hashable, Sendable, Codable {
    /// What the command did, in words: `restore of version 4`.
    package let act: String
    package let at: Instant
    /// The number of the local backup that holds the state; nil if the state is exactly a version.
    package let copy: Int?
    /// The version that is the state, or that the state was based on; nil if there was none.
    package let version: Int?

    package init(act: String, at: Instant, copy: Int?, version: Int?) {
        (self.act, self.at, self.copy, self.version) = (act, at, copy, version)
    }
}

/// A version that this device's next commit will pin.
package struct PendingPin: Hashable, Sendable, Codable {
    package let version: Int
    package let name: String
    /// The SHA-256 of the version's commit.
    package let commit: String
    /// The SHA-256 of the checkpoint at that version.
    package let checkpoint: String
    /// The version's own timestamp.
    package let timestamp: Instant

    package init(version: Int, name: String, commit: String, checkpoint: String, timestamp: Instant) {
        (self.version, self.name, self.commit, self.checkpoint, self.timestamp) = (version, name, commit, checkpoint, timestamp)
    }
}

/// How a database joined its zone. `init` records it in the transaction that writes the settings.
package struct BootstrapNote: Hashable, Sendable, Codable {
    /// Whether this database created the zone. If so, the zone's first version may be this database's.
    package let madeZone: Bool

    package init(madeZone: Bool) { self.madeZone = madeZone }
}

/// The nonces that this database's reports may carry: the last one seen in the cloud, and the next one.
package struct ReportNonces: Hashable, Sendable, Codable {
    package let seen: String?
    package let next: String
    /// When the next nonce was made, which is after all reports with earlier ones; nil if unknown.
    package let since: Instant?

    package init(seen: String?, next: String, since: Instant? = nil) { (self.seen, self.next, self.since) = (seen, next, since) }

    /// Whether a report with that nonce is from this database.
    package func include(_ nonce: String) -> Bool { nonce == seen || nonce == next }
}

/// The promise that the zone gets a new version at least every so often, and when the newest was made.
package struct FreshnessNote: Hashable, Sendable, Codable {
    /// The longest time between two versions, in seconds.
    package let interval: Int
    /// The publisher's clock in the newest commit that was read or made here; nil before the first.
    package let newest: Instant?

    package init(interval: Int, newest: Instant?) { (self.interval, self.newest) = (interval, newest) }

    /// Whether a publisher must make a version although it has no changes. True if no commit is known yet: the publisher then looks at the newest
    /// commit.
    package func isDue(at now: Instant) -> Bool { newest.map { now.microseconds - $0.microseconds >= Int64(interval) * 1_000_000 } ?? true }

    /// The time since the newest commit in seconds, if it is more than three intervals; else nil.
    package func silence(at now: Instant) -> Int? {
        guard let newest else { return nil }
        let age = Int((now.microseconds - newest.microseconds) / 1_000_000)
        return age > 3 * interval ? age : nil
    }
}
