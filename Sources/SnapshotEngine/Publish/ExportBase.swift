import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The version that an export builds on, and what differs from it.
struct ExportBase: Sendable {
    /// The version that is here, which is the zone's newest; nil before the first.
    let token: ChangeToken?
    /// What its records say of the datasets, by the datasets' names.
    let last: [String: DatasetRecord]
    /// What the commit is to say of the datasets' tables.
    let descriptions: PendingDescriptions
    /// The datasets that another device has taken out of the zone. They are not published again.
    let takenOut: Set<String>
    /// Whether no change and no answer waited before the mailbox was looked at.
    var isIdle = false
    var warnings: [String]

    /// Looks at the version `token` and at what this database describes otherwise.
    ///
    /// - Parameters:
    ///   - isOneOfMany: whether other devices publish in the zone, too.
    ///   - warnings: what was found to deserve attention before.
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

    /// What the zone's records say of the datasets in the version: as it was kept here, else read.
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

    /// The datasets that were in a version here and are not in this one.
    private static func datasetsWithout(_ last: [String: DatasetRecord], _ device: SyncContext) throws -> Set<String> {
        let missing = device.settings.datasets.map(\.name).filter { last[$0] == nil }
        guard !missing.isEmpty else { return [] }
        return try device.database.read(at: .read) { Set(try $0.datasetStates.all().map(\.name)).intersection(missing) }
    }

    /// Whether there is neither a change nor an answer nor a description to publish.
    func hasNothing(toPublishBy device: SyncContext) throws -> Bool {
        guard descriptions.isEmpty else { return false }
        return try device.database.read(at: .read) { transaction in
            try transaction.inbox.entries(onlyUnnamed: true).isEmpty
                && device.settings.datasets.allSatisfy { try takenOut.contains($0.name) || isUntouched($0, in: transaction) }
        }
    }

    /// Whether nothing of a dataset was touched since the version: then no row need be read.
    func isUntouched(_ schema: DatasetSchema, in transaction: LocalTransaction) throws -> Bool {
        guard try last[schema.name] != nil && transaction.changeLog.isComplete(of: schema) && !transaction.changeLog.isTouched(schema) else { return false }
        // The version has other columns.
        return try transaction.state.missingColumns(of: schema).isEmpty
    }

    /// The time of the next version: never before this one, nor before an instant that is published, whatever the clock does.
    func timestamp(_ clock: Instant, notBefore latest: Instant?) -> Instant {
        let now = max(clock, latest ?? .distantPast)
        return last.values.map(\.syncTimestamp).max().map { max(now, $0.advanced(byMicroseconds: 1000)) } ?? now
    }
}
