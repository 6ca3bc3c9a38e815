import Foundation
import GRDB
package import LocalTables
package import SnapshotModel
package import StrictText

/// The edits that a reader has handed over and that no version has decided: the table `snapsync_sent`.
///
/// Each has a number. A message repeats all of them, and a commit says up to which number they are decided.
package struct SentEdits: TransactionPart {
    package let transaction: LocalTransaction

    /// The file of the last message.
    package struct File: Codable, Hashable, Sendable {
        package let id: String
        package let device: String
        /// The numbers of the edits in it.
        package let numbers: [Int64]
        /// Whether the file was written, as far as this device knows.
        package var isWritten = false

        package init(id: String, device: String, numbers: [Int64]) {
            self.id = id
            self.device = device
            self.numbers = numbers
        }
    }

    private static let table = LocalTable.sent.name

    /// The message in the mailbox; nil if there is none. It is set before its file is written, and afterwards.
    package var file: StoredValue<File?> { transaction.state.value("message") }

    /// Whether an edit waits for its decision.
    package func hasAny() throws -> Bool {
        guard try db.hasTable(Self.table) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_sent)").bind().integer() == 1
    }

    /// The edits in the order of their numbers.
    ///
    /// - Parameter number: leaves out later ones.
    package func all(upTo number: Int64 = .max) throws -> [HandedOverEdit] {
        guard try db.hasTable(Self.table) else { return [] }
        return try edits(KeyedStatement(db, "SELECT edit FROM snapsync_sent WHERE number <= ? ORDER BY number").bind(.integer(number)))
    }

    private func edits(_ rows: KeyedStatement) throws -> [HandedOverEdit] {
        defer { rows.end() }
        var edits: [HandedOverEdit] = []
        while try rows.step() {
            guard let edit = rows.text(0).flatMap({ try? StrictJSON.decode(HandedOverEdit.self, from: Data($0)) }) else {
                throw damaged(Self.table, "an edit cannot be read")
            }
            edits.append(edit)
        }
        return edits
    }

    /// The edits of a row.
    package func edits(of key: EntityKey, in schema: DatasetSchema) throws -> [HandedOverEdit] {
        guard try db.hasTable(Self.table), let id = try trackingID(schema) else { return [] }
        return try edits(KeyedStatement(db, "SELECT edit FROM snapsync_sent WHERE dataset = ? AND key = ? ORDER BY number").bind(.integer(id), .key(key)))
    }

    /// Forgets the edits up to a number: a version has decided them.
    package func forget(upTo number: Int64) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM snapsync_sent WHERE number <= ?", arguments: [number])
    }

    /// Takes back the edits of rows from a number on. The next message has none of them.
    package func withdraw(from number: Int64 = .min) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM snapsync_sent WHERE number >= ? AND key IS NOT NULL", arguments: [number])
    }

    /// Adds a request for a full sync, unless one waits.
    package func requestFullSync(at now: Instant, as device: String) throws {
        try LocalTable.sent.create(in: db)
        guard try all().allSatisfy({ $0.fullSync != true }) else { return }
        try add(HandedOverEdit(requestingFullSyncAs: nextNumber(now, of: device)), dataset: ReservedDataset.none.rawValue, sequence: 0)
    }

    private func add(_ edit: HandedOverEdit, dataset: Int64, sequence: Int64) throws {
        try KeyedStatement(db, "INSERT INTO snapsync_sent(number, dataset, key, seq, at, edit) VALUES(?, ?, ?, ?, ?, ?)").bind(
            .integer(edit.number), .integer(dataset), edit.key.map { .key($0) } ?? .null, .integer(sequence), edit.at.map { .instant($0) } ?? .null,
            .text(try text(edit))
        ).run()
    }

    private func text(_ edit: HandedOverEdit) throws -> String { String(decoding: try StrictJSON.encode(edit), as: UTF8.self) }

    /// By the clock, and later than what the applied version has decided: a device that is restored or set up again does not use a number twice.
    private func nextNumber(_ now: Instant, of device: String) throws -> Int64 {
        let decided = try transaction.decidedEdits.ofVersion()[device.exact] ?? 0
        let sent = try KeyedStatement(db, "SELECT max(number) FROM snapsync_sent").bind().integer() ?? 0
        return max(decided + 1, sent + 1, now.microseconds)
    }

    // MARK: - Handing over

    /// Numbers what a reader may hand over of its edits since the last call.
    ///
    /// - Parameters:
    ///   - device: the device's name. Under another name than before, all edits get new numbers.
    ///   - limit: the largest edit, in bytes.
    /// - Returns: the first number; nil if no edit was numbered.
    package func handOver(of datasets: [DatasetSchema], as device: String, codec: EntityCodec, now: Instant, limit: Int) throws -> Int64? {
        if let file = try file(), file.device.exact != device.exact { try withdraw() }
        try transaction.changeLog.consolidate(of: datasets)
        let absent = try absent(of: datasets)
        let datasets = try datasets.map { absent.contains($0.name.exact) ? try $0.with { $0.messages = MessagePolicy.none } : $0 }
        guard datasets.contains(where: { !$0.messages.isEmpty }), let own = try OwnEdits(transaction, of: datasets, codec, isReading: true) else { return nil }
        defer { try? own.end() }
        try LocalTable.sent.create(in: db)
        for schema in datasets where !schema.messages.isEmpty { own.touch(nil, of: schema) }
        var first: Int64?, tooLarge: [TooLarge] = []
        try own.forEach { place, edit in
            let schema = datasets[place.dataset]
            guard let part = try fresh(edit, at: place, in: own, of: schema, codec), let id = try trackingID(schema) else { return }
            let handed = try HandedOverEdit(part, number: nextNumber(now, of: device), key: place.key, of: schema, codec)
            guard try text(handed).utf8.count <= limit else { return tooLarge.append(TooLarge(dataset: schema.name, key: place.key)) }
            let sequence = try KeyedStatement(db, "SELECT seq FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .key(place.key))
                .integer()
            try add(handed, dataset: id, sequence: sequence ?? 0)
            first = first ?? handed.number
        }
        for schema in datasets { try transaction.changeLog.spellColumns(of: schema) }
        if try tooLarge != self.tooLarge() { try self.tooLarge.set(tooLarge) }
        return first
    }

    /// What of an edit is new and may be handed over; nil if nothing is.
    private func fresh(_ edit: Edit, at place: RowPlace, in own: OwnEdits, of schema: DatasetSchema, _ codec: EntityCodec) throws -> Edit? {
        guard !own.defaulted.contains(place), !own.older.contains(place), schema.keyShape.holds(place.key) else { return nil }
        if try transaction.changeLog.change(of: place.key, in: schema)?.isCarried == true { return nil }
        let earlier = try edits(of: place.key, in: schema).map { try $0.edit(of: schema, codec) }
        let isGone = try isGone(place.key, in: schema)
        guard !earlier.isEmpty else { return edit.permitted(in: schema, isGone: isGone) }
        return edit.following(earlier).flatMap { $0.permitted(in: schema, isGone: isGone) }
    }

    /// Whether the version has deleted a row that is here. Who brings it back inserts it.
    private func isGone(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        try !schema.permissions.inserts && transaction.tombstonesAndInstants.tombstone(of: key, in: schema) != nil
    }

    // MARK: - What is not handed over

    /// An edit that readers may make, and that was too large for a message when edits were handed over last.
    private struct TooLarge: Codable, Equatable {
        let dataset: String
        let key: EntityKey
    }

    private var tooLarge: StoredValue<[TooLarge]> { transaction.state.value("tooLarge", []) }

    /// The names of the datasets that the applied version does not have: no publisher can take an edit of one.
    package func absent(of datasets: [DatasetSchema]) throws -> Set<ExactText> {
        guard try transaction.state.applied() != nil else { return [] }
        let takenOut = try transaction.state.takenOut(), there = Set(try transaction.datasetStates.all().map(\.name.exact)).subtracting(takenOut)
        return Set(datasets.map(\.name.exact)).subtracting(there)
    }

    /// The edits of a dataset that stay on this device, wholly or in part, because no message can carry them. The log must have been consolidated.
    package func kept(of schema: DatasetSchema) throws -> [KeptEdit] {
        guard let id = try trackingID(schema) else { return [] }
        let tooLarge = Set(try tooLarge().filter { $0.dataset == schema.name }.map(\.key))
        let isAbsent = try !absent(of: [schema]).isEmpty
        let changes = try KeyedStatement(db, "SELECT \(TrackedChange.sqlColumns) FROM snapsync_changes WHERE dataset = ? ORDER BY seq, key").bind(.integer(id))
        defer { changes.end() }
        var kept: [KeptEdit] = []
        while try changes.step() {
            guard let change = TrackedChange(changes, schema) else {
                kept.append(KeptEdit(nil, of: schema, .key))
                continue
            }
            guard !change.isCarried else { continue }
            if isAbsent {
                kept.append(KeptEdit(change, of: schema, .dataset))
                continue
            }
            if let one = try change.kept(in: schema, isGone: isGone(change.key, in: schema)) { kept.append(one) }
            if tooLarge.contains(change.key) { kept.append(KeptEdit(change, of: schema, .size)) }
        }
        return kept
    }

    /// How many edits of a dataset stay on this device if no message may carry any. Does not read them.
    package func keptCount(ofUnsent schema: DatasetSchema) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        let count = "SELECT count(*) FROM snapsync_changes WHERE dataset = ? AND cause = \(ChangeCause.edit)"
        return try Int(KeyedStatement(db, count).bind(.integer(id)).integer() ?? 0)
    }
}

