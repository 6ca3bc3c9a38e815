import CloudStore
import Foundation

/// A temporary file on this machine that is to be uploaded to CloudKit.
struct StagedFile: Sendable {
    let url: URL

    /// Makes an empty file that only this user can read.
    init() throws(CloudError) {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw CloudError(.inputOutput, at: url.path, "the temporary file cannot be made", hint: "check the room and the rights in the temporary directory")
        }
    }

    func remove() { try? FileManager.default.removeItem(at: url) }

    /// The error for a file that could not be written.
    static func failure(_ error: any Error) -> CloudError {
        CloudError(
            .inputOutput, at: "the temporary directory", "the asset cannot be written (\((error as NSError).localizedDescription))",
            hint: "make room in the temporary directory, then try again")
    }
}
