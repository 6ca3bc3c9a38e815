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
        try setPlainState("applied", version)
        try lineage.record(version)
    }

    /// The commit that a publisher was about to put in place; nil if none is under way.
    package func intended() throws -> IntendedVersion? { try plainState("intended") }

    /// Records, or clears, the commit that is about to be put in place.
    package func setIntended(_ version: IntendedVersion?) throws { try setPlainState("intended", version) }

    /// What the database shows instead of the newest version, in words; nil if it follows the cloud.
    package func view() throws -> String? { try plainState("view") }

    /// Records, or ends, a view.
    package func setView(_ view: String?) throws { try setPlainState("view", view) }

    /// When the last run of the role's work ended well.
    package func lastSuccess() throws -> Instant? { try plainState("lastSuccess") }

    /// Records that the role's work has ended well, and forgets what went wrong before.
    package func setLastSuccess(_ instant: Instant) throws {
        try setPlainState("lastSuccess", instant)
        try setLastFailure(nil)
    }

    /// Since when this reader's messages cannot be sent; nil if they can.
    package func unsentSince() throws -> Instant? { try plainState("unsentSince") }

    /// Records since when messages cannot be sent.
    package func setUnsentSince(_ instant: Instant?) throws { try setPlainState("unsentSince", instant) }

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
            arguments: [state.name, state.syncTimestamp.description, state.recordCount, try StrictJSON.text(state.unknownFields)])
    }

    /// What the cloud's record of a dataset says, as ``setKnownRecord(_:of:)`` kept it; nil if it was not.
    package func knownRecord(of schema: DatasetSchema) throws -> KnownRecord? { try plainState("record:\(schema.name)") }

    /// Keeps, or forgets, what the applied version's record of a dataset says, so that the next export need not read it.
    package func setKnownRecord(_ record: KnownRecord?, of schema: DatasetSchema) throws { try setPlainState("record:\(schema.name)", record) }

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
        try setState(key, text: value.map { String(decoding: try StrictJSON.encode($0), as: UTF8.self) })
    }

    /// What every export or import writes, without Codable's machinery.
    func setPlainState<T: PlainWritable>(_ key: String, _ value: T?) throws { try setState(key, text: value.map { try StrictJSON.text($0) }) }

    private func setState(_ key: String, text: String?) throws {
        guard let text else { return try KeyedStatement(db, "DELETE FROM snapsync_state WHERE key = ?").bind(.text(key)).run() }
        try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_state VALUES(?, ?)").bind(.text(key), .text(text)).run()
    }
}

extension AppliedVersion: PlainReadable, PlainWritable {
    package var node: JSONNode { .object(["number": .count(number), "hash": .text(hash)]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(number: try members.member("number").count(), hash: try members.member("hash").text())
    }
}

extension IntendedVersion: PlainReadable, PlainWritable {
    package var node: JSONNode { .object(["version": version.node, "sequences": .object(sequences.mapValues { .integer($0) })]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        var sequences: [String: Int64] = [:]
        for (name, sequence) in try members.member("sequences").object() { sequences[name] = try sequence.integer() }
        self.init(version: try AppliedVersion(members.member("version")), sequences: sequences)
    }
}

extension KnownRecord: PlainReadable, PlainWritable {
    package var node: JSONNode { .object(["version": version.node, "document": .text(document)]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(version: try AppliedVersion(members.member("version")), document: try members.member("document").text())
    }
}
