import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// The descriptions of datasets that the next commit must carry.
///
/// A device publishes the description of a dataset in three cases: the zone has none, the table's structure has changed here since the last
/// check, or the device describes more columns than the zone. Otherwise the zone's description stays, because two devices may name their tables
/// differently. The built-in datasets need no description, because every program knows them.
///
/// A version has a dataset's record if and only if it has its description: the first version with a dataset describes it, and a commit that
/// deletes the one deletes the other. A dataset that this device syncs is not deleted, whatever was removed before.
struct PendingDescriptions: Sendable {
    /// The records for the commit.
    private(set) var records: [CloudRecord] = []
    /// The hashes of the checked descriptions; stored when the commit is made.
    private(set) var note: DescriptionNote?

    /// The names of the records that the commit must delete, because their datasets were removed here.
    private(set) var removed: [String] = []

    var isEmpty: Bool { records.isEmpty && removed.isEmpty }

    /// Finds the descriptions, if the database's schema has changed since the last check.
    ///
    /// - Parameters:
    ///   - datasets: the datasets that the device publishes.
    ///   - last: the records that the version `token` has of them, by dataset name.
    static func find(_ context: SyncContext, of datasets: [DatasetSchema], after token: ChangeToken?, _ last: [String: DatasetRecord]) async throws
        -> PendingDescriptions
    {
        var pending = try await descriptions(context, of: datasets, after: token, last)
        let removed = try context.database.read { try $0.state.removedRecords() }
        if token != nil, !removed.isEmpty {
            let state = try await context.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
            let synced = Set(context.settings.datasets.flatMap { [$0.recordName.exact, DatasetDescription.recordName(of: $0.name).exact] })
            pending.removed = removed.filter { state.record($0) != nil && !synced.contains($0.exact) }
            // What is gone, or was put back, must not be deleted later, when another device may have published it anew.
            if pending.removed != removed { try context.database.write { [left = pending.removed] in try $0.state.removedRecords.set(left) } }
        }
        return pending
    }

    private static func descriptions(
        _ context: SyncContext, of datasets: [DatasetSchema], after token: ChangeToken?, _ last: [String: DatasetRecord]
    ) async throws -> PendingDescriptions {
        let own = datasets.filter { !DatasetSchema.builtIn.contains($0) }
        let (known, version) = try context.database.read { (try $0.state.descriptionNote(), try $0.tables.schemaVersion()) }
        if let known, known.schemaVersion == version, own.allSatisfy({ known.hashes[$0.name] != nil && last[$0.name] != nil }) {
            return PendingDescriptions()
        }

        var pending = PendingDescriptions()
        let (descriptions, text) = try context.database.read { transaction in
            (
                try own.map { DatasetDescription(schema: $0, structure: try transaction.tables.structure(of: $0, among: datasets)) },
                try transaction.tables.schemaText(of: datasets)
            )
        }
        if own.isEmpty, text.statements.isEmpty, known == nil { return PendingDescriptions() }
        var hashes = text.hashes
        for one in descriptions { hashes[one.schema.name] = ContentHash.of(try one.text().utf8) }
        let changed = descriptions.filter { last[$0.schema.name] == nil || known?.hashes[$0.schema.name] != hashes[$0.schema.name] }
        if !changed.isEmpty {
            let state = token == nil ? nil : try await context.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
            let published = Dictionary((state?.records ?? []).map { ($0.name.folded, $0.name) }) { first, _ in first }
            for one in changed {
                // A description that cannot be read is replaced.
                let record = DatasetDescription.recordName(of: one.schema.name)
                let there = state?.record(record).flatMap { try? DatasetDescription($0, in: context.zone) }
                if there == nil, let other = published[record.folded], other.exact != record.exact {
                    let file = context.database.path.shellWord, name = [one.schema.name].tableList
                    throw SyncError(
                        .refused, step: .read, at: "dataset \(one.schema.name)", "the zone has this name in other case, and SQLite takes both for one",
                        hint: "to take over the zone's: snapsync tables remove \(file) \(name) && snapsync tables adopt \(file) --create")
                }
                if let there, there != one { try context.database.read { try $0.tables.refuseOtherKeys(of: one.schema, than: there) } }
                if let there, known?.hashes[one.schema.name] == nil, !one.describesMore(than: there) { continue }
                // Another device may have added columns that this device does not describe yet. Keep them.
                let removed = try context.database.read { try $0.state.removedColumns(of: one.schema) }
                let whole = try there.map { try one.adding($0, without: removed) } ?? one
                if whole != there { pending.records.append(try whole.record()) }
            }
        }
        let before = known?.hashes.filter { SchemaText.isHashName($0.key) }
        if before ?? [:] != text.hashes {
            let state = token == nil ? nil : try await context.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
            // A text that cannot be read is replaced.
            let there = state.flatMap { try? SchemaText($0, in: context.zone) }
            if let whole = text.merged(into: there, changedSince: before), let record = try whole.record() { pending.records.append(record) }
        }
        let note = DescriptionNote(schemaVersion: version, hashes: hashes)
        if pending.isEmpty {
            try context.database.write { try $0.state.descriptionNote.set(note) }
        } else {
            pending.note = note
        }
        return pending
    }
}

