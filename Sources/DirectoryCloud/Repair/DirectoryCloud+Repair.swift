package import CloudStore
import CommitLog
import Platform

extension DirectoryCloud {
    /// The commits and checkpoints of a zone that are damaged or missing, with the bytes that they must have where those can be had.
    ///
    /// - Parameters:
    ///   - token: a commit that a device has read, whose hash it knows.
    ///   - pinned: the checkpoints that pins name.
    package func damagedDocuments(in zone: ZoneID, knowing token: ChangeToken?, pinned: [CheckpointReference] = []) async throws -> [DamagedDocument] {
        try await inZone(zone) { try HistoryExamination(zone: $0, token: token, pinned: pinned).run() }
    }

    /// Opens a file of a zone as it lies there; nil if there is none, or something that is no plain file.
    ///
    /// - Parameter path: beneath the zone; of an asset or a block index.
    package func findFile(_ path: String, in zone: ZoneID) async throws -> FoundFile? {
        try await inZone(zone) { try FoundFile(path, in: $0.folder) }
    }

    /// The files of foreign names beside an asset or index: conflict copies, backups, and what was set aside.
    package func copies(beside path: AssetPath, in zone: ZoneID) async throws -> [FoundFile] {
        try await inZone(zone) { zone in
            guard let folder = try zone.folder.folder(path.directory) else { return [] }
            return try folder.names().sorted().filter { StoredFile.Kind(nameInAssets: $0, of: path.record) == nil && !TemporaryName.matches($0) }.compactMap {
                name in
                try FoundFile("\(path.directory)/\(name)", in: zone.folder)
            }
        }
    }

    /// Puts a file in the place of a damaged or missing one; see ``FileReplacement``.
    ///
    /// - Parameter write: hands over the file's bytes piece by piece, or returns false if it cannot. Runs on a thread of its own.
    /// - Returns: nil if the bytes could not be had, or were not those of this size and hash: then nothing has changed.
    package func replaceFile(
        _ path: String, byteCount: Int, sha256: String, in zone: ZoneID, dryRun: Bool,
        write: @escaping @Sendable ((UnsafeRawBufferPointer) throws -> Void) throws -> Bool
    ) async throws -> RepairedFile? {
        try await inZone(zone) { try FileReplacement(zone: $0, path: path, byteCount: byteCount, sha256: sha256).run(dryRun: dryRun, write: write) }
    }

    /// Puts a commit or checkpoint whose bytes are known in its place.
    package func replace(_ document: DamagedDocument, in zone: ZoneID, dryRun: Bool) async throws -> RepairedFile? {
        guard let bytes = document.mended else { return nil }
        return try await replaceFile(document.path, byteCount: bytes.count, sha256: ContentHash.of(bytes), in: zone, dryRun: dryRun) { append in
            // SAFETY: the buffer is used only within the closure.
            try bytes.span.withUnsafeBytes { buffer throws(any Error) in try append(buffer) }
            return true
        }
    }
}
