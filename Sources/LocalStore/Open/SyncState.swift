import Foundation
import GRDB
package import SnapshotModel
public import StrictText

/// A zone's version that is in this database: a commit's number and hash.
public struct AppliedVersion: Hashable, Sendable, Codable {
    public let number: Int
    /// SHA-256 of the commit's bytes, in lower-case hexadecimal.
    public let hash: String

    public init(number: Int, hash: String) {
        self.number = number
        self.hash = hash
    }
}

/// A commit that is about to be put in place, and the tracked changes that it has.
package struct IntendedVersion: Hashable, Sendable, Codable {
    package let version: AppliedVersion
    /// The last tracked change that the commit has, by the dataset's name.
    package let sequences: [String: Int64]

    package init(version: AppliedVersion, sequences: [String: Int64]) {
        self.version = version
        self.sequences = sequences
    }
}

/// A dataset's record in the cloud as of one version, as a document whose form is its owner's.
package struct KnownRecord: Hashable, Sendable, Codable {
    /// The version.
    package let version: AppliedVersion
    package let document: String

    package init(version: AppliedVersion, document: String) {
        self.version = version
        self.document = document
    }
}

/// What is known of a dataset's last import or export.
public struct DatasetState: Hashable, Sendable {
    public let name: String
    /// The container's `syncTimestamp`, as an instant.
    public let syncTimestamp: Instant
    public let recordCount: Int
    /// Fields of the container that this device's dataset file does not know.
    public let unknownFields: [String]

    public init(name: String, syncTimestamp: Instant, recordCount: Int, unknownFields: [String]) {
        self.name = name
        self.syncTimestamp = syncTimestamp
        self.recordCount = recordCount
        self.unknownFields = unknownFields
    }
}

extension LocalTransaction {
    /// The version that was applied or published last; nil before the first.
    package func applied() throws -> AppliedVersion? { try plainState("applied") }

    /// Records the version that is now in the database, in the transaction that brought it.
    package func setApplied(_ version: AppliedVersion) throws {
        try setState("applied", version)
        try noteLineage(version)
    }

    /// The commit that a publisher was about to put in place; nil if none is under way.
    package func intended() throws -> IntendedVersion? { try plainState("intended") }

    /// Records, or clears, the commit that is about to be put in place.
    package func setIntended(_ version: IntendedVersion?) throws { try setState("intended", version) }

    /// What the database shows instead of the newest version, in words; nil if it follows the cloud.
    package func view() throws -> String? { try plainState("view") }

    /// Records, or ends, a view.
    package func setView(_ view: String?) throws { try setState("view", view) }

    /// When the last run of the role's work ended well.
    package func lastSuccess() throws -> Instant? { try plainState("lastSuccess") }

    /// Records that the role's work has ended well, and forgets what went wrong before.
    package func setLastSuccess(_ instant: Instant) throws {
        try setState("lastSuccess", instant)
        try setLastFailure(nil)
    }

    /// What is known of each dataset, in the order of names.
    package func datasetStates() throws -> [DatasetState] {
        try Row.fetchAll(db, sql: "SELECT name, syncTimestamp, recordCount, unknownFields FROM snapsync_datasets ORDER BY name").map { row in
            do {
                return DatasetState(
                    name: try row.decode(atIndex: 0), syncTimestamp: try Instant(parsing: row.decode(String.self, atIndex: 1)),
                    recordCount: try row.decode(atIndex: 2),
                    unknownFields: try StrictJSON.decode([String].self, from: row.decode(String.self, atIndex: 3)))
            } catch {
                throw damaged("snapsync_datasets", "what is known of a dataset cannot be read")
            }
        }
    }

    /// Records what is now known of a dataset.
    package func setDatasetState(_ state: DatasetState) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO snapsync_datasets(name, syncTimestamp, recordCount, unknownFields) VALUES(?, ?, ?, ?)",
            arguments: [
                state.name, state.syncTimestamp.description, state.recordCount,
                String(decoding: try StrictJSON.encode(state.unknownFields), as: UTF8.self),
            ])
    }

    /// What the cloud's record of a dataset says, as ``setKnownRecord(_:of:)`` kept it; nil if it was not.
    package func knownRecord(of schema: DatasetSchema) throws -> KnownRecord? { try plainState("record:\(schema.name)") }

    /// Keeps, or forgets, what the applied version's record of a dataset says, so that the next export need not read it.
    package func setKnownRecord(_ record: KnownRecord?, of schema: DatasetSchema) throws { try setState("record:\(schema.name)", record) }

    func state<T: Decodable>(_ key: String) throws -> T? {
        guard let text = try value(of: key, in: .state) else { return nil }
        do {
            return try StrictJSON.decode(T.self, from: Data(text.utf8))
        } catch {
            throw damaged("snapsync_state", "the value of '\(key)' cannot be read")
        }
    }

    /// What every run reads, without Codable's machinery.
    func plainState<T: PlainReadable>(_ key: String) throws -> T? {
        guard let text = try value(of: key, in: .state) else { return nil }
        do {
            return try StrictJSON.decode(T.self, from: text)
        } catch {
            throw damaged("snapsync_state", "the value of '\(key)' cannot be read")
        }
    }

    func setState<T: Encodable>(_ key: String, _ value: T?) throws {
        guard let value else {
            return try db.execute(sql: "DELETE FROM snapsync_state WHERE key = ?", arguments: [key])
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO snapsync_state VALUES(?, ?)",
            arguments: [key, String(decoding: try StrictJSON.encode(value), as: UTF8.self)])
    }
}

extension AppliedVersion: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(number: try members.member("number").count(), hash: try members.member("hash").text())
    }
}

extension IntendedVersion: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        var sequences: [String: Int64] = [:]
        for (name, sequence) in try members.member("sequences").object() { sequences[name] = try sequence.integer() }
        self.init(version: try AppliedVersion(members.member("version")), sequences: sequences)
    }
}

extension KnownRecord: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(version: try AppliedVersion(members.member("version")), document: try members.member("document").text())
    }
}
