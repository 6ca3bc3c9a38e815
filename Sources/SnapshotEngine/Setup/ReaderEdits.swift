import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The tables in which readers may insert, change and delete rows, by messages to a publisher.
///
///     request.readerEdits = .tables(["tasks", "lists"])
public enum ReaderEdits: Sendable, Hashable {
    case none, all
    /// These tables, named by table or dataset.
    case tables([String])
}

extension ReaderEdits {
    /// Returns the datasets with the edits that readers may send. The built-in datasets keep their own messages unless they are named.
    ///
    /// - Parameter sharesKeys: whether the user accepts that a reader and another device may give one integer key to different rows.
    /// - Throws: ``SyncError`` with `.refused` for a table that does not exist, or in which two devices must not insert.
    func apply(to datasets: [DatasetSchema], sharesKeys: Bool, in transaction: LocalTransaction, at path: String) throws -> [DatasetSchema] {
        let isChosen: (DatasetSchema) -> Bool
        switch self {
        case .none: isChosen = { _ in false }
        case .all: isChosen = { !$0.takesBuiltInMessages }
        case .tables(let names):
            let wanted = Set(names.map(\.folded))
            isChosen = { wanted.contains($0.name.folded) || wanted.contains($0.table.folded) }
            let known = Set(datasets.flatMap { [$0.name.folded, $0.table.folded] })
            let unknown = names.filter { !known.contains($0.folded) }
            guard unknown.isEmpty else {
                throw SyncError(
                    .refused, step: .open, at: path, "no synced table is named \(unknown.joined(separator: ", "))",
                    hint: "the tables are \(datasets.map(\.table).joined(separator: ", "))"
                ).asSlip
            }
        }
        let edited = try datasets.map { schema in
            if isChosen(schema) { return try schema.with(messages: .wholeRows) }
            // Choosing whole tables does not remove what a dataset file allows for single columns.
            return schema.messages.rows && !schema.takesBuiltInMessages ? try schema.with(messages: .none) : schema
        }
        try Self.refuse(edited, sharesKeys: sharesKeys, in: transaction, at: path)
        return edited
    }

    /// Refuses tables in which SQLite assigns the keys and readers may insert: two devices would give one key to different rows.
    static func refuse(_ datasets: [DatasetSchema], sharesKeys: Bool, in transaction: LocalTransaction, at path: String) throws {
        let inserting = datasets.filter { $0.messages.rows && !$0.takesBuiltInMessages }
        if let hidden = try inserting.first(where: { try transaction.tables.hasHiddenKey($0) }) {
            throw SyncError(
                .refused, step: .open, at: "\(path), table \(hidden.table)",
                "dataset \(hidden.name): the table has no key but the rowid, and a reader would give other rows the same one",
                hint: "give the table a PRIMARY KEY, or leave it out of --reader-edits")
        }
        let made = try inserting.filter { try transaction.tables.hasRowidKey($0) }
        guard !made.isEmpty, !sharesKeys else { return }
        throw SyncError(
            .refused, step: .open, at: path,
            "SQLite gives new rows the next free integer as their key, so a reader and another device that insert at the same time give one key to two rows: \(made.map(\.name).joined(separator: ", "))",
            hint:
                "give the rows a text key that is unique everywhere; leave the table out of --reader-edits; or, where readers only change and delete rows, or the later of two rows may keep the key, accept it with --shared-keys: snapsync conflicts keeps the other row"
        )
    }
}
