import GRDB

extension LocalTransaction {
    /// Runs `body`, in which other connections begin to read what was committed last, after as many changes as there are in this transaction.
    ///
    /// In the rollback-journal modes SQLite writes changed pages into the file once they outgrow its cache, and from then on no other connection
    /// can begin to read. Meanwhile it does not. Memory: the pages that `body` changes.
    ///
    /// `ON` and `OFF` take effect when a transaction ends, a number of pages at once.
    package func lettingOthersRead<T>(_ body: () throws -> T) throws -> T {
        let before = try LocalStoreError.translating(at: path) {
            let before = try Int.fetchOne(db, sql: "PRAGMA cache_spill") ?? 1
            try db.execute(sql: "PRAGMA cache_spill = \(Int32.max)")
            return before
        }
        let result: T
        do {
            result = try body()
        } catch {
            try? db.execute(sql: "PRAGMA cache_spill = \(max(1, before))")
            throw error
        }
        try LocalStoreError.translating(at: path) { try db.execute(sql: "PRAGMA cache_spill = \(max(1, before))") }
        return result
    }
}
