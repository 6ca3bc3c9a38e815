package import CloudStore
import Platform
import StrictText

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

/// Replaces a damaged or missing file, once its right bytes are known.
///
/// No file is overwritten. First the whole new file is written, sealed and compared; then the existing file gets another name; then the new
/// file gets its name, if it is free. A run that ends in between leaves the file missing at worst, and the next run continues.
struct FileReplacement {
    let zone: ZoneFolder
    /// Relative to the zone: a folder of this format and a file in it.
    let path: String
    let byteCount: Int
    let sha256: String

    /// Runs `write`, which passes the bytes piece by piece, or returns false if it cannot.
    ///
    /// - Parameter dryRun: true only checks the bytes.
    /// - Returns: nil if the bytes were not available or were not the right ones. Then nothing has changed.
    func run(dryRun: Bool, write: ((UnsafeRawBufferPointer) throws -> Void) throws -> Bool) throws -> RepairedFile? {
        guard !dryRun else {
            var hash = ContentHash(), count = 0
            let isDone = try write { piece in
                hash.update(piece)
                count += piece.count
            }
            return isDone && count == byteCount && hash.hex == sha256 ? RepairedFile(setAside: nil) : nil
        }
        let folder = try open()
        let name = path.exact.split(separator: "/").last ?? path
        let file = try zone.files.newFile(in: folder, at: zone.folder.place(path))
        defer { file.abandon() }
        guard try write({ try file.write($0) }) else { return nil }
        let sealed = try file.seal()
        guard sealed.byteCount == byteCount, sealed.sha256 == sha256 else { return nil }
        // A sync tool may have delivered the file meanwhile.
        if let there = try FoundFile(path, in: zone.folder), try there.isWhole(byteCount: byteCount, sha256: sha256) { return RepairedFile(setAside: nil) }
        let aside = try folder.setAside(name, zone.files.nonces)
        guard try file.place(as: name) != .taken else {
            throw CloudError(
                .inputOutput, at: zone.folder.place(path), "another file came to lie there meanwhile", hint: "run the same command again", isRetryable: true)
        }
        try folder.synchronize()
        return RepairedFile(setAside: aside.map { path.dropLast(name.count) + $0 })
    }

    private func open() throws -> CloudFolder {
        let parts = path.exact.split(separator: "/", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets].contains(parts[0]),
            parts.count == 2 || CloudNames.isName(parts[1])
        else { throw CloudError(.invalidArguments, at: zone.folder.ownPlace, "no file of a zone's history is called that") }
        let above = try zone.subfolder(parts[0])
        return parts.count == 3 ? try zone.files.folder(parts[1], in: above) : above
    }
}

/// The result of replacing a file.
package struct RepairedFile: Sendable {
    /// The new path of the damaged file, relative to the zone; nil if there was none.
    package let setAside: String?
}
