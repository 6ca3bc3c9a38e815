import Foundation
import GRDB
import LocalTables
package import SnapshotModel
package import StrictText

/// The conflict journal: the table `snapsync_conflicts`, which stores every edit that lost.
///
///     try transaction.conflictJournal.record(Conflict(dataset: schema.name, key: key, reason: .laterEdit, loser: mine, winner: theirs), at: now)
///
/// Record an edit in the transaction in which it loses. The table is created with the first entry.
package struct ConflictJournal: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.conflicts.name
    /// Entries older than this are removed. In microseconds.
    package static let retention: Int64 = 90 * 86_400_000_000
    /// How many bytes of entities the journal may hold; the oldest entries are removed first.
    package static let byteLimit: Int64 = 16 * 1_048_576

    /// Adds an entry and returns its id.
    ///
    /// Returns nil without adding one if both sides are the same entity or both are deletions, because then nothing is lost.
    @discardableResult
    package func record(_ conflict: Conflict, at now: Instant) throws -> Int64? {
        guard conflict.loser.entity?.exact != conflict.winner.entity?.exact else { return nil }
        try LocalTable.conflicts.create(in: db)
        if transaction.conflictBytes == nil { try removeOld(now) }
        let id = try lastID() + 1
        let bytes = Int64(conflict.loser.entity?.utf8.count ?? 0) + Int64(conflict.winner.entity?.utf8.count ?? 0)
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_conflicts(id, dataset, key, reason, detail, loser, loserAt, loserDevice, winner, winnerAt, winnerDevice, recordedAt, state, bytes, columns)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)
            """
        ).bind(
            .integer(id), .text(conflict.dataset), .key(conflict.key), .text(conflict.reason.name), .optional(conflict.detail),
            .optional(conflict.loser.entity), .instant(conflict.loser.instant), .optional(conflict.loser.device),
            .optional(conflict.winner.entity), .instant(conflict.winner.instant), .optional(conflict.winner.device), .instant(now), .integer(bytes),
            .optional(try conflict.columns.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) })
        ).run()
        transaction.conflictBytes = (transaction.conflictBytes ?? 0) + bytes
        try removeBeyondLimit(keeping: id)
        return id
    }

    /// The entries in order of their ids, oldest first.
    ///
    /// - Parameter state: only entries in that state; nil for all.
    package func entries(in state: ConflictEntry.State? = nil) throws -> [ConflictEntry] {
        try entries(where: state == nil ? "?1 IS NULL" : "state = ?1", .optional(state?.rawValue))
    }

    /// The entry with that id; nil if there is none.
    package func entry(_ id: Int64) throws -> ConflictEntry? { try entries(where: "id = ?1", .integer(id)).first }

    /// How many entries are open. Cheap.
    package func openCount() throws -> Int {
        guard try db.hasTable(Self.table) else { return 0 }
        return Int(try KeyedStatement(db, "SELECT count(*) FROM snapsync_conflicts WHERE state = 'open'").bind().integer() ?? 0)
    }

    /// How many open entries were recorded after the entry with that id.
    package func openCount(after id: Int64) throws -> Int {
        guard try db.hasTable(Self.table) else { return 0 }
        return Int(try KeyedStatement(db, "SELECT count(*) FROM snapsync_conflicts WHERE state = 'open' AND id > ?").bind(.integer(id)).integer() ?? 0)
    }

    /// The id of the last recorded entry; 0 before the first.
    package func lastID() throws -> Int64 {
        guard try db.hasTable(Self.table) else { return 0 }
        let last = try KeyedStatement(db, "SELECT max(id) FROM snapsync_conflicts").bind().integer() ?? 0
        return max(last, try removed().lastID)
    }

    /// Stores what the user did about an entry. Returns whether there is an entry with that id.
    package func set(_ id: Int64, to state: ConflictEntry.State) throws -> Bool {
        guard try db.hasTable(Self.table) else { return false }
        try KeyedStatement(db, "UPDATE snapsync_conflicts SET state = ? WHERE id = ?").bind(.text(state.rawValue), .integer(id)).run()
        return db.changesCount > 0
    }

    /// Marks all open entries as seen. Returns how many there were.
    package func clear() throws -> Int {
        guard try db.hasTable(Self.table) else { return 0 }
        try db.execute(sql: "UPDATE snapsync_conflicts SET state = 'cleared' WHERE state = 'open'")
        return db.changesCount
    }

    /// How many open entries were removed because they were too old or too many.
    package func removedCount() throws -> Int { try removed().count }

    private var removed: StoredValue<RemovedConflicts> { transaction.state.value("removedConflicts", RemovedConflicts(count: 0, lastID: 0)) }

    private func removeOld(_ now: Instant) throws {
        try remove(where: "recordedAt < ?1", .integer(now.advanced(byMicroseconds: -Self.retention).microseconds))
        transaction.conflictBytes = try KeyedStatement(db, "SELECT sum(bytes) FROM snapsync_conflicts").bind().integer() ?? 0
    }

    private func removeBeyondLimit(keeping newest: Int64) throws {
        guard let total = transaction.conflictBytes, total > Self.byteLimit else { return }
        // Remove a sixteenth more than needed, so that not every new entry has to remove an old one.
        var excess = total - Self.byteLimit + Self.byteLimit / 16
        var last: Int64 = 0
        let oldest = try KeyedStatement(db, "SELECT id, bytes FROM snapsync_conflicts WHERE id < ? ORDER BY id").bind(.integer(newest))
        while excess > 0, try oldest.step() {
            last = oldest.integer(0)
            excess -= oldest.integer(1)
        }
        oldest.end()
        try remove(where: "id <= ?1", .integer(last))
        transaction.conflictBytes = try KeyedStatement(db, "SELECT sum(bytes) FROM snapsync_conflicts").bind().integer() ?? 0
    }

    private func remove(where condition: String, _ parameter: KeyedStatement.Parameter) throws {
        guard let last = try KeyedStatement(db, "SELECT max(id) FROM snapsync_conflicts WHERE \(condition)").bind(parameter).integer() else { return }
        let open = try KeyedStatement(db, "SELECT count(*) FROM snapsync_conflicts WHERE state = 'open' AND \(condition)").bind(parameter).integer() ?? 0
        let removed = try removed()
        try self.removed.set(RemovedConflicts(count: removed.count + Int(open), lastID: max(removed.lastID, last)))
        try KeyedStatement(db, "DELETE FROM snapsync_conflicts WHERE \(condition)").bind(parameter).run()
    }

    private func entries(where condition: String, _ parameter: KeyedStatement.Parameter) throws -> [ConflictEntry] {
        guard try db.hasTable(Self.table) else { return [] }
        let rows = try KeyedStatement(
            db,
            """
            SELECT id, dataset, key, reason, detail, loser, loserAt, loserDevice, winner, winnerAt, winnerDevice, recordedAt, state, columns
            FROM snapsync_conflicts WHERE \(condition) ORDER BY id
            """
        ).bind(parameter)
        defer { rows.end() }
        func text(_ column: Int32) -> String? { rows.text(column).map { String(decoding: $0, as: UTF8.self) } }
        var found: [ConflictEntry] = []
        while try rows.step() {
            guard let dataset = text(1), let key = rows.key(2), let reason = text(3), let state = text(12).flatMap(ConflictEntry.State.init) else {
                throw damaged(Self.table, "the entry \(rows.integer(0)) cannot be read")
            }
            found.append(
                ConflictEntry(
                    id: rows.integer(0),
                    conflict: Conflict(
                        dataset: dataset, key: key, reason: ConflictReason(name: reason),
                        loser: ConflictSide(entity: text(5), instant: rows.instant(6), device: text(7)),
                        winner: ConflictSide(entity: text(8), instant: rows.instant(9), device: text(10)), detail: text(4),
                        columns: try text(13).map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }),
                    recordedAt: rows.instant(11), state: state))
        }
        return found
    }
}

/// What is still known about removed entries.
private struct RemovedConflicts: Codable, Equatable {
    /// How many of them were open.
    let count: Int
    let lastID: Int64
}

/// Why an edit lost.
package struct ConflictReason: Hashable, Sendable {
    package let name: String

    /// Another device changed the entity too, and its change counts as later.
    package static let laterEdit = ConflictReason(name: "laterEdit")
    /// Another device deleted the entity, and the deletion counts as later.
    package static let laterDeletion = ConflictReason(name: "laterDeletion")
    /// Two devices inserted different rows under one key; neither had seen the other's.
    package static let sameKey = ConflictReason(name: "sameKey")
    /// The edit does not fit: a value that only one row may have is taken, or a row that it refers to is missing.
    package static let valueTaken = ConflictReason(name: "valueTaken")
    /// Rows refer to the row, so that its deletion was not made.
    package static let parentNeeded = ConflictReason(name: "parentNeeded")
    /// The publisher refused the message that carried the edit.
    package static let refused = ConflictReason(name: "refused")
}

/// One side of a conflict: an edit or a deletion of one entity.
package struct ConflictSide: Hashable, Sendable {
    /// The entity as canonical JSON; nil for a deletion.
    package let entity: String?
    /// When the edit or deletion was made.
    package let instant: Instant
    /// The device that made it; nil if unknown.
    package let device: String?

    package init(entity: String?, instant: Instant, device: String?) {
        (self.entity, self.instant, self.device) = (entity, instant, device)
    }
}

/// An edit or deletion that lost to another one of the same entity.
package struct Conflict: Hashable, Sendable {
    /// The dataset's name.
    package let dataset: String
    package let key: EntityKey
    package let reason: ConflictReason
    package let loser: ConflictSide
    package let winner: ConflictSide
    /// More about the reason, for people; nil if the reason is sufficient.
    package let detail: String?
    /// The JSON names of the columns that lose; nil for the whole row.
    package let columns: [String]?

    package init(
        dataset: String, key: EntityKey, reason: ConflictReason, loser: ConflictSide, winner: ConflictSide, detail: String? = nil, columns: [String]? = nil
    ) {
        self.dataset = dataset
        self.key = key
        self.reason = reason
        self.loser = loser
        self.winner = winner
        self.detail = detail
        self.columns = columns
    }
}

/// One entry of the conflict journal.
package struct ConflictEntry: Hashable, Sendable {
    /// What the user did about it.
    package enum State: String, Sendable {
        /// Nothing yet.
        case open
        /// The losing edit was brought back as a new edit.
        case taken
        /// The user has seen it and accepts the loss.
        case cleared
    }

    /// Ascending in the order of recording; never reused.
    package let id: Int64
    package let conflict: Conflict
    /// When this device recorded it.
    package let recordedAt: Instant
    package let state: State
}
