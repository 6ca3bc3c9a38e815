import Platform
package import StrictText

/// Prevents two runs on one database at the same time. This only saves work: correctness never depends on it.
///
/// It is a lock on `FILE.snapsync-lock`, which the kernel releases when the process ends in any way. The file is empty. Its modification time is
/// when the last successful run that had nothing to do began, so that such a run need not write to the database.
package final class RunLock: Sendable {
    private let lock: FileLock

    /// The lock file of a database. If `database` is a link, the lock file is beside the link's target, so that all names of one database share
    /// one lock.
    ///
    /// Only a link in the last path component matters: a folder has the same lock file by whatever name it is reached.
    package static func path(for database: String) -> String { (System.destination(ofLink: database) ?? database) + ".snapsync-lock" }

    /// Takes the lock of `database`, or fails at once.
    ///
    /// - Throws: ``LocalStoreError`` with `.running` if another run holds it.
    package init(database: String) throws {
        let path = Self.path(for: database), isNew = FileTimes(ofFile: path) == nil
        do throws(FileLock.Failure) {
            lock = try FileLock(path)
            // A new file tells of no run.
            if isNew { _ = FileTimes.set(0, ofFile: path) }
        } catch {
            switch error {
            case .held:
                throw LocalStoreError(
                    .running, at: database, "another run of snapsync works on this database", hint: "let it finish; the next run does what is left",
                    isRetryable: true)
            case .unopened(let fault):
                throw LocalStoreError(
                    fault.isForbidden ? .permissionDenied : .inputOutput, at: path, "the lock file cannot be opened: \(fault.words)",
                    hint: fault.isForbidden && !isNew
                        ? "another user's run has left it, with sudo perhaps: remove it, or chown it" : "check that the database's folder can be written")
            case .unlockable(let fault):
                throw LocalStoreError(.inputOutput, at: path, "the lock file cannot be locked: \(fault.words)")
            }
        }
    }

    /// When the last successful run that had nothing to do began; nil if there is no lock file.
    package static func lastIdleRun(of database: String) -> Instant? { FileTimes(ofFile: path(for: database)).map { Instant(microseconds: $0.modified) } }

    /// Records when a successful run began that had nothing to do. Returns whether that was possible: only the file's owner may set its time.
    package static func setLastIdleRun(_ began: Instant, of database: String) -> Bool { FileTimes.set(began.microseconds, ofFile: path(for: database)) }
}
