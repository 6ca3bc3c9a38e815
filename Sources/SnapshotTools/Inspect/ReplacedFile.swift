import Foundation
import Platform
import SnapshotVersions

/// A text file for other programs, replaced whole.
enum ReplacedFile {
    /// Writes a text beside the file and gives it the file's name.
    ///
    /// - Parameters:
    ///   - mode: the permissions, less what the process masks.
    ///   - keepsMode: whether a file that is there keeps its permissions and its owner instead.
    /// - Throws: ``SyncError`` with `.permissionDenied` or `.inputOutput`; the old file is as it was, and nothing lies beside it.
    static func write(_ text: String, to path: String, mode: UInt16, keepsMode: Bool = false) throws {
        let url = URL(fileURLWithPath: path)
        let temporary = url.deletingLastPathComponent().path + "/.\(url.lastPathComponent).\(String(UInt64.random(in: .min ... .max), radix: 16)).tmp"
        do {
            _ = try Data(text.utf8).withUnsafeBytes {
                try FileReplacement.replace(path, by: $0, through: temporary, mode: mode, like: keepsMode ? path : nil)
            }
        } catch let fault as SystemFault {
            let verb = fault.call == "open" ? "made" : fault.call == "rename" ? "put in place" : "written"
            throw SyncError(
                fault.isDenial || fault.isReadOnly ? .permissionDenied : .inputOutput, step: .store, at: path,
                "the file cannot be \(verb): \(String(cString: strerror(fault.number)))", hint: "check that its folder is there, can be written and has room")
        }
    }
}
