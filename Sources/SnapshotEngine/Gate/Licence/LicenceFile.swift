import Foundation
import SnapshotVersions

/// An entitlement that a signed licence file states, checked against a public key that the application has built in.
///
///     let gate = GateOptions(entitlement: LicenceFile(path: licence, publicKey: "9a3f…", product: "org.example.board"))
///
/// A file that is missing, altered, signed with another key, or for another product entitles nobody, whatever was there before: the file
/// itself is what holds without a network, so that no kept answer is needed.
public struct LicenceFile: EntitlementProvider {
    /// The file's path.
    public let path: String
    /// 64 hexadecimal digits, as ``LicenceKey/publicKey`` has them.
    public let publicKey: String
    /// What the licence has to be for; nil takes any.
    public let product: String?

    public init(path: String, publicKey: String, product: String? = nil) {
        self.path = path
        self.publicKey = publicKey
        self.product = product
    }

    /// The licence, with its signature checked. Whether it has ended is not looked at.
    ///
    /// - Throws: ``SyncError``, as ``SignedLicence/open(_:publicKey:product:at:)`` does; with `.nothingThere` if the file cannot be read.
    public func licence() throws -> Licence {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the licence file cannot be read", hint: "put it there, or check its path and mode")
        }
        return try SignedLicence.open(data, publicKey: publicKey, product: product, at: path)
    }

    /// What the licence says; "no", with the reason, where there is none that counts.
    public func entitlement() async throws -> Entitlement {
        do {
            return Entitlement(isEntitled: true, validUntil: try licence().validUntil)
        } catch let error as SyncError {
            return Entitlement(isEntitled: false, reason: "\(error.place): \(error.reason)")
        }
    }
}
