import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A look at a database's file and its folder, for what SQLite and Foundation keep to themselves.
///
/// SQLite opens for reading alone what the system will not let it write, calls every other failure CANTOPEN, and drops the reason;
/// Foundation takes a look that failed for a file that is not there. Whether a database is missing, forbidden or out of reach
/// decides what the user does next.
enum DatabaseFile {
    /// Sees that a database can be read, or, if `creating`, is missing for sure.
    ///
    /// - Throws: ``LocalStoreError`` with `.notFound`, `.permissionDenied` or `.inputOutput`.
    static func verify(_ path: String, creating: Bool) throws(LocalStoreError) {
        if let number = refusal(path, F_OK) {
            guard isAbsence(number) else { throw failure(number, at: path, "the database cannot be looked at") }
            if creating { return }
            throw LocalStoreError(.notFound, at: path, "there is no such database", hint: "check the path given with --db, or make one with: snapsync init --create")
        }
        if let number = refusal(path, R_OK) { throw failure(number, at: path, "the database cannot be read") }
    }

    /// Why SQLite could not open the database or a file beside it.
    ///
    /// - Parameter path: the database's file; nil if only that it was open before is known.
    static func unopened(_ path: String?) -> LocalStoreError {
        let reason = "the database cannot be opened"
        guard let path else { return passing(at: "the database", reason) }
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            return LocalStoreError(.notFound, at: path, "\(reason): it is a directory", hint: "check the path given with --db")
        }
        // A database that is to be made is opened, too: then its folder says why not.
        for (place, mode) in [(folder(of: path), W_OK | X_OK), (path, R_OK | W_OK)] {
            guard let number = refusal(place, mode) else { continue }
            if isAbsence(number) {
                return LocalStoreError(.notFound, at: path, reason, hint: "check that the file and its folder exist and can be read and written")
            }
            return failure(number, at: path, reason)
        }
        return passing(at: path, reason)
    }

    /// Why SQLite opened a database for reading alone.
    static func unwritable(_ path: String, _ message: String) -> LocalStoreError {
        obstacle(path, message) ?? passing(at: path, "the database cannot be opened for writing")
    }

    /// Why this user may not write a database: the file, its folder, or what SQLite keeps beside it; nil if modes and mounts allow it.
    ///
    /// - Parameter message: what SQLite says; nil if nobody has tried.
    static func obstacle(_ path: String, _ message: String? = nil) -> LocalStoreError? {
        let said = message.map { " (\($0))" } ?? ""
        guard refusal(path, W_OK) == nil, refusal(folder(of: path), W_OK | X_OK) == nil else {
            return LocalStoreError(
                .permissionDenied, at: path, "the database cannot be written\(said)", hint: "check the owner and mode of the file and of its folder")
        }
        for ending in ["-shm", "-wal", "-journal", ".snapsync-lock"] {
            let beside = path + ending
            guard let number = refusal(beside, W_OK), !isAbsence(number) else { continue }
            return LocalStoreError(
                .permissionDenied, at: beside, "this file beside the database cannot be written: \(String(cString: strerror(number)))",
                hint: "another user's program has left it; give this user the right to write it (chmod, chown)"
                    + (ending == "-shm" ? ", or remove it while no program has the database open" : ""))
        }
        return nil
    }

    /// All may be well by now: too many open files, a server that was away.
    private static func passing(at place: String, _ reason: String) -> LocalStoreError {
        LocalStoreError(.inputOutput, at: place, "\(reason); nothing was changed", hint: "check the disk, the mount and the limit of open files, then run the same command again")
    }

    private static func failure(_ number: Int32, at path: String, _ reason: String) -> LocalStoreError {
        let words = String(cString: strerror(number))
        guard [EACCES, EPERM, EROFS].contains(number) else {
            return LocalStoreError(.inputOutput, at: path, "\(reason): \(words)", hint: "check the disk or the mount, then run the same command again")
        }
        return LocalStoreError(.permissionDenied, at: path, "\(reason): \(words)", hint: "check the owner and mode of the file and of its folder")
    }

    private static func isAbsence(_ number: Int32) -> Bool { number == ENOENT || number == ENOTDIR }

    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// The system's reason why a file may not be used so; nil if it may.
    private static func refusal(_ path: String, _ mode: Int32) -> Int32? {
        access(path, mode) == 0 ? nil : errno
    }
}
