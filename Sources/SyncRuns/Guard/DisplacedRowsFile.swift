import Foundation
import LocalStore
package import LocalTables
import Platform
package import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// A container file beside the database with the rows that a first import removes: `FILE.snapsync-kept/<time>-<dataset>.json.gz`.
///
/// `zcat` reads it, and `snapsync import --file` imports it. Only the user deletes it.
package final class DisplacedRowsFile {
    let schema: DatasetSchema
    package let path: String
    private let encoder: BlockEncoder
    private let compressor: MemberCompressor
    private let assembly: SnapshotAssembly
    private let file: FileHandle
    private var isFirst = true
    private var isFinished = false
    private var last: EntityKey?
    /// The number of rows in the file.
    package private(set) var count = 0

    /// Creates a file for the rows of a dataset.
    ///
    /// - Throws: ``SyncError`` with `.inputOutput` if the file cannot be made.
    init(_ schema: DatasetSchema, of database: String, now: Instant, number: Int) throws {
        self.schema = schema
        let folder = database + ".snapsync-kept"
        let stamp = now.description.filter { $0 != "-" && $0 != ":" }
        let path = "\(folder)/\(stamp)-\(schema.name)\(number == 0 ? "" : "-\(number + 1)").json.gz"
        self.path = path
        do { try FileReplacement.createFolder(folder, mode: 0o700) } catch {
            throw Self.failure(path, words: String(cString: strerror(error.number)))
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, words: String(cString: strerror(errno))) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        self.file = file
        encoder = BlockEncoder(schema: schema, blockEntities: 400)
        compressor = MemberCompressor()
        assembly = try SnapshotAssembly(schema: schema, syncTimestamp: now, blockEntities: 400) { bytes in
            do { try file.write(contentsOf: Data(bytes)) } catch { throw Self.failure(path, error) }
        }
    }

    /// Adds a row to the last of some files, or to another one: a file is in key order, and its rows have one form.
    ///
    /// A row that does not fit the dataset's shapes goes into a file without them. It is kept, whatever it holds.
    static func add(
        _ key: EntityKey, of schema: DatasetSchema, to files: inout [DisplacedRowsFile], database: String, now: Instant,
        _ give: (any EntitySink) throws -> Void
    ) throws {
        let plain = schema.withoutShapes
        let form = plain == schema || (try? EntityDocument.make(schema, give)) != nil ? schema : plain
        if files.last?.takes(key, form) != true { files.append(try DisplacedRowsFile(form, of: database, now: now, number: files.count)) }
        try files.last?.add(key, give)
    }

    /// Adds a row. Its key must be greater than the key of the row before.
    private func add(_ key: EntityKey, _ give: (any EntitySink) throws -> Void) throws {
        try give(encoder)
        last = key
        count += 1
        try drain()
    }

    /// Whether a row with this key and form can be added next.
    private func takes(_ key: EntityKey, _ form: DatasetSchema) -> Bool { form == schema && last.map { $0 < key } ?? true }

    /// Ends the file and makes it and its name durable: after the import's commit it may be the only place of these rows.
    func finish() throws {
        guard !isFinished else { return }
        encoder.finish()
        try drain()
        _ = try assembly.end()
        do { try file.synchronize() } catch { throw Self.failure(path, error) }
        FileReplacement.synchronizeFolder(of: path)
        isFinished = true
    }

    /// Removes the file, and its folder if nothing else is in it.
    package func discard() {
        try? file.close()
        try? FileManager.default.removeItem(atPath: path)
        rmdir((path as NSString).deletingLastPathComponent)
    }

    private func drain() throws {
        while let block = encoder.popCompleted() {
            try assembly.append(try compressor.compress(block, isFirst: isFirst))
            isFirst = false
            encoder.recycle(block)
        }
    }

    /// Makes an error of a failure in Foundation. It contains the system's message if Foundation passes the error number on.
    private static func failure(_ path: String, _ error: any Error) -> SyncError {
        var cause = error as NSError
        while cause.domain != NSPOSIXErrorDomain, let next = cause.userInfo[NSUnderlyingErrorKey] as? NSError { cause = next }
        return failure(path, words: cause.domain == NSPOSIXErrorDomain ? String(cString: strerror(Int32(cause.code))) : error.localizedDescription)
    }

    private static func failure(_ path: String, words: String) -> SyncError {
        SyncError(
            .inputOutput, step: .store, at: path,
            "the copy of the rows that give way cannot be written: \(words); nothing was changed",
            hint: "check the folder's mode and the disk's room")
    }
}

