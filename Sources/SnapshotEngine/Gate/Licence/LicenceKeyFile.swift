public import CloudStore
import Foundation
import Platform
import SnapshotVersions
import StrictText

/// The file with a vendor's private key, as JSON with mode 600.
public enum LicenceKeyFile {
    private struct Document: Codable {
        let formatVersion: Int
        let licenceKey: String
    }

    /// Whether the file exists.
    public static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Writes a key into a new file that only the current user can read.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the file exists.
    public static func write(_ key: LicenceKey, to path: String) throws {
        let bytes = try SyncError.at(.encode) { try StrictJSON.encode(Document(formatVersion: 1, licenceKey: ContentHash.hex(key.seed))) }
        let isPlaced = try SyncError.at(.store) {
            try bytes.withUnsafeBytes { try FileReplacement.create(path, with: $0, through: path + ".tmp", mode: 0o600) }
        }
        guard isPlaced else {
            throw SyncError(.refused, step: .store, at: path, "there is a file of that name", hint: "name another one; a key that is lost signs nothing more")
        }
    }

    /// Reads a key.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere`, `.permissionDenied` if others may read the file, or `.dataRefused`.
    public static func read(_ path: String) throws -> LicenceKey {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the key file cannot be read", hint: "make one with: snapsync licence key FILE")
        }
        let mode = (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue ?? 0
        guard mode & 0o077 == 0 else {
            throw SyncError(
                .permissionDenied, step: .open, at: path, "other users may read the key file, or write it (mode \(String(mode, radix: 8)))",
                hint: "chmod 600 \(path.shellWord); if somebody may have read it, make a new key and issue all licences again")
        }
        // Do not pass on the decoder's message: it may quote the key.
        guard bytes.count <= 4096, let document = try? StrictJSON.decode(Document.self, from: bytes), document.formatVersion == 1,
            let seed = DevicePublicKeys.hexBytes(document.licenceKey.utf8), let key = LicenceKey(seed: seed)
        else { throw SyncError(.dataRefused, step: .open, at: path, "it is not a file of a licence key", hint: "make one with: snapsync licence key FILE") }
        return key
    }
}