extension DatasetDescription {
    /// This description with the additional columns of another one. The table is STRICT if both are.
    ///
    /// - Parameter removed: the JSON names of columns that were removed from the dataset.
    fileprivate func adding(_ other: DatasetDescription, without removed: Set<ExactText>) throws -> DatasetDescription {
        let further = other.schema.columns.filter { column in
            !removed.contains(column.name.exact) && !schema.columns.contains { $0.name.exact == column.name.exact || $0.column.folded == column.column.folded }
        }
        let columns = further.compactMap { other.structure.column($0.column) }
        guard !further.isEmpty, columns.count == further.count else { return self }
        return DatasetDescription(
            schema: try schema.with(columns: schema.columns + further),
            structure: TableStructure(
                columns: structure.columns + columns, primaryKey: structure.primaryKey, autoincrement: structure.autoincrement,
                withoutRowid: structure.withoutRowid, strict: structure.strict && other.structure.strict, unique: structure.unique,
                references: structure.references))
    }

    /// Whether this description has all columns of the other one, and more.
    fileprivate func describesMore(than other: DatasetDescription) -> Bool {
        Set(schema.columns.map(\.name.exact)).isStrictSuperset(of: other.schema.columns.map(\.name.exact))
    }
}

extension SchemaText {
    /// The hash of each statement, by a name that no dataset has, for ``DescriptionNote``.
    fileprivate var hashes: [String: String] {
        Dictionary(statements.map { (Self.hashName($0), ContentHash.of($0.sql.utf8)) }, uniquingKeysWith: { _, last in last })
    }

    private static func hashName(_ statement: Statement) -> String { "sql \(ContentHash.of(statement.key))" }
    fileprivate static func isHashName(_ name: String) -> Bool { name.utf8.starts(with: "sql ".utf8) }

    /// The zone's text with what has changed here; nil if the zone's text stays. Objects that another device has put there stay.
    ///
    /// - Parameter before: the hashes when this device last compared its objects; nil if it never did.
    fileprivate func merged(into zone: SchemaText?, changedSince before: [String: String]?) -> SchemaText? {
        guard let zone else { return statements.isEmpty ? nil : self }
        guard let before else { return nil }
        let own = Dictionary(uniqueKeysWithValues: statements.map { ($0.key, $0) })
        var isChanged = false
        var merged = zone.statements.compactMap { statement -> Statement? in
            let name = Self.hashName(statement), hash = ContentHash.of(statement.sql.utf8)
            guard let here = own[statement.key] else {
                // What was dropped here goes, unless another device has changed it.
                guard before[name] == hash else { return statement }
                isChanged = true
                return nil
            }
            let now = ContentHash.of(here.sql.utf8)
            guard now != hash, now != before[name] else { return statement }
            isChanged = true
            return here
        }
        let there = Set(zone.statements.map(\.key))
        for statement in statements where !there.contains(statement.key) && before[Self.hashName(statement)] != ContentHash.of(statement.sql.utf8) {
            isChanged = true
            merged.append(statement)
        }
        return isChanged ? SchemaText(merged) : nil
    }
}

extension [String] {
    /// Names of tables as a shell's word for `--tables` and `--exclude`.
    package var tableList: String {
        map { name in
            let bytes = name.utf8
            let isPlain = !bytes.isEmpty && name != "all" && !bytes.contains(where: ",\"".utf8.contains) && !" -".utf8.contains(bytes.first ?? 0)
            return isPlain ? name : name.sqlIdentifier
        }.joined(separator: ",").shellWord
    }
}
