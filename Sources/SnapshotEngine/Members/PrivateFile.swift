import CloudStore
import Foundation

/// A small file with a secret: it belongs to the process's user alone, or systemd hands it to the service.
struct PrivateFile {
    let path: String
    /// Whether systemd owns the file: then its access rules are systemd's.
    var isCredential = false
    /// What the file is, for errors: `key file`.
    let kind: String
    let byteLimit: Int
    /// What to do where it is no such file.
    let hint: String

    /// The credential of that name that systemd hands to the service; nil if it hands none.
    static func credential(_ name: String, in environment: [String: String]) -> String? {
        guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty else { return nil }
        let path = "\(folder)/\(name)"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// The bytes; nil if there is no such file.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if it cannot be read, is no plain file, or others may read it.
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
                "chmod 600 \(path); if somebody may have read it, remove this member and let the device join with new keys")
        }
        return Array((try? file.readToEnd()) ?? Data())
    }

    func error(_ reason: String, _ hint: String) -> CloudError { CloudError(.keyUnavailable, at: path, reason, hint: hint) }
}
