import GRDB
import SnapshotModel

/// Finds the rows of the datasets that a transaction changes, by comparing the rows before and after.
///
/// It copies each row that is changed to disk, up to ``touchLimit`` rows of a dataset, and removes the copies at the end.
struct RowObservation {
    /// If more rows of a dataset are touched, the whole dataset counts as changed.
    static let touchLimit = 100_000

    private let images: [TableImage]
    private let keyLimit: Int

    /// Starts observing. The transaction must not have changed these rows yet.
    ///
    /// - Parameter keyLimit: how many keys of a dataset are reported. With more changed keys, the whole dataset counts as changed.
    init(_ db: Database, _ schemas: [DatasetSchema], keyLimit: Int) throws {
        self.keyLimit = keyLimit
        images = try schemas.enumerated().compactMap { number, schema in
            // An import gives most rows of a table other rowids, which is not a change of the rows.
            try db.hasTable(schema.table) ? TableImage(db, schema, name: "observed_\(number)", comparesRowids: false, limit: Self.touchLimit) : nil
        }
    }

    /// Ends observing and returns the datasets that changed.
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
