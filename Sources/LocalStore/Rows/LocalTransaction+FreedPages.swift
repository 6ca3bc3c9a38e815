import GRDB
import StrictText

/// When pages are overwritten that a deletion frees and `secure_delete` asks to overwrite.
enum PageOverwriting {
    /// Never: the rows are the toolkit's.
    case never
    /// In a large transaction at its end, those that are still free; in others at once.
    case late
}

// SQLite builds such as Debian's turn `secure_delete` on for every connection. SQLite then writes each page that a deletion frees, and an import
// writes it again with new rows.
extension LocalTransaction {
    /// Deletes all rows of a table. SQLite then frees the table's pages without overwriting them, unless the table has triggers.
    func deleteAll(from table: String, overwriting: PageOverwriting = .never) throws {
        let isFast = try (overwriting == .never || isLarge) && Int.fetchOne(db, sql: "PRAGMA main.secure_delete") == 1
        let before = try isFast && overwriting == .late ? freePageCount() : nil
        if isFast { try db.execute(sql: "PRAGMA main.secure_delete = FAST") }
        defer { if isFast { try? db.execute(sql: "PRAGMA main.secure_delete = ON") } }
        try db.execute(sql: "DELETE FROM main.\(table.sqlIdentifier)")
        if let before, freePagesBefore == nil, try freePageCount() > before { freePagesBefore = before }
    }

    /// Overwrites the pages that ``deleteAll(from:overwriting:)`` has freed and that hold no new rows.
    func overwriteFreedPages() throws {
        guard let before = freePagesBefore else { return }
        freePagesBefore = nil
        let free = try freePageCount(), pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 4096
        // SQLite reuses the pages that were freed last first, except that a page of its list, which names up to a quarter of its size, may also
        // name pages that were free before.
        let count = min(free, max(0, free - before) + pageSize / 4)
        guard count > 0 else { return }
        let piece = 10_000
        try db.execute(sql: "CREATE TABLE main.snapsync_freed(zeros)")
        for start in stride(from: 0, to: count, by: piece) {
            try db.execute(sql: "INSERT INTO main.snapsync_freed VALUES(zeroblob(?))", arguments: [(min(piece, count - start) + 1) * (pageSize - 4)])
        }
        try db.execute(sql: "DROP TABLE main.snapsync_freed")
    }

    private func freePageCount() throws -> Int { try Int.fetchOne(db, sql: "PRAGMA main.freelist_count") ?? 0 }
}
