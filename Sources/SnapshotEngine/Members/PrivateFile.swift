import CloudStore
import Foundation
import StrictText

/// A small file with a secret. Other users have no access to it, unless systemd passes it to the service.
struct PrivateFile {
    let path: String
    /// Whether the file is a systemd credential. systemd then sets its access rules.
    var isCredential = false
    /// A name for the file in errors, for example `key file`.
    let kind: String
    let byteLimit: Int
    /// What to do if the file is not usable.
    let hint: String

    /// Returns the path of a systemd credential; nil if the service has none with that name.
    static func credential(_ name: String, in environment: (String) -> String?) -> String? {
        guard let folder = environment("CREDENTIALS_DIRECTORY"), !folder.isEmpty else { return nil }
        let path = "\(folder)/\(name)"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Returns the bytes; nil if the file does not exist.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if the file cannot be opened, is not a regular file, or other users have access to it.
    func read() throws -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let number = errno
            guard number != ENOENT, number != ENOTDIR else { return nil }
            throw error("the \(kind) cannot be read: \(String(cString: strerror(number)))", "check its owner and mode; it must belong to this user")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= byteLimit else {
            throw error("the \(kind) is no plain file of at most \(byteLimit) bytes", hint)
        }
        guard isCredential || facts.st_mode & 0o077 == 0 else {
            throw error(
                "other users may read the \(kind), or write it (mode \(String(facts.st_mode & 0o777, radix: 8)))",
                "chmod 600 \(path.shellWord); if somebody may have read it, remove this member and let the device join with new keys")
        }
        do { return Array(try file.readToEnd() ?? Data()) } catch {
            throw self.error("the \(kind) cannot be read: \(error.localizedDescription)", "check the disk that it lies on")
        }
    }

    func error(_ reason: String, _ hint: String) -> CloudError { CloudError(.keyUnavailable, at: path, reason, hint: hint) }
}
