import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText

/// Adds the rows of a file to their table: those that it lacks, and those that are later than its own.
///
/// A row that does not fit beside the table's rows is left out. Where a later row of the file has no value, the table keeps its own: the file may be
/// older than the column. The changes count as this device's own edits.
final class AddedRows: EntitySink {
    private let schema: DatasetSchema
    private let transaction: LocalTransaction
    private let applier: EntityApplier
    private var addedCount = 0
    private var replacedCount = 0
    private var earlierCount = 0
    private var misfitCount = 0

    /// The rows are not later than the file.
    private let latest: Instant

    init(_ schema: DatasetSchema, of date: Instant, _ transaction: LocalTransaction) throws {
        (self.schema, self.transaction, latest) = (schema, transaction, date)
        applier = try transaction.rows.updating(schema)
    }

    func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = schema.key(of: values) else {
            misfitCount += 1
            return
        }
        let there = RowValues(), isThere = try transaction.rows.lookup(of: schema).send(key, to: there)
        if isThere {
            let own = try transaction.changeLog.instant(of: key, in: schema) ?? .distantPast
            guard let at = RowInstant(schema)?.instant(in: values), min(at, latest) > own else {
                earlierCount += 1
                return
            }
        }
        do {
            let all = isThere ? zip(values.map(OwnedValue.init), there.values).map { $0 == .null ? $1 : $0 } : values.map(OwnedValue.init)
            try transaction.undoingOnError { try all.lending { try applier.receive($0) } }
            if isThere { replacedCount += 1 } else { addedCount += 1 }
        } catch let error as SyncError where error.database == .badRow {
            misfitCount += 1
        }
    }

    /// The number of rows that the table took.
    var count: Int { addedCount + replacedCount }

    /// What became of the rows, one sentence each.
    var sentences: [String] {
        let parts = [
            (replacedCount, "replaced an earlier row of the table"), (earlierCount, "left out: the table has the row, and not an earlier one"),
            (misfitCount, "left out: another row has its value, or the table does not take it"),
        ]
        return parts.filter { $0.0 > 0 }.map { "\(schema.name): \(Format.count($0.0, "row")) of the file \($0.1)" }
    }
}
