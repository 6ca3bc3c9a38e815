import CloudStore
import Foundation
import Platform

/// Writes one asset of a directory cloud. The bytes go to a temporary file and are hashed meanwhile; index and asset get their names at the
/// end.
///
/// Nothing is written before the first byte: a writer without data must not wake a sync tool.
final class DirectoryAssetWriter: AssetWriter {
    private var path: AssetPath { draft.path }
    private let zone: ZoneID
    private let store: DirectoryStore
    private var state = State.untouched
    private var draft: AssetDraft

    private enum State {
        case untouched
        case open(DurableFile, in: CloudFolder)
        case ended
    }

    init(_ path: AssetPath, in zone: ZoneID, of store: DirectoryStore) { (draft, self.zone, self.store) = (AssetDraft(path), zone, store) }

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
        let (file, folder) = try open()
        state = .ended
        let sealed = try file.seal()
        // Refuse a directory that is no longer the one that was opened.
        _ = try store.opening { _, _ in }
        // Place the index first, so that an asset with its name always has its index.
        let named = try place(file, in: folder, with: store.files)
        try folder.synchronize()
        return CloudAsset(
            path: named.path, byteCount: sealed.byteCount, rawByteCount: rawByteCount, sha256: sealed.sha256,
            index: draft.index.map(CloudAssetIndex.init(of:)))
    }

    func abandon() {
        if case .open(let file, _) = state { file.abandon() }
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

    private func open() throws -> (file: DurableFile, folder: CloudFolder) {
        switch state {
        case .untouched:
            return try store.opening { store, _ in
                let (folder, name) = try store.folder(for: "\(zone)/\(path.path)")
                let file = try store.files.newFile(in: folder, at: folder.place(name))
                state = .open(file, in: folder)
                return (file, folder)
            }
        case .open(let file, let folder):
            return (file, folder)
        case .ended:
            throw CloudError(.invalidArguments, at: path.path, "the asset is finished or was abandoned")
        }
    }
}
