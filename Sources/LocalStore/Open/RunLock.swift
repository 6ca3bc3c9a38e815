import Platform

/// Keeps two runs on one database apart, for economy only: correctness never rests on it.
///
/// A lock on `FILE.snapsync-lock`; the kernel releases it when the process ends, however it ends.
package final class RunLock: Sendable {
    private let lock: FileLock

    /// The lock file of a database, beside the file itself where `database` is a link to it: every name of one database has one lock.
    ///
    /// Only a link in the last part matters: a folder has one lock file by whatever name it is reached.
    package static func path(for database: String) -> String { (System.destination(ofLink: database) ?? database) + ".snapsync-lock" }

    /// Takes the lock of `database`, or fails at once.
    ///
    /// - Throws: ``LocalStoreError`` with `.running` if another run holds it.
    package init(database: String) throws {
        let path = Self.path(for: database)
        do throws(FileLock.Failure) {
            lock = try FileLock(path)
        } catch {
            switch error {
            case .held:
                throw LocalStoreError(
                    .running, at: database, "another run of snapsync works on this database", hint: "let it finish; the next run does what is left",
                    isRetryable: true)
            case .unopened(let fault):
                throw LocalStoreError(
                    fault.isForbidden ? .permissionDenied : .inputOutput, at: path, "the lock file cannot be opened: \(fault.words)",
                    hint: "check that the database's folder can be written")
            case .unlockable(let fault):
                throw LocalStoreError(.inputOutput, at: path, "the lock file cannot be locked: \(fault.words)")
            }
        }
    }
}
