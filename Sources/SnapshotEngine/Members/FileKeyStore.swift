public import CloudStore
import Foundation
import Platform
import StrictText

/// Keys in files of mode 0600 outside of databases and clouds: `$XDG_DATA_HOME/snapsync/keys/CLOUD/SCOPE/ZONE/DEVICE.json`.
///
/// Two others come first: the file that `SNAPSYNC_KEY_FILE` names, and `snapsync-key` among the credentials that systemd hands to a service
/// (`$CREDENTIALS_DIRECTORY`). Source: docs/security.md, "The key file".
public struct FileKeyStore: KeyStore {
    private let environment: [String: String]

    private static let fileByteLimit = 4096
    private static let formatVersion = 1

    /// The store that the process's environment describes.
    public init() { self.init(environment: ProcessInfo.processInfo.environment) }

    /// The store that other variables describe.
    package init(environment: [String: String]) { self.environment = environment }

    public func keys(of owner: KeyOwner) throws -> DeviceKeys? {
        let location = location(of: owner)
        guard let bytes = try read(location) else { return nil }
        do {
            let document = try StrictJSON.decode(Document.self, from: Data(bytes))
            guard document.formatVersion == Self.formatVersion else {
                throw unavailable(location.path, "the key file has another format version", "update snapsync on this device")
            }
            guard document.cloud == owner.cloud, document.zone == owner.zone.description, document.device == owner.device else {
                throw unavailable(
                    location.path, "the keys are those of the device \(document.device) in another zone or cloud, or of another device",
                    "name the key file of \(owner.device) in \(owner.zone)")
            }
            guard let signing = DevicePublicKeys.hexBytes(document.signingSeed.utf8), let sealing = DevicePublicKeys.hexBytes(document.sealingSeed.utf8),
                let keys = DeviceKeys(signingSeed: signing, sealingSeed: sealing)
            else { throw unavailable(location.path, "the key file holds no keys", Self.lostHint) }
            return keys
        } catch let error as CloudError {
            throw error
        } catch {
            // The decoder's own words may quote what it read.
            throw unavailable(location.path, "the key file cannot be understood", Self.lostHint)
        }
    }

    public func store(_ keys: DeviceKeys, of owner: KeyOwner) throws {
        let location = location(of: owner)
        guard !location.isCredential else { throw unavailable(location.path, "a credential of systemd is only read", "create it before the device is set up") }
        let document = Document(
            cloud: owner.cloud, device: owner.device, formatVersion: Self.formatVersion, sealingSeed: ContentHash.hex(keys.sealingSeed),
            signingSeed: ContentHash.hex(keys.signingSeed), zone: owner.zone.description)
        let data = try StrictJSON.encode(document)
        let folder = URL(fileURLWithPath: location.path).deletingLastPathComponent().path
        do {
            // The keys must be there after a power cut if the zone is, which only they can write to.
            try FileReplacement.createFolder(folder, mode: 0o700)
            let temporary = location.path + ".new-" + ContentHash.hex((0..<8).map { _ in UInt8.random(in: .min ... .max) })
            let isPlaced = try data.withUnsafeBytes { try FileReplacement.create(location.path, with: $0, through: temporary, mode: 0o600) }
            guard isPlaced else { throw unavailable(location.path, "other keys are there already", "remove that file only if nobody needs its keys") }
        } catch let error as CloudError {
            throw error
        } catch {
            throw unavailable(location.path, "the keys cannot be stored: \(error)", "check the owner, mode and room of the folder, or set SNAPSYNC_KEY_FILE")
        }
    }

    public func place(of owner: KeyOwner) -> String { location(of: owner).path }

    private struct Location {
        let path: String
        /// Whether systemd owns the file: then its access rules are systemd's.
        let isCredential: Bool
    }

    private func location(of owner: KeyOwner) -> Location {
        if let path = environment["SNAPSYNC_KEY_FILE"], !path.isEmpty { return Location(path: path, isCredential: false) }
        if let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty, FileManager.default.fileExists(atPath: "\(folder)/snapsync-key") {
            return Location(path: "\(folder)/snapsync-key", isCredential: true)
        }
        // XDG Base Directory Specification: a relative path is to be ignored.
        let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(environment["HOME"] ?? NSHomeDirectory())/.local/share"
        return Location(path: "\(data)/snapsync/keys/\(owner.cloud)/\(owner.zone)/\(owner.device).json", isCredential: false)
    }

    private func read(_ location: Location) throws -> [UInt8]? {
        let descriptor = open(location.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let number = errno
            guard number != ENOENT, number != ENOTDIR else { return nil }
            throw unavailable(
                location.path, "the key file cannot be read: \(String(cString: strerror(number)))", "check its owner and mode; it must belong to this user")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= Self.fileByteLimit else {
            throw unavailable(location.path, "the key file is no plain file of at most \(Self.fileByteLimit) bytes", Self.lostHint)
        }
        guard location.isCredential || facts.st_mode & 0o077 == 0 else {
            throw unavailable(
                location.path, "other users may read the key file, or write it (mode \(String(facts.st_mode & 0o777, radix: 8)))",
                "chmod 600 \(location.path); if somebody may have read it, remove this member and let the device join with new keys")
        }
        return Array((try? file.readToEnd()) ?? Data())
    }

    private static let lostHint = "bring the file back from a copy; without one, detach the device, set it up under another name, and have it approved"

    private func unavailable(_ path: String, _ reason: String, _ hint: String) -> CloudError { CloudError(.keyUnavailable, at: path, reason, hint: hint) }

    private struct Document: Codable {
        let cloud: String
        let device: String
        let formatVersion: Int
        let sealingSeed: String
        let signingSeed: String
        let zone: String
    }
}