extension Edit {
    /// What of the edit a reader may hand over; nil if nothing.
    ///
    /// - Parameter isGone: whether the version has deleted the row.
    package func permitted(in schema: DatasetSchema, isGone: Bool = false) -> Edit? {
        let permissions = schema.permissions
        guard case .columns(let columns, let values) = change else { return permissions.deletes ? self : nil }
        if inserts || isGone { return permissions.inserts ? self : nil }
        let allowed = schema.permitted(Set(columns.keys)), part = columns.filter { allowed.contains($0.key) }
        guard !part.isEmpty else { return nil }
        var edit = self
        edit.change = .columns(part, values: values)
        return edit
    }

    /// Takes the columns that a reader may not edit, and that no message has, from the version's row.
    ///
    /// - Parameter isPart: whether the message says that its row lacks some.
    package mutating func fill(of schema: DatasetSchema, from there: VersionRow?, isPart: Bool) {
        let permitted = schema.permissions.columns ?? (isPart ? [] : nil)
        guard let allowed = permitted?.union(schema.keyIndices), !inserts, case .columns(let changed, var values) = change else { return }
        for column in values.indices where !allowed.contains(column) && changed[column] == nil { values[column] = there?.values[column] ?? .null }
        change = .columns(changed, values: values)
    }

    /// What of the edit comes after earlier ones of the same row that were handed over; nil if nothing does.
    fileprivate func following(_ earlier: [Edit]) -> Edit? {
        guard let last = earlier.last else { return self }
        var next = self
        if case .deleted(let at) = last.change {
            guard self.at > at else { return nil }
            // With fewer columns than all, the row is there because its deletion has lost.
            if case .columns(let columns, let values) = change, columns.count == values.count { next.base = .deleted(at) }
            return next
        }
        guard case .columns(let columns, let values) = change else {
            guard at > last.at else { return nil }
            next.base = seen(after: earlier)
            return next
        }
        // Another row under the key of one that was handed over and is held.
        if inserts, born != last.born { return self }
        var sent: [Int: Instant] = [:]
        for edit in earlier {
            guard case .columns(let columns, _) = edit.change else {
                sent = Dictionary(uniqueKeysWithValues: values.indices.map { ($0, edit.at) })
                continue
            }
            sent.merge(columns) { max($0, $1) }
        }
        let fresh = columns.filter { column, at in sent[column].map { at > $0 } ?? true }
        guard !fresh.isEmpty else { return nil }
        next.change = .columns(fresh, values: values)
        next.base = seen(after: earlier)
        return next
    }

    /// What the device has seen of the row once its own earlier edits are counted.
    private func seen(after earlier: [Edit]) -> Base {
        var instants: [Instant]?
        if case .row(let seen) = base { instants = seen }
        for edit in earlier {
            guard case .columns(let columns, let values) = edit.change else {
                instants = nil
                continue
            }
            instants = values.indices.map { columns[$0] ?? instants?[$0] ?? .earliest }
        }
        return instants.map { .row($0) } ?? base
    }
}
