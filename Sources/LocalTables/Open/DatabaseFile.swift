import Foundation
import Platform
import StrictText

/// Looks at a database's file and folder to find out why it cannot be opened, which SQLite and Foundation do not report.
///
/// If the system does not permit writing, SQLite opens the file read-only. It reports every other failure as CANTOPEN, without the reason.
/// Foundation reports a file as missing if it cannot be looked at. The user has to know whether the database is missing, forbidden or out of
/// reach.
enum DatabaseFile {
    /// Checks that a database can be read or, if `creating`, is certainly missing.
    ///
    /// - Throws: ``SyncError`` with `.notFound`, `.permissionDenied` or `.inputOutput`.
    static func verify(_ path: String, creating: Bool) throws(SyncError) {
        if let fault = FileAccess.exists.refusal(path) {
            guard fault.isMissing else { throw failure(fault, at: path, "the database cannot be looked at") }
            if creating { return }
            throw SyncError(
                database: .notFound, at: path, "there is no such database",
                hint: "check the path, or make one with: snapsync join \(path.shellWord) LOCATION")
        }
        if let fault = FileAccess.read.refusal(path) { throw failure(fault, at: path, "the database cannot be read") }
    }

    /// Whether a file that SQLite does not know has the shape of a database whose pages are encrypted, as SQLCipher writes it: whole pages that do
    /// not begin as text does.
    static func looksEncrypted(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path), let head = try? file.read(upToCount: 16), let size = try? file.seekToEnd() else { return false }
        return size >= 512 && size % 512 == 0 && head.contains { $0 < 9 || $0 > 126 }
    }

    /// Why SQLite could not open the database or a file beside it.
    ///
    /// - Parameter path: the database's file; nil if it is not known.
    static func unopened(_ path: String?) -> SyncError {
        let reason = "the database cannot be opened"
        guard let path else { return passing(at: "the database", reason) }
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            return SyncError(database: .notFound, at: path, "\(reason): it is a folder", hint: "name a database: of a location, one that is set up with it")
        }
        // Also called for a database that is about to be created: then its folder tells the reason.
        for (place, access) in [(folder(of: path), FileAccess([.write, .search])), (path, FileAccess([.read, .write]))] {
            guard let fault = access.refusal(place) else { continue }
            if fault.isMissing {
                return SyncError(database: .notFound, at: path, reason, hint: "check that the file and its folder exist and can be read and written")
            }
            return failure(fault, at: path, reason)
        }
        return obstacle(path) ?? passing(at: path, reason)
    }

    /// Why SQLite opened a database read-only.
    static func unwritable(_ path: String, _ message: String) -> SyncError {
        obstacle(path, message) ?? passing(at: path, "the database cannot be opened for writing")
    }

    /// Why this user may not write a database: its file, its folder, or a file that SQLite keeps beside it. Nil if modes and mounts permit it.
    ///
    /// - Parameter message: SQLite's message; nil if no write was attempted.
    static func obstacle(_ path: String, _ message: String? = nil) -> SyncError? {
        let said = message.map { " (\($0))" } ?? ""
        guard FileAccess.write.refusal(path) == nil, FileAccess([.write, .search]).refusal(folder(of: path)) == nil else {
            return SyncError(
                database: .permissionDenied, at: path, "the database cannot be written\(said)", hint: "check the owner and mode of the file and of its folder")
        }
        for ending in ["-shm", "-wal", "-journal", ".snapsync-lock"] {
            let beside = path + ending
            guard let fault = FileAccess.write.refusal(beside), !fault.isMissing else { continue }
            return SyncError(
                database: .permissionDenied, at: beside, "this file beside the database cannot be written: \(fault.words)",
                hint: "another user's program has left it; give this user the right to write it (chmod, chown)"
                    + (ending == "-shm" ? ", or remove it while no program has the database open" : ""))
        }
        return nil
    }

    /// The cause may be gone by now: too many open files, or a server that was unreachable.
    private static func passing(at place: String, _ reason: String) -> SyncError {
        SyncError(
            database: .inputOutput, at: place, "\(reason); nothing was changed",
            hint: "check the disk, the mount and the limit of open files, then run the same command again")
    }

    private static func failure(_ fault: SystemFault, at path: String, _ reason: String) -> SyncError {
        guard fault.isForbidden else {
            return SyncError(
                database: .inputOutput, at: path, "\(reason): \(fault.words)", hint: "check the disk or the mount, then run the same command again")
        }
        return SyncError(database: .permissionDenied, at: path, "\(reason): \(fault.words)", hint: "check the owner and mode of the file and of its folder")
    }

    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

/// A folder in memory for a database that replaces one that cannot be opened. It is removed with the last reference to it.
///
/// It holds a file in a memory file system instead of SQLite's `:memory:`, so that any number of connections, of any program's SQLite, can open
/// it by its path. If a program is killed, the next program that needs such a folder removes what was left: the lock in it is free.
package final class MemoryFolder: Sendable {
    package let path: String
    private let lock: RunLock

    private static let prefix = "snapsync-memory-"

    /// Creates a folder in the first of `roots` that permits it.
    ///
    /// - Parameter roots: where to try. By default `/dev/shm`, then the temporary directory, whose files may lie on a disk.
    /// - Throws: ``SyncError`` if none does.
    package init(roots: [String] = ["/dev/shm", NSTemporaryDirectory()]) throws {
        var failure: any Error = SyncError(
            database: .inputOutput, at: "memory", "there is no place for a database in memory", hint: "make /dev/shm or the temporary directory writable")
        for root in roots {
            do {
                Self.sweep(root)
                (path, lock) = try Self.make(in: root)
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private static func make(in root: String) throws -> (String, RunLock) {
        let name = String(UInt64.random(in: 0 ... .max), radix: 36)
        let hidden = URL(fileURLWithPath: root).appendingPathComponent(".snapsync-\(name)").path
        let shown = URL(fileURLWithPath: root).appendingPathComponent(prefix + name).path
        guard mkdir(hidden, 0o700) == 0 else {
            // Read errno at once: building the message may change it.
            let number = errno
            throw SyncError(database: .inputOutput, at: root, "no folder can be made in it: \(String(cString: strerror(number)))")
        }
        do {
            // Lock the folder before it gets the name that other programs look for.
            let lock = try RunLock(database: "\(hidden)/owner")
            guard rename(hidden, shown) == 0 else {
                let number = errno
                throw SyncError(database: .inputOutput, at: root, "a folder in it cannot be renamed: \(String(cString: strerror(number)))")
            }
            return (shown, lock)
        } catch {
            try? FileManager.default.removeItem(atPath: hidden)
            throw error
        }
    }

    /// Removes folders that killed programs of this user left behind.
    private static func sweep(_ root: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] where name.exact.hasPrefix(prefix) {
            let folder = URL(fileURLWithPath: root).appendingPathComponent(name).path
            var facts = stat()
            guard lstat(folder, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, facts.st_uid == geteuid(),
                let lock = try? RunLock(database: "\(folder)/owner")
            else { continue }
            withExtendedLifetime(lock) { try? FileManager.default.removeItem(atPath: folder) }
        }
    }
}
