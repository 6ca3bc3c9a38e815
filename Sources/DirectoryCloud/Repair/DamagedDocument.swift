package import CloudStore
import Platform

/// A commit or a checkpoint that is missing or has the wrong bytes, and the right bytes if they were found.
package struct DamagedDocument: Sendable {
    package enum Kind: String, Sendable { case commit, checkpoint }

    package let kind: Kind
    package let number: Int
    package let isMissing: Bool
    /// What is wrong with it.
    package let reason: String
    /// The right bytes; nil if they were not found.
    package let mended: [UInt8]?
    /// Where the right bytes come from, as a text.
    package let source: String?

    /// Relative to the zone.
    package var path: String { "\(kind == .commit ? CloudNames.commits : CloudNames.checkpoints)/\(CloudNames.digits(number)).json" }
}

extension [DamagedDocument] {
    /// The right bytes of the documents, by their paths beneath the zone.
    package var mended: [String: [UInt8]] { Dictionary(compactMap { one in one.mended.map { (one.path, $0) } }, uniquingKeysWith: { first, _ in first }) }
}
