import Foundation
import SnapshotVersions

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
        self.path = path
        self.publicKey = publicKey
        self.product = product
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
