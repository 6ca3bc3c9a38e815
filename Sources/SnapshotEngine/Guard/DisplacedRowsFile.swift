import Foundation
import LocalStore
import Platform
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// A container file beside the database with the rows that a first import removes: `FILE.snapsync-kept/<time>-<dataset>.json.gz`.
///
/// `zcat` reads it, and `snapsync import --file` imports it. Only the user deletes it.
final class DisplacedRowsFile {
    let schema: DatasetSchema
    let path: String
    private let encoder: BlockEncoder
    private let compressor: MemberCompressor
    private let assembly: SnapshotAssembly
    private let file: FileHandle
    private var isFirst = true
    private var isFinished = false
    private var last: EntityKey?
    /// The number of rows in the file.
    private(set) var count = 0

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
        compressor = try MemberCompressor()
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
    func discard() {
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
    /// Writes the rows of this device that are held, and the edits in open conflicts, into files beside the database. `detach` calls it before it
    /// drops the tables that hold them.
    static func keepLost(of datasets: [DatasetSchema], in transaction: LocalTransaction, database: String, now: Instant) throws {
        let conflicts = Dictionary(grouping: try transaction.conflictJournal.entries(in: .open).map(\.conflict), by: \.dataset)
        for schema in datasets {
            var entities = try transaction.waiting.rows(of: schema).map { (key: $0.key, text: $0.entity) }
            // A deletion that lost has no entity to keep. Sorting is stable: of two edits of one key, the edit that lost first comes first.
            entities += (conflicts[schema.name] ?? []).compactMap { one in one.loser.entity.map { (key: one.key, text: $0) } }.sorted { $0.key < $1.key }
            var copies: [DisplacedRowsFile] = []
            for one in entities {
                try add(one.key, of: schema, to: &copies, database: database, now: now) {
                    try EntityDocument.give(one.text, of: schema.withoutShapes, to: $0)
                }
            }
            for copy in copies { try copy.finish() }
        }
    }
}
