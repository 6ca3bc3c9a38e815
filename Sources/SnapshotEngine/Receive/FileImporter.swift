import Foundation
import LocalStore
import Logging
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Brings a container file into the database: one of ours, or one that another program made.
///
/// The file is read once, piece by piece; its dataset is the one that its array is named for. Nothing is changed unless
/// the whole file is good.
struct FileImporter: Sendable {
    let database: LocalDatabase
    /// The datasets that a file may hold.
    let schemas: [DatasetSchema]
    /// Nil where the database is not set up for syncing.
    let role: SyncRole?
    /// Whether a container older than the data that are here is taken.
    let acceptsOlder: Bool
    let progress: ProgressHandler?

    func run(_ path: String) throws -> ImportReport { try database.withoutRollbacks { try runOnce(path) } }

    private func runOnce(_ path: String) throws -> ImportReport {
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
        // The view is named for the file, not for the folders that it happens to lie in.
        let view = role == .reader ? "file \(URL(fileURLWithPath: path).lastPathComponent)" : nil
        // At a writer the file's rows are a change of its own, noted and published like any other.
        let (dataset, notices) = try database.write { transaction in
            var keeper: ForeignKeyEnforcer?
            func settle() throws { try SyncError.at(.apply) { try keeper?.settle() } }
            func replace() throws -> DatasetState { try apply(container, from: path, view: view, &keeper, in: transaction) }
            let dataset =
                try role == .reader
                ? transaction.tracking.importing(schemas, then: settle, replace) : transaction.tracking.changing(schemas, then: settle, replace)
            return (dataset, transaction.triggerNotices)
        }
        return ImportReport(
            applied: true, version: nil,
            datasets: [
                ImportedDataset(
                    name: dataset.name, recordCount: dataset.recordCount, syncTimestamp: dataset.syncTimestamp.description, size: size, blocks: nil,
                    blocksFetched: nil, changeFiles: nil)
            ],
            view: view,
            warnings: (dataset.unknownFields.isEmpty
                ? [] : ["\(dataset.name): the fields \(dataset.unknownFields.joined(separator: ", ")) are not known and were left out"]) + notices)
    }

    private func apply(_ container: ContainerReader, from path: String, view: String?, _ keeper: inout ForeignKeyEnforcer?, in transaction: LocalTransaction)
        throws -> DatasetState
    {
        var applier: EntityApplier?
        var unknown: Set<String> = []
        func begin(_ schema: DatasetSchema) throws -> EntityApplier {
            try SyncGuards.refuseUndescribedColumns(transaction.tables.check(of: schema), schema, at: database.path)
            keeper = try ForeignKeyEnforcer(transaction, datasets: schemas)
            return try transaction.rows.replaceAll(of: schema)
        }
        let block = EntityBlock()
        while try at(.decode, path, { try container.next(reusing: block) }) != nil {
            try SyncError.at(.apply) {
                if applier == nil, let schema = container.schema { applier = try begin(schema) }
                if let applier { try block.give(to: applier) }
            }
            unknown.formUnion(block.unknownFieldNames)
            progress?(SyncProgress(step: .apply, dataset: container.schema?.name ?? "", entityCount: applier?.count ?? 0, expectedCount: nil))
            block.clear()
        }
        guard let schema = container.schema, let syncTimestamp = container.syncTimestamp else {
            throw SyncError(.dataRefused, step: .decode, at: path, "the file ends without a dataset", hint: "check that the file is a whole container")
        }
        return try SyncError.at(.apply) {
            // An empty dataset replaces what is there, too.
            if applier == nil { applier = try begin(schema) }
            try transaction.rows.checkCount(of: schema, is: applier?.count ?? 0)
            let state = DatasetState(name: schema.name, syncTimestamp: syncTimestamp, recordCount: applier?.count ?? 0, unknownFields: unknown.sorted())
            if role != nil { try note(state, view: view, path, in: transaction) }
            return state
        }
    }

    private func note(_ state: DatasetState, view: String?, _ path: String, in transaction: LocalTransaction) throws {
        let last = try transaction.datasetStates.all().first { $0.name == state.name }
        if let last, last.syncTimestamp > state.syncTimestamp, !acceptsOlder {
            throw SyncError(
                .dataRefused, step: .apply, at: path,
                "its syncTimestamp \(state.syncTimestamp) is older than that of the data here, \(last.syncTimestamp); nothing was changed",
                hint: "to take it all the same: --accept-older")
        }
        try transaction.datasetStates.set(state)
        if role == .reader {
            try SyncGuards.refuseViewOverChanges(transaction, schemas, at: database.path)
            try transaction.state.setView(view)
            for schema in schemas where schema.name == state.name { try transaction.tracking.setIncomplete(of: schema) }
        }
    }

    private func at<T>(_ step: SyncStep, _ path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as FormatError {
            throw SyncError(error, step: step, at: path, "\(error.reason) (\(error.place)); nothing was changed", hint: error.hint)
        }
    }
}
