import CloudStore
import CommitLog
import Foundation
import Platform

/// Writes one asset of a directory cloud. The bytes go to a temporary file and are hashed meanwhile; index and asset get their names at the
/// end.
///
/// Nothing is written before the first byte: a writer without data must not wake a sync tool.
final class DirectoryAssetWriter: AssetWriter {
    private var path: AssetPath { draft.path }
    private let zone: () throws -> ZoneFolder
    private var state = State.untouched
    private var draft: AssetDraft

    private enum State {
        case untouched
        case open(DurableFile, in: CloudFolder, of: ZoneFolder)
        case ended
    }

    /// - Parameter zone: opens the zone's folder by name; throws if the cloud's directory is no longer the one that was opened.
    init(_ path: AssetPath, in zone: @escaping () throws -> ZoneFolder) {
        draft = AssetDraft(path)
        self.zone = zone
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try open().file.write(bytes)
    }

    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        guard let other = other as? DirectoryAssetReader else { return try write(bytes) }
        try open().file.write(bytes, copying: other.descriptor.number, at: offset)
    }

    func setIndex(_ index: Data) throws {
        let place = try open().folder.place(path.indexFileName)
        try draft.setIndex(index, at: place)
    }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        let (file, folder, opened) = try open()
        state = .ended
        let sealed = try file.seal()
        _ = try StaleHandle.reopening { () throws in try zone() }
        // Place the index first, so that an asset with its name always has its index.
        let named = try place(file, in: folder, with: opened.files)
        try folder.synchronize()
        return CloudAsset(
            path: named.path, byteCount: sealed.byteCount, rawByteCount: rawByteCount, sha256: sealed.sha256,
            index: draft.index.map(CloudAssetIndex.init(of:)))
    }

    func abandon() {
        if case .open(let file, _, _) = state { file.abandon() }
        state = .ended
    }

    /// Gives index and asset their names. If the random name is taken, tries another one.
    private func place(_ file: DurableFile, in folder: CloudFolder, with files: FileMaker) throws -> AssetPath {
        var name = path
        for _ in 0..<4 {
            guard try placeIndex(as: name, in: folder, with: files) else {
                name = renamed(files.nonces)
                continue
            }
            // An interrupted copy may have left the same bytes there.
            if try file.place(as: name.fileName) != .taken { return name }
            if draft.index != nil { try folder.remove(name.indexFileName) }
            name = renamed(files.nonces)
        }
        throw CloudError(.inputOutput, at: folder.ownPlace, "no free name was found for the asset", isRetryable: true)
    }

    private func placeIndex(as name: AssetPath, in folder: CloudFolder, with files: FileMaker) throws -> Bool {
        guard let index = draft.index else { return true }
        let file = try files.newFile(in: folder, at: folder.place(name.indexFileName))
        // SAFETY: the buffer is used only within the closure.
        try index.withUnsafeBytes { try file.write($0) }
        _ = try file.seal()
        return try file.place(as: name.indexFileName) != .taken
    }

    private func renamed(_ nonces: NonceSource) -> AssetPath {
        AssetPath(record: path.record, number: path.number, nonce: nonces.hex(8), kind: path.kind)
    }

    private func open() throws -> (file: DurableFile, folder: CloudFolder, zone: ZoneFolder) {
        switch state {
        case .untouched:
            return try StaleHandle.reopening { () throws in
                let zone = try zone()
                let folder = try zone.files.folder(path.record, in: try zone.subfolder(CloudNames.assets))
                let file = try zone.files.newFile(in: folder, at: folder.place(path.fileName))
                state = .open(file, in: folder, of: zone)
                return (file, folder, zone)
            }
        case .open(let file, let folder, let zone):
            return (file, folder, zone)
        case .ended:
            throw CloudError(.invalidArguments, at: path.path, "the asset is finished or was abandoned")
        }
    }
}