extension DisplacedRowsFile {
    /// Writes the rows of this device that are held, held rows with values of columns that are not synced, and the edits in open conflicts, into
    /// files beside the database. Call it before the datasets are no longer synced, or before the tables that hold them are dropped.
    ///
    /// - Parameter sent: edits of these datasets that were handed over and whose table is gone, in the order of their numbers.
    /// - Returns: the files.
    package static func keepLost(
        of datasets: [DatasetSchema], sent: [HandedOverEdit] = [], in transaction: LocalTransaction, database: String, now: Instant
    ) throws -> [DisplacedRowsFile] {
        let conflicts = Dictionary(grouping: try transaction.conflictJournal.entries(in: .open).map(\.conflict), by: \.dataset)
        var files: [DisplacedRowsFile] = []
        for schema in datasets {
            var (entities, own) = try transaction.waiting.withOwnColumns(of: schema)
            let held = Set(entities.map(\.key))
            let handed = Dictionary(sent.compactMap { one in one.key.flatMap { held.contains($0) ? nil : ($0, one) } }) { $1 }
            entities += handed.sorted { $0.key < $1.key }.compactMap { key, edit in edit.row.map { (key: key, text: $0) } }
            // A deletion that lost has no entity to keep. Sorting is stable: of two edits of one key, the edit that lost first comes first.
            entities += (conflicts[schema.name] ?? []).compactMap { one in one.loser.entity.map { (key: one.key, text: $0) } }.sorted { $0.key < $1.key }
            let whole = try EntityDocument.widened(schema, for: entities.map(\.text), adding: Set(own.values.flatMap(\.keys).map(\.exact)))
            var copies: [DisplacedRowsFile] = []
            for one in entities {
                var values = try EntityCodec.json.values(whole, one.text)
                for index in schema.columns.count..<whole.columns.count { values[index] = own[one.key]?[whole.columns[index].name] ?? values[index] }
                try add(one.key, of: whole, to: &copies, database: database, now: now) { sink in try values.lending { try sink.receive($0) } }
            }
            for copy in copies { try copy.finish() }
            files += copies
        }
        return files
    }
}

/// Decides what happens to a database's own rows if the database has no version in common with the cloud yet.
///
/// With the policy `replace`, any entity or tombstone of the cloud beats a row that existed before the first import, and rows that the cloud does
/// not know are added. If a reader's tables had rows at `init`, its user must have said whether they stay (`--adopt`) or go (`--replace`). With
/// the policies `merge` and `single`, own rows win if they are later.
package struct FirstImport {
    private let datasets: Set<String>
    /// The datasets of which this device never had a version: no edit of their rows has waited since a detach.
    package let names: Set<String>

    /// Finds the datasets that are imported for the first time, and tracks their own rows if these may stay. The log must have been consolidated.
    ///
    /// - Throws: ``SyncError`` with `.refused` if nobody has decided what happens to existing rows.
    package init(_ transaction: LocalTransaction, _ schemas: [DatasetSchema], settings: SyncSettings, now: Instant, at database: String) throws {
        let known = Set(try transaction.datasetStates.all().map(\.name))
        datasets = Set(schemas.map(\.name)).subtracting(known)
        names = Set(try schemas.filter { try !known.contains($0.name) && !transaction.detachedChanges.hasAny(of: $0) }.map(\.name))
        let left = try transaction.state.leftDatasets()
        for schema in schemas where !known.contains(schema.name) {
            let isKept = settings.adoptsOwnRows || (settings.role.publishes || left.contains(schema.name.exact)) && !settings.replacesOwnRows
            let keepsOwn = schema.merge != .replace || isKept
            if keepsOwn {
                // With edits that waited since a detach, only the other rows are earlier than the cloud.
                try transaction.changeLog.adoptRows(of: schema, now: now, areEarliest: schema.merge == .replace && !names.contains(schema.name))
            } else if try !settings.replacesOwnRows && transaction.changeLog.hasUntrackedRows(of: schema) {
                throw Self.undecidedRows(of: schema, at: database, step: .apply, hint: "keep a copy, then: snapsync detach, and snapsync init …")
            }
        }
    }

    /// Returns the error for rows that existed before the first import, if nobody has decided what happens to them.
    package static func undecidedRows(of schema: DatasetSchema, at database: String, step: SyncStep, hint: String) -> SyncError {
        SyncError(
            .refused, step: step, at: "\(database), table \(schema.table)",
            "the table has rows that did not come from this location; choose whether the first import keeps or replaces them; nothing was changed",
            hint: "\(hint) --keep-local (rows that the location lacks stay) or --replace-local (the location's alone)")
    }

    /// Whether a dataset is imported for the first time.
    func isFirst(_ schema: DatasetSchema) -> Bool { datasets.contains(schema.name) }

    /// Whether a row was in the database before the first import and no edit of it has waited since a detach. If it loses, it is written to a file.
    func isOwn(_ key: EntityKey, of schema: DatasetSchema, in transaction: LocalTransaction) throws -> Bool {
        try isFirst(schema) && (names.contains(schema.name) || !transaction.detachedChanges.contains(key, of: schema))
    }

    /// Whether the merge leaves only one entity of the dataset (``SinglePolicy``).
    package func isSingle(_ schema: DatasetSchema) -> Bool { schema.merge == .single && isFirst(schema) }
}

