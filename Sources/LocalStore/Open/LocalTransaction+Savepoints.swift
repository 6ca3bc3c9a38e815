import GRDB

extension LocalTransaction {
    /// Runs `body` in a savepoint. If it returns false or violates a constraint, its changes are rolled back. Returns whether they were kept.
    package func attempting(_ body: () throws -> Bool) throws -> Bool {
        var isKept = false
        do {
            try db.inSavepoint {
                isKept = try body()
                return isKept ? .commit : .rollback
            }
        } catch let error as LocalStoreError where error.code == .badRow {
            return false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return false
        }
        return isKept
    }

    /// Runs `body` in a savepoint. If it throws, its changes are rolled back and the transaction continues.
    package func undoingOnError<T>(_ body: () throws -> T) throws -> T {
        var result: T?
        try LocalStoreError.translating(at: path) {
            try db.inSavepoint {
                result = try body()
                return .commit
            }
        }
        guard let result else { throw LocalStoreError(.inputOutput, at: path, "the savepoint did not run") }
        return result
    }
}
