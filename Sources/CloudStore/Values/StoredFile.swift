package import StrictText

/// A file of a zone as a listing shows it. Pruning decides by these values.
///
///     let files = try await cloud.storedFiles(in: zone)
///     let bytes = files.reduce(0) { $0 + $1.byteCount }
///
/// Only files that this format defines are listed. Other files in a directory are never removed.
package struct StoredFile: Hashable, Sendable {
    /// The kind of a file.
    package enum Kind: Hashable, Sendable {
        /// The commit of that number.
        case commit(Int)
        /// The checkpoint at that commit.
        case checkpoint(Int)
        /// An asset, whether a commit names it or not.
        case asset
        /// The block index of the asset at that path.
        case index(of: String)
        /// A temporary file that a killed run has left.
        case temporary
    }

    /// What the file is.
    package let kind: Kind
    /// Relative to the zone's directory.
    package let path: String
    /// The file's size in bytes.
    package let byteCount: Int
    /// When it was written, by the store's own clock.
    package let modified: Instant

    /// The path of the asset that this file is or belongs to; nil for other kinds.
    package var assetPath: String? {
        switch kind {
        case .asset: path
        case .index(let asset): asset
        default: nil
        }
    }
}

extension StoredFile.Kind {
    /// The kind of a file in the directory of a record's assets; nil for a name that this format does not define.
    package init?(nameInAssets name: String, of record: String) {
        let path = "\(CloudNames.assets)/\(record)/\(name)"
        let indexEnding = ".index.json", assetEnding = ".json.gz"
        if AssetPath(path) != nil {
            self = .asset
        } else if name.exact.hasSuffix(indexEnding), AssetPath(path.dropLast(indexEnding.count) + assetEnding) != nil {
            self = .index(of: path.dropLast(indexEnding.count) + assetEnding)
        } else {
            return nil
        }
    }
}
