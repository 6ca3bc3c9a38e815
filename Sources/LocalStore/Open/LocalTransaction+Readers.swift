import GRDB

extension LocalTransaction {
    /// Runs `body`, during which other connections can begin to read the last committed state although this transaction has changed many pages.
    ///
    /// In the rollback-journal modes SQLite writes changed pages into the file once they outgrow its cache, and from then on no other connection
    /// can begin to read. This call prevents that. Memory: the pages that `body` changes.
    ///
    /// A number is set because it takes effect at once; `ON` and `OFF` take effect only when a transaction ends.
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
