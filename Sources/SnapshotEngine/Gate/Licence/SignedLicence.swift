public import CloudStore
public import Foundation
import Platform
import SnapshotVersions
public import StrictText

/// Writes and checks the bytes of a licence file: a licence and its signature.
///
///     let bytes = try SignedLicence.sign(Licence(product: "org.example.board", holder: "Ann"), with: key)
///     let licence = try SignedLicence.open(bytes, publicKey: pinned, product: "org.example.board")
///
/// Source: docs/embedding.md, "Signed licences".
public enum SignedLicence {
    /// The longest accepted file, in bytes.
    static let byteLimit = 16_384
    private static let version = 1

    private struct Document: Codable {
        let formatVersion: Int
        /// The licence's JSON, in base64. These are exactly the signed bytes.
        let licence: String
        /// 128 lower-case hexadecimal digits.
        let signature: String
    }

    /// Returns the bytes of a licence file.
    public static func sign(_ licence: Licence, with key: LicenceKey) throws -> Data {
        try SyncError.at(.encode) {
            let payload = try StrictJSON.encode(licence)
            let document = Document(
                formatVersion: version, licence: payload.base64EncodedString(), signature: Hexadecimal.text(try key.signature(of: signed(payload))))
            return try StrictJSON.encode(document) + Data("\n".utf8)
        }
    }

    /// Returns the licence in a file's bytes after checking that the key signed it. Does not check whether the licence has ended.
    ///
    /// - Parameters:
    ///   - publicKey: 64 hexadecimal digits, as ``LicenceKey/publicKey`` has them.
    ///   - product: the product that the licence must name; nil accepts any.
    ///   - place: a name for the bytes in errors.
    /// - Throws: ``SyncError`` with `.dataRefused` for bytes that are no licence, were altered, or were signed with another key; with `.refused` for a
    ///   licence of another product or a later format, and for a text that is no public key.
    public static func open(_ bytes: Data, publicKey: String, product: String? = nil, at place: String = "licence") throws -> Licence {
        func fault(_ code: SyncError.Code, _ reason: String, _ hint: String) -> SyncError {
            var error = SyncError(code, step: .verify, at: place, reason, hint: hint)
            error.identifier = "data.badLicence"
            return error
        }
        let anew = "get the licence again from whoever issued it"
        guard LicenceKey.isPublicKey(publicKey) else {
            throw fault(.refused, "the public key to check it with is not 64 lower-case hexadecimal digits", "take it from: snapsync licence key")
        }
        guard bytes.count <= byteLimit, let document = try? StrictJSON.decode(Document.self, from: bytes) else {
            throw fault(.dataRefused, "it is not a licence file", anew)
        }
        guard document.formatVersion == version else {
            throw fault(.refused, "it has the format \(document.formatVersion), and this program knows \(version)", "update this program")
        }
        guard let payload = Data(base64Encoded: document.licence), let signature = Hexadecimal.bytes(document.signature.utf8),
            DevicePublicKeys.isValid(signature, of: signed(payload), by: publicKey)
        else { throw fault(.dataRefused, "it was altered, or was not signed with the key \(publicKey)", anew) }
        guard let licence = try? StrictJSON.decode(Licence.self, from: payload) else {
            throw fault(.dataRefused, "it is signed, and its content is not understood", "update this program, or \(anew)")
        }
        guard product == nil || licence.product == product else {
            throw fault(.refused, "it is for \(licence.product), not for \(product ?? "")", "get a licence for \(product ?? "")")
        }
        return licence
    }

    /// Returns the signed bytes: the licence after a header that names its kind, so that nothing else signed with the key can pass for a licence.
    private static func signed(_ payload: Data) -> [UInt8] { Array("snapsync-licence \(version)\n".utf8) + Array(payload) }
}

/// A vendor's signed statement that a user may sync with a product, and until when.
public struct Licence: Hashable, Sendable, Codable {
    /// The product, for example the application's container identifier. A licence for one product does not count for another.
    public let product: String
    /// The name of the holder, for display.
    public let holder: String
    public let issuedAt: Instant
    /// When the licence ends; nil if it does not.
    public let validUntil: Instant?

    public init(product: String, holder: String, issuedAt: Instant = .now, validUntil: Instant? = nil) {
        (self.product, self.holder, self.issuedAt, self.validUntil) = (product, holder, issuedAt, validUntil)
    }
}

/// An entitlement from a signed licence file, checked against a public key that is built into the application.
///
///     let gate = GateOptions(entitlement: LicenceFile(path: licence, publicKey: "9a3f…", product: "org.example.board"))
///
/// A file that is missing, altered, signed with another key, or for another product entitles no user, whatever it said before. The file itself
/// works without a network, so no earlier answer is needed.
public struct LicenceFile: EntitlementProvider {
    /// The file's path.
    public let path: String
    /// 64 hexadecimal digits, as ``LicenceKey/publicKey`` has them.
    public let publicKey: String
    /// The product that the licence must name; nil accepts any.
    public let product: String?

    public init(path: String, publicKey: String, product: String? = nil) {
        (self.path, self.publicKey, self.product) = (path, publicKey, product)
    }

    /// Returns the licence after checking its signature. Does not check whether the licence has ended.
    ///
    /// - Throws: ``SyncError``, as ``SignedLicence/open(_:publicKey:product:at:)`` does; with `.nothingThere` if the file cannot be read.
    public func licence() throws -> Licence {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the licence file cannot be read", hint: "put it there, or check its path and mode")
        }
        return try SignedLicence.open(data, publicKey: publicKey, product: product, at: path)
    }

    /// Returns what the licence says; if no licence is valid, "no" with the reason.
    public func entitlement() async throws -> Entitlement {
        do {
            return Entitlement(isEntitled: true, validUntil: try licence().validUntil)
        } catch let error as SyncError {
            return Entitlement(isEntitled: false, reason: "\(error.place): \(error.reason)")
        }
    }
}

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
        let bytes = try SyncError.at(.encode) { try StrictJSON.encode(Document(formatVersion: 1, licenceKey: Hexadecimal.text(key.seed))) }
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
            let seed = Hexadecimal.bytes(document.licenceKey.utf8), let key = LicenceKey(seed: seed)
        else { throw SyncError(.dataRefused, step: .open, at: path, "it is not a file of a licence key", hint: "make one with: snapsync licence key FILE") }
        return key
    }
}
