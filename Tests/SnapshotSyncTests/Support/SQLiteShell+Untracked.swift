import TestSupport

extension SQLiteShell {
    /// Runs SQL whose changes nobody notes: as before the tables were tracked, or behind the tracking's back.
    @discardableResult
    func runUntracked(_ sql: String) throws -> String {
        try run("BEGIN; INSERT INTO snapsync_importing VALUES(1); \(sql); DELETE FROM snapsync_importing; COMMIT;")
    }
}
