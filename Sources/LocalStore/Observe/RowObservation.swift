import GRDB
import SnapshotModel

/// Finds out which rows of the datasets a transaction changes, from what they were before it and are at its end.
///
/// Costs a copy on disk of each row that is touched, up to ``touchLimit`` of a dataset. Nothing of it is left behind.
struct RowObservation {
    /// Of a dataset of which more rows are touched, any row may have changed.
    static let touchLimit = 100_000

    private let images: [TableImage]
    private let keyLimit: Int

    /// Begins, in a transaction that has not changed these rows yet.
    ///
    /// - Parameter keyLimit: how many keys of a dataset are named; of one with more of them everything counts as changed.
    init(_ db: Database, _ schemas: [DatasetSchema], keyLimit: Int) throws {
        self.keyLimit = keyLimit
        images = try schemas.enumerated().compactMap { number, schema in
            // An import gives most rows of a table another rowid; that is no change of theirs.
            try db.hasTable(schema.table) ? TableImage(db, schema, name: "observed_\(number)", comparesRowids: false, limit: Self.touchLimit) : nil
        }
    }

    /// Ends, and returns the datasets that were changed.
    func end() throws -> [DatasetChanges] {
        try images.compactMap { image in
            let isFull = try image.isFull()
            try image.close()
            let changes = try isFull ? nil : image.differences(limit: keyLimit)
            try image.drop()
            guard let changes else { return .everything(of: image.schema.name) }
            return changes.isEmpty ? nil : changes
        }
    }
}
