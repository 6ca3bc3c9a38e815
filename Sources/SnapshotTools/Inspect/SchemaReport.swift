import CloudStore
import LocalTables
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// The SQL text that a zone keeps of its tables, indexes, views and triggers.
public struct SchemaReport: Sendable, Encodable {
    /// The statement that makes one object.
    public struct Statement: Sendable, Encodable {
        /// `table`, `index`, `view` or `trigger`.
        public let type: String
        public let name: String
        public let sql: String
        /// What the statement needs that the zone does not have; nil if `init --with-schema` runs it.
        public let lack: String?
    }

    public let zone: String
    public let version: Int
    public let statements: [Statement]
    /// The statements as a script for sqlite3. Those that cannot run are comments.
    public let script: String

    enum CodingKeys: String, CodingKey {
        case zone, version, statements
    }
}

extension SnapshotInspector {
    /// The zone's SQL text. Nothing of it is run, other than in an empty database in memory.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if a statement is more than the one that makes an object, `.nothingThere` if the zone keeps none.
    public func schema() async throws -> SchemaReport {
        try await WorkerThreads.host {
            let state = try await records(at: nil)
            try refuseSealed(state)
            let outcomes = try ZoneDescriptions(state, of: zone)?.rehearsal() ?? []
            guard !outcomes.isEmpty else {
                throw SyncError(
                    .nothingThere, step: .fetch, at: zone.place, "it keeps no SQL text",
                    hint: "its tables are the built-in ones, or their text has more than \(SchemaText.byteLimit) bytes")
            }
            return SchemaReport(
                zone: zone.name, version: state.token?.number ?? 0,
                statements: outcomes.map { .init(type: $0.statement.type.rawValue, name: $0.statement.name, sql: $0.statement.sql, lack: $0.lack) },
                script: outcomes.map(\.script).joined())
        }
    }
}