/// The policy `single`: one entity of both sides stays. The later one wins; among equally late ones the one with more filled fields, then the one
/// with the greater hash.
///
/// Which one is decided before this device's edits are put on the version, so that the others give way by the rules of every merge. Edits delete those of
/// the version, on every device. Those of this device are no edits any more. A row to which rows refer stays.
package struct SinglePolicy {
    let schema: DatasetSchema
    /// The dataset's position in the settings.
    let index: Int
    let transaction: LocalTransaction
    let ledger: ImportLedger

    /// An entity that may be the one that stays.
    package struct Candidate: Sendable {
        package let key: EntityKey
        /// The time of its last change; the distant past if unknown.
        package let instant: Instant
        package let state: EntityState

        package init(key: EntityKey, instant: Instant, state: EntityState) { (self.key, self.instant, self.state) = (key, instant, state) }

        package func wins(over other: Candidate) -> Bool {
            (instant, state.filledCount, state.hash) > (other.instant, other.state.filledCount, other.state.hash)
        }
    }

    /// Writes the database's own rows to a file before a version is applied. Call it before anything is changed.
    ///
    /// - Parameter datasets: all datasets of the database.
    /// - Returns: the rows to which rows of the datasets refer.
    func keepCopy(besides version: Int, among datasets: [DatasetSchema]) throws -> Set<EntityKey> {
        let keys = try rows().keys.sorted()
        // With one own row and none in the version, nothing can be lost.
        guard !keys.isEmpty, keys.count + version > 1 else { return [] }
        for key in keys { try ledger.copy(key, of: schema, in: transaction) }
        return Set(try keys.filter { try transaction.references.tableReferring(at: $0, of: schema, among: datasets) != nil })
    }

    /// Makes all rows but one give way. Call it when the table has the version's rows.
    ///
    /// - Parameters:
    ///   - own: this device's edits.
    ///   - needed: the own rows to which rows refer.
    /// - Returns: the rows that are to give way.
    func choose(from own: OwnEdits, over state: TableVersion, keeping needed: Set<EntityKey>) throws -> [RowPlace] {
        var candidates: [EntityKey: Candidate] = [:]
        let instants = transaction.tombstonesAndInstants
        for (key, row) in try rows() {
            let at = try instants.appliedInstant(of: key, in: schema) ?? transaction.rows.ownInstant(of: key, in: schema) ?? .distantPast
            candidates[key] = Candidate(key: key, instant: at, state: row)
        }
        let edited = EntityStates(schema: schema)
        var times: [EntityKey: Instant] = [:]
        try own.forEach { place, edit in
            guard place.dataset == index, !edit.isHeld, let values = edit.values else { return }
            try values.lending { try edited.receive($0) }
            times[place.key] = edit.at
        }
        for (key, row) in edited.states {
            guard let at = times[key], candidates[key].map({ at > $0.instant }) ?? true else { continue }
            // The version has deleted the row later.
            if let gone = try instants.tombstone(of: key, in: schema), gone >= at { continue }
            candidates[key] = Candidate(key: key, instant: at, state: row)
        }
        let losers = candidates.values.sorted { $0.wins(over: $1) }.dropFirst().map { RowPlace(index, $0.key) }
        for place in losers {
            if let row = try state.entry(place)?.shown {
                let later = max(ledger.now, row.at.advanced(byMicroseconds: 1))
                own.add(Edit(base: .row(row.instants), change: .deleted(later), born: row.born), at: place)
            } else if !needed.contains(place.key) {
                try transaction.changeLog.forget(of: place.key, in: schema)
            }
        }
        return losers
    }

    private func rows() throws -> [EntityKey: EntityState] {
        let states = EntityStates(schema: schema)
        try transaction.rows.sendRows(of: schema, to: states)
        return states.states
    }
}
