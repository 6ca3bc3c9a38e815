import Foundation
import LocalStore
package import LocalTables
import Logging
import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
import StrictText

/// Imports a container file from this program or another.
///
/// The file is read once, in pieces. The name of its array says which dataset it holds. Nothing is changed unless the whole file is valid. The table
/// then has the file's rows alone, unless they are only added (``AddedRows``).
package struct FileImporter: Sendable {
    let database: LocalDatabase
    /// The datasets that a file may contain.
    let schemas: [DatasetSchema]
    /// The device's role; nil if the database is not set up for syncing.
    let role: SyncRole?
    /// Whether a container older than the local data is accepted.
    let acceptsOlder: Bool
    let progress: ProgressHandler?

    package init(database: LocalDatabase, schemas: [DatasetSchema], role: SyncRole?, acceptsOlder: Bool, progress: ProgressHandler?) {
        (self.database, self.schemas, self.role, self.acceptsOlder, self.progress) = (database, schemas, role, acceptsOlder, progress)
    }

    /// Imports a file.
    ///
    /// - Parameter adds: whether its rows are only added, as those of a file that was kept beside this database always are.
    package func run(_ path: String, adds: Bool) throws -> ImportReport { try database.withoutRollbacks { try runOnce(path, adds) } }

    /// Makes the dataset equal to a container that an application has made. Only rows that differ are changed.
    package func run<Container: DatasetContainer>(_ container: Container, of schema: DatasetSchema) throws -> ImportReport {
        try database.withoutRollbacks {
            try apply(from: "the container", byteCount: { 0 }) { transaction in
                _ = try transaction.tables.check(of: schema)
                let changes = try ContainerChanges(container, of: schema, in: transaction)
                var rest = changes.text
                let reader = ContainerReader(schemas: schemas) { buffer in
                    let count = rest.copyBytes(to: buffer)
                    rest = Data(rest.dropFirst(count))
                    return count
                }
                func begin(_ schema: DatasetSchema) throws -> EntityApplier {
                    // Delete all first: a UNIQUE value may move from one row to another.
                    try transaction.rows.deleteEntities(changes.removed, of: schema)
                    return try transaction.rows.updating(schema)
                }
                return (reader, changes.unchangedCount, begin)
            }
        }
    }

    private func runOnce(_ path: String, _ adds: Bool) throws -> ImportReport {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw SyncError(.nothingThere, step: .fetch, at: path, "the file cannot be opened", hint: "check the path given with --file")
        }
        defer { try? file.close() }
        var size = 0
        let descriptor = file.fileDescriptor
        let container = ContainerReader(schemas: schemas) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count >= 0 else {
                throw SyncError(.inputOutput, step: .fetch, at: path, "the file cannot be read: \(String(cString: strerror(errno)))")
            }
            size += count
            return count
        }
        if adds || isKept(path) { return try add(container, from: path, byteCount: { size }) }
        guard role != .reader else {
            let (file, here) = (path.shellWord, database.path.shellWord)
            throw SyncError(
                .refused, step: .apply, at: database.path, "this device is a reader, whose rows are those of a version; nothing was changed",
                hint: "to add the file's rows as edits: snapsync import \(here) --add --file \(file); to look at them: zcat -f \(file)")
        }
        return try apply(from: path, byteCount: { size }) { transaction in
            (
                container, 0,
                { schema in
                    if role == .peer { try SyncGuards.refuseReplacingChanges(transaction, of: schema, at: database.path) }
                    return try transaction.rows.replaceAll(of: schema)
                }
            )
        }
    }

    /// Whether a file is one that was kept beside this database.
    private func isKept(_ path: String) -> Bool {
        func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
        return role != nil && resolved(path).exact.hasPrefix(resolved(database.path + ".snapsync-kept") + "/")
    }

    /// Adds the rows of a file, as edits of this device.
    private func add(_ container: ContainerReader, from path: String, byteCount: () -> Int) throws -> ImportReport {
        try database.write { transaction in
            try transaction.changeLog.consolidate(of: schemas)
            let (rows, dataset) = try readRows(
                container, from: path, in: transaction, begin: { try AddedRows($0, of: container.syncTimestamp ?? .distantPast, transaction) })
            return report(dataset, recordCount: rows.count, byteCount: byteCount(), warnings: rows.sentences + transaction.triggerNotices)
        }
    }

    private static let missingParents =
        "import a file with the missing rows first, or insert them; or take the rows that refer to them out of the file or the table"

    /// A container's reader, the number of rows that stay without being in it, and a closure that deletes the other rows and returns an applier.
    private typealias Opened = (reader: ContainerReader, unchangedCount: Int, begin: (DatasetSchema) throws -> EntityApplier)

    /// Changes the dataset's rows in one transaction. At a writer they are local changes, tracked and published like any others.
    ///
    /// - Parameter place: the place that errors name.
    private func apply(from place: String, byteCount: () -> Int, _ open: (LocalTransaction) throws -> Opened) throws -> ImportReport {
        try database.write { transaction in
            let (reader, kept, begin) = try open(transaction)
            let (_, dataset) = try readRows(reader, from: place, in: transaction, keeping: kept, begin: begin) { schema, dataset in
                try transaction.rows.checkCount(of: schema, is: dataset.recordCount)
                if role != nil { try record(dataset, place, in: transaction) }
            }
            return report(dataset, recordCount: dataset.recordCount, byteCount: byteCount(), warnings: transaction.triggerNotices)
        }
    }

    private func report(_ dataset: DatasetState, recordCount: Int, byteCount: Int, warnings: [String]) -> ImportReport {
        let unknown = dataset.unknownFields.joined(separator: ", ")
        return ImportReport(
            applied: true, version: nil,
            datasets: [
                ImportedDataset(
                    name: dataset.name, recordCount: recordCount, syncTimestamp: dataset.syncTimestamp.description, size: byteCount, blocks: nil,
                    blocksFetched: nil, changeFiles: nil)
            ], warnings: (unknown.isEmpty ? [] : ["\(dataset.name): the fields \(unknown) are not known and were left out"]) + warnings)
    }

    /// Passes the rows of a container to the sink that `begin` makes for its dataset, also if there are none.
    ///
    /// - Parameters:
    ///   - unchangedCount: the number of rows that stay without being in the container.
    ///   - finish: what else changes with the rows.
    private func readRows<Sink: EntitySink>(
        _ container: ContainerReader, from path: String, in transaction: LocalTransaction, keeping unchangedCount: Int = 0,
        begin: (DatasetSchema) throws -> Sink, finish: (DatasetSchema, DatasetState) throws -> Void = { _, _ in }
    ) throws -> (Sink, DatasetState) {
        var keeper: ForeignKeyEnforcer?
        func sink(_ schema: DatasetSchema) throws -> Sink {
            try SyncGuards.refuseUnfillableColumns(transaction.tables.check(of: schema), schema, at: database.path)
            keeper = try ForeignKeyEnforcer(transaction, datasets: schemas, between: role == nil ? nil : Self.missingParents)
            return try begin(schema)
        }
        return try transaction.tracking.changing(schemas, then: { try keeper?.enforce() }) {
            var begun: Sink?, unknown: Set<String> = []
            while let block = try at(.decode, of: path, { try container.next() }) {
                if begun == nil, let schema = container.schema { begun = try sink(schema) }
                if let begun { try block.send(to: begun) }
                unknown.formUnion(block.unknownFieldNames)
                progress?(SyncProgress(step: .apply, dataset: container.schema?.name ?? "", entityCount: container.recordCount, expectedCount: nil))
            }
            guard let schema = container.schema, let syncTimestamp = container.syncTimestamp else {
                throw SyncError(.dataRefused, step: .decode, at: path, "the file ends without a dataset", hint: "check that the file is a whole container")
            }
            let all = try begun ?? sink(schema)
            let state = DatasetState(
                name: schema.name, syncTimestamp: syncTimestamp, recordCount: unchangedCount + container.recordCount, unknownFields: unknown.sorted())
            try finish(schema, state)
            return (all, state)
        }
    }

    private func record(_ state: DatasetState, _ path: String, in transaction: LocalTransaction) throws {
        let last = try transaction.datasetStates.all().first { $0.name == state.name }
        if let last, last.syncTimestamp > state.syncTimestamp, !acceptsOlder {
            throw SyncError(
                .dataRefused, step: .apply, at: path,
                "its syncTimestamp \(state.syncTimestamp) is older than that of the data here, \(last.syncTimestamp); nothing was changed",
                hint: "to take it all the same: --accept-older")
        }
        try transaction.datasetStates.set(state)
    }

    private func at<T>(_ step: SyncStep, of path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch var error as SyncError where error.format != nil {
            (error.step, error.place, error.reason) = (step, path, "\(error.reason) (\(error.place)); nothing was changed")
            throw error
        }
    }
}
