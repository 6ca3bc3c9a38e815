package import CloudStore
package import SnapshotFormat
package import SnapshotModel
import StrictText

/// What one commit changed in a dataset: an asset that is open but not read.
package struct ChangeAsset: Sendable {
    /// `notifications, changes 14`: the dataset and the commit's number, for errors.
    package let place: String
    /// The path, sizes and hash that the commit states for the file.
    package let file: CloudAsset
    private let reader: any AssetReader
    private let after: CloudAsset?

    /// Opens a change asset.
    ///
    /// - Parameter after: the asset that it stands on; nil if that is not known.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if the file has not arrived.
    package init(_ file: CloudAsset, after: CloudAsset?, dataset: String, in cloud: CloudDatabase, zone: ZoneID) async throws {
        place = "\(dataset), changes \(AssetPath(file.path)?.number ?? 0)"
        self.file = file
        self.after = after
        reader = try await cloud.openAsset(file, in: zone)
    }

    /// Reads the whole file, checks it against its commit and decodes it. Memory: the changes.
    package func read(_ schema: DatasetSchema) throws -> ChangeSet {
        do {
            guard let hash = ContentHash(hex: file.sha256), reader.byteCount == file.byteCount, file.byteCount <= FormatLimits.changeRawBytes else {
                throw SyncError(format: .damaged, at: place, "its size or its hash are not those that the commit names")
            }
            let compressed = ByteBuffer()
            try SyncError.at(.fetch) { try compressed.fill(file.byteCount) { try reader.read(into: $0, at: 0) } }
            // The file is a single member and the commit states its hash. No hash of the decompressed bytes exists; the member's length and CRC
            // check those.
            let entry = MemberEntry(offset: 0, length: file.byteCount, rawLength: file.rawByteCount, sha256: hash, rawSHA256: hash)
            return try compressed.withBytes {
                try ChangeSet($0, entry: entry, schema: schema, name: place, after: after.flatMap { AssetPath($0.path)?.stem }, boxes: reader.boxes)
            }
        } catch var error as SyncError where error.format != nil && error.step == nil {
            (error.step, error.hint) = (.verify, SnapshotAsset.hint(for: error))
            throw error
        }
    }

    /// Opens the change assets in order.
    package static func open(_ files: [(file: CloudAsset, after: CloudAsset?)], dataset: String, in cloud: CloudDatabase, zone: ZoneID) async throws
        -> [ChangeAsset]
    {
        var opened: [ChangeAsset] = []
        for (file, after) in files { opened.append(try await ChangeAsset(file, after: after, dataset: dataset, in: cloud, zone: zone)) }
        return opened
    }
}

extension ChangeOverlay {
    /// Reads change assets and combines them; a later change of a key replaces an earlier one.
    package init(reading assets: [ChangeAsset], _ schema: DatasetSchema) throws {
        self.init(schema: schema)
        for asset in assets {
            let set = try asset.read(schema)
            try SnapshotAsset.step(.verify, of: asset.place) { try add(set) }
        }
    }
}
