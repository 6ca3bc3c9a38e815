import GRDB

/// When pages are overwritten that a deletion frees and `secure_delete` asks to overwrite.
enum PageOverwriting {
    /// Never: the rows are the toolkit's.
    case never
    /// At the end of the transaction, those that are still free.
    case atTheEnd
}

// SQLite builds such as Debian's turn `secure_delete` on for every connection. SQLite then writes each page that a deletion frees, and an import
// writes it again with new rows.
extension LocalTransaction {
    /// Deletes all rows of a table. SQLite then frees the table's pages without reading or writing them, unless the table has triggers.
    func deleteAll(from table: String, overwriting: PageOverwriting = .never) throws {
        let isSecure = try Int.fetchOne(db, sql: "PRAGMA main.secure_delete") == 1
        if isSecure, overwriting == .atTheEnd, freePagesBefore == nil { freePagesBefore = try freePageCount() }
        if isSecure { try db.execute(sql: "PRAGMA main.secure_delete = FAST") }
        defer { if isSecure { try? db.execute(sql: "PRAGMA main.secure_delete = ON") } }
        try db.execute(sql: "DELETE FROM main.\(table.sqlIdentifier)")
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
            try db.execute(sql: "INSERT INTO main.snapsync_freed VALUES(zeroblob(?))", arguments: [min(piece, count - start) * (pageSize - 4)])
        }
        try db.execute(sql: "DROP TABLE main.snapsync_freed")
    }

    private func freePageCount() throws -> Int { try Int.fetchOne(db, sql: "PRAGMA main.freelist_count") ?? 0 }
}
