import Foundation
import GRDB
import SnapshotModel
public import StrictText

/// A version of the zone that this database has: a commit's number and hash.
public struct AppliedVersion: Hashable, Sendable, Codable {
    public let number: Int
    /// SHA-256 of the commit's bytes, in lower-case hexadecimal.
    public let hash: String

    public init(number: Int, hash: String) {
        self.number = number
        self.hash = hash
    }
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

    package init(version: AppliedVersion, sequences: [String: Int64]) {
        self.version = version
        self.sequences = sequences
    }

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

    package init(version: AppliedVersion, document: String) {
        self.version = version
        self.document = document
    }
}

/// What the database records about the applied version of a dataset.
public struct DatasetState: Hashable, Sendable {
    public let name: String
    /// The container's `syncTimestamp`, as an instant.
    public let syncTimestamp: Instant
    public let recordCount: Int
    /// Fields of the container that this device's dataset file does not describe.
    public let unknownFields: [String]

    public init(name: String, syncTimestamp: Instant, recordCount: Int, unknownFields: [String]) {
        self.name = name
        self.syncTimestamp = syncTimestamp
        self.recordCount = recordCount
        self.unknownFields = unknownFields
    }
}
