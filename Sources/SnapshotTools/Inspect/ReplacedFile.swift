import Foundation
import SnapshotVersions

/// A local file that is replaced whole, so that whoever reads it sees the old text or the new one.
///
/// Not for the cloud, where nothing is ever replaced.
enum ReplacedFile {
    /// Writes a text beside the file and gives it the file's name.
    ///
    /// - Throws: ``SyncError`` with `.permissionDenied` or `.inputOutput`; the old file is as it was, and nothing lies beside it.
    static func write(_ text: String, to path: String) throws {
        let url = URL(fileURLWithPath: path)
        let temporary = url.deletingLastPathComponent().path + "/.\(url.lastPathComponent).\(String(UInt64.random(in: .min ... .max), radix: 16)).tmp"
        // Readable by all: the program that collects such files runs as another user.
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("made", path, errno) }
        do {
            defer { close(descriptor) }
            try Data(text.utf8).withUnsafeBytes { bytes in
                var rest = bytes
                while !rest.isEmpty {
                    let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { throw failure("written", path, errno) }
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                }
            }
            guard fsync(descriptor) == 0 else { throw failure("written", path, errno) }
            guard rename(temporary, path) == 0 else { throw failure("put in place", path, errno) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static func failure(_ verb: String, _ path: String, _ number: Int32) -> SyncError {
        SyncError(
            number == EACCES || number == EPERM || number == EROFS ? .permissionDenied : .inputOutput, step: .store, at: path,
            "the file cannot be \(verb): \(String(cString: strerror(number)))", hint: "check that its folder is there, can be written and has room")
    }
}
