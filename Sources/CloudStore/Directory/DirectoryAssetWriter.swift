import Foundation

/// Writes one asset of a directory cloud: bytes to a temporary file, hashed on the way; index and asset are put in place at the end.
final class DirectoryAssetWriter: AssetWriter {
    private let path: AssetPath
    private let zone: ZoneFolder
    private let folder: CloudFolder
    private let stillThere: () throws -> Void
    private var file: DurableFile?
    private var index: Data?

    /// - Parameter stillThere: throws if the cloud's directory is no longer the one that was opened.
    init(_ path: AssetPath, in zone: ZoneFolder, stillThere: @escaping () throws -> Void) throws {
        self.path = path
        self.zone = zone
        self.stillThere = stillThere
        folder = try zone.files.folder(path.record, in: try zone.subfolder(CloudNames.assets))
        file = try zone.files.newFile(in: folder, at: folder.place(path.fileName))
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try open().write(bytes)
    }

    func setIndex(_ index: Data) throws {
        _ = try open()
        guard self.index == nil, index.count <= CloudRecord.indexByteLimit else {
            throw CloudError(.invalidArguments, at: folder.place(path.indexFileName), "a second index, or one of more than \(CloudRecord.indexByteLimit) bytes")
        }
        self.index = index
    }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        let file = try open()
        self.file = nil
        let sealed = try file.seal()
        try stillThere()
        // The index first: an asset in place always has it.
        let named = try place(file)
        try folder.synchronize()
        return CloudAsset(
            path: named.path, byteCount: sealed.byteCount, rawByteCount: rawByteCount, sha256: sealed.sha256,
            index: index.map { CloudAssetIndex(byteCount: $0.count, sha256: ContentHash.of($0)) })
    }

    func abandon() {
        file?.abandon()
        file = nil
    }

    /// Puts index and asset in place; if the random name is taken already, under another one.
    private func place(_ file: DurableFile) throws -> AssetPath {
        var name = path
        for _ in 0..<4 {
            guard try placeIndex(as: name) else {
                name = renamed()
                continue
            }
            if try file.place(as: name.fileName) == .placed { return name }
            if index != nil { try folder.remove(name.indexFileName) }
            name = renamed()
        }
        throw CloudError(.inputOutput, at: folder.ownPlace, "no free name was found for the asset", isRetryable: true)
    }

    private func placeIndex(as name: AssetPath) throws -> Bool {
        guard let index else { return true }
        let file = try zone.files.newFile(in: folder, at: folder.place(name.indexFileName))
        // SAFETY: the buffer is used only within the closure.
        try index.withUnsafeBytes { try file.write($0) }
        _ = try file.seal()
        return try file.place(as: name.indexFileName) == .placed
    }

    private func renamed() -> AssetPath {
        AssetPath(record: path.record, number: path.number, nonce: zone.files.nonces.hex(8), kind: path.kind)
    }

    private func open() throws(CloudError) -> DurableFile {
        guard let file else {
            throw CloudError(.invalidArguments, at: folder.place(path.fileName), "the asset is finished or was abandoned")
        }
        return file
    }
}
