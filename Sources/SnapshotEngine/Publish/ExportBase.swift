import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The version that an export builds on, and what the database has beyond it.
struct ExportBase: Sendable {
    /// The applied version, which is the zone's newest; nil before the first version.
    let token: ChangeToken?
    /// The version's records, by dataset name.
    let last: [String: DatasetRecord]
    /// The descriptions of tables that the commit must publish.
    let descriptions: PendingDescriptions
    /// The datasets that another device has removed from the zone. They are not published again.
    let takenOut: Set<String>
    /// Whether no change and no answer was pending before the mailbox was read.
    var isIdle = false
    var warnings: [String]

    /// Reads the version `token`, and finds the descriptions and datasets that differ from it in this database.
    ///
    /// - Parameters:
    ///   - isOneOfMany: whether other devices publish in the zone as well.
    ///   - warnings: the warnings so far.
    init(_ device: SyncContext, after token: ChangeToken?, isOneOfMany: Bool, _ warnings: [String]) async throws {
        self.token = token
        last = try await Self.records(device, token)
        takenOut = isOneOfMany && token != nil ? try Self.datasetsWithout(last, device) : []
        descriptions = try await PendingDescriptions.find(device, after: token)
        self.warnings =
            warnings
            + takenOut.sorted().map {
                "another device has taken the dataset \($0) out of the zone; its rows stay here and are not published (snapsync describe --update --remove \($0) takes it out here, too)"
            }
    }

    /// Returns the version's records of the datasets from the database, or from the zone if the database does not have all of them.
    private static func records(_ device: SyncContext, _ token: ChangeToken?) async throws -> [String: DatasetRecord] {
        let schemas = device.settings.datasets
        let known = try device.database.read(at: .read) { transaction in try schemas.map { try transaction.knownFields(of: $0) } }
        if token != nil, known.allSatisfy({ $0 != nil }) {
            return Dictionary(uniqueKeysWithValues: zip(schemas, known).compactMap { schema, fields in fields.map { (schema.name, $0) } })
        }
        let state = try await device.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
        return Dictionary(
            uniqueKeysWithValues: schemas.compactMap { schema in state.record(schema.recordName).flatMap(DatasetRecord.init).map { (schema.name, $0) } })
    }

    /// Returns the datasets that an earlier version here had and that this one does not have.
    private static func datasetsWithout(_ last: [String: DatasetRecord], _ device: SyncContext) throws -> Set<String> {
        let missing = device.settings.datasets.map(\.name).filter { last[$0] == nil }
        guard !missing.isEmpty else { return [] }
        return try device.database.read(at: .read) { Set(try $0.datasetStates.all().map(\.name)).intersection(missing) }
    }

    /// Whether there is no change, no decision and no description to publish.
    func hasNothing(toPublishBy device: SyncContext) throws -> Bool {
        guard descriptions.isEmpty else { return false }
        return try device.database.read(at: .read) { transaction in
            try transaction.decidedEdits.unpublished().isEmpty
                && device.settings.datasets.allSatisfy { try takenOut.contains($0.name) || isUntouched($0, in: transaction) }
        }
    }

    /// Whether no row of the dataset was written since the version. If so, no row needs to be read.
    func isUntouched(_ schema: DatasetSchema, in transaction: LocalTransaction) throws -> Bool {
        guard try last[schema.name] != nil && transaction.changeLog.isComplete(of: schema) && !transaction.changeLog.isTouched(schema) else { return false }
        if try transaction.waiting.hasAny(), try !transaction.waiting.rows(of: schema).isEmpty { return false }
        // If columns are missing, the version has other columns than the table.
        return try transaction.state.missingColumns(of: schema).isEmpty
    }

    /// Returns the timestamp of the next version. It is later than this version's, and not before any published instant, whatever the clock says.
    func timestamp(_ clock: Instant, notBefore latest: Instant?) -> Instant {
        let now = max(clock, latest ?? .distantPast)
        return last.values.map(\.syncTimestamp).max().map { max(now, $0.advanced(byMicroseconds: 1000)) } ?? now
    }
}
