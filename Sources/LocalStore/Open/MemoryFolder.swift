import Foundation
import StrictText

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
    /// - Throws: ``LocalStoreError`` if none does.
    package init(roots: [String] = ["/dev/shm", NSTemporaryDirectory()]) throws {
        var failure: any Error = LocalStoreError(
            .inputOutput, at: "memory", "there is no place for a database in memory", hint: "make /dev/shm or the temporary directory writable")
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
            throw LocalStoreError(.inputOutput, at: root, "no folder can be made in it: \(String(cString: strerror(number)))")
        }
        do {
            // Lock the folder before it gets the name that other programs look for.
            let lock = try RunLock(database: "\(hidden)/owner")
            guard rename(hidden, shown) == 0 else {
                let number = errno
                throw LocalStoreError(.inputOutput, at: root, "a folder in it cannot be renamed: \(String(cString: strerror(number)))")
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
