import Foundation
import Platform
import SnapshotVersions
import StrictText

/// Writes a text file for other programs by replacing it as a whole.
package enum ReplacedFile {
    /// Writes the text to a temporary file beside `path` and renames it to `path`.
    ///
    /// - Parameters:
    ///   - mode: the permissions, reduced by the process's umask.
    ///   - keepsMode: whether an existing file keeps its permissions and owner.
    /// - Throws: ``SyncError`` with `.permissionDenied` or `.inputOutput`. The old file is then unchanged and no temporary file is left.
    package static func write(_ text: String, to path: String, mode: UInt16, keepsMode: Bool = false) throws {
        let url = URL(fileURLWithPath: path)
        let temporary = url.deletingLastPathComponent().path + "/.\(url.lastPathComponent).\(String(UInt64.random(in: .min ... .max), radix: 16)).tmp"
        do {
            try Data(text.utf8).withUnsafeBytes {
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
