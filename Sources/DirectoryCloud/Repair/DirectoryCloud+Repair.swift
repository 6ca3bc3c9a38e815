package import CloudStore
import Platform

extension DirectoryCloud {
    /// The commits and checkpoints of a zone that are damaged or missing, with their right bytes if those were found.
    ///
    /// - Parameters:
    ///   - token: a commit that a device has read, with its hash.
    ///   - pinned: the checkpoints that pins name.
    package func damagedDocuments(in zone: ZoneID, knowing token: ChangeToken?, pinned: [CheckpointReference] = []) async throws -> [DamagedDocument] {
        try await inFolder(of: zone) { try HistoryExamination(zone: $0, token: token, pinned: pinned).run() }
    }

    /// Opens a file of a zone without checking its content; nil if it does not exist or is not a plain file.
    ///
    /// - Parameter path: the path of an asset or a block index, relative to the zone.
    package func findFile(_ path: String, in zone: ZoneID) async throws -> FoundFile? {
        try await inFolder(of: zone) { try FoundFile(path, in: $0.folder) }
    }

    /// The files beside an asset or index that are not part of the format: conflict copies, backups, and files that were set aside.
    package func copies(beside path: AssetPath, in zone: ZoneID) async throws -> [FoundFile] {
        try await inFolder(of: zone) { zone in
            guard let folder = try zone.folder.folder(path.directory) else { return [] }
            return try folder.names().sorted().filter { StoredFile.Kind(nameInAssets: $0, of: path.record) == nil && !TemporaryName.matches($0) }.compactMap {
                name in
                try FoundFile("\(path.directory)/\(name)", in: zone.folder)
            }
        }
    }

    /// Replaces a damaged or missing file; see ``FileReplacement``.
    ///
    /// - Parameter write: passes the file's bytes piece by piece, or returns false if it cannot. Runs on a thread that may block.
    /// - Returns: nil if the bytes were not available, or did not have this size and hash. Then nothing has changed.
    package func replaceFile(
        _ path: String, byteCount: Int, sha256: String, in zone: ZoneID, dryRun: Bool,
        write: @escaping @Sendable ((UnsafeRawBufferPointer) throws -> Void) throws -> Bool
    ) async throws -> RepairedFile? {
        try await inFolder(of: zone) { try FileReplacement(zone: $0, path: path, byteCount: byteCount, sha256: sha256).run(dryRun: dryRun, write: write) }
    }

    /// Replaces a commit or checkpoint whose right bytes are known.
    package func replace(_ document: DamagedDocument, in zone: ZoneID, dryRun: Bool) async throws -> RepairedFile? {
        guard let bytes = document.mended else { return nil }
        return try await replaceFile(document.path, byteCount: bytes.count, sha256: ContentHash.of(bytes), in: zone, dryRun: dryRun) { append in
            // SAFETY: the buffer is used only within the closure.
            try bytes.span.withUnsafeBytes { buffer throws(any Error) in try append(buffer) }
            return true
        }
    }
}
