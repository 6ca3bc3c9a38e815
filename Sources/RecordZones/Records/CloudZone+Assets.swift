public import CloudStore
public import Foundation

extension CloudZone {
    /// Stores bytes as an asset of a record. Save the asset in a field afterwards.
    ///
    ///     food.fields["photo"] = .asset(try await zone.upload(jpeg, for: "food-7"))
    ///     try await zone.save(food)
    ///
    /// - Throws: ``CloudError`` with `.limitExceeded` beyond the cloud's limit, `.quotaExceeded` on a full disk.
    public func upload(_ content: Data, for record: String) async throws -> CloudAsset {
        let number = try await refreshed().nextNumber
        let writer = try await cloud.newAsset(for: record, number: number, kind: .snapshot, in: id)
        // SAFETY: the buffer is used only within the closure.
        try content.withUnsafeBytes { try writer.write($0) }
        return try writer.finish(rawByteCount: content.count)
    }

    /// Returns an asset's content after checking its size and hash.
    ///
    /// - Parameter limit: the largest asset to load into memory, in bytes.
    /// - Throws: ``CloudError`` with `.pending`, `.damaged`, or `.limitExceeded`.
    public func content(of asset: CloudAsset, limit: Int = 250_000_000) async throws -> Data {
        guard asset.byteCount <= limit else {
            throw CloudError(
                .limitExceeded, at: id.place, "the asset has \(asset.byteCount) bytes, \(limit) are taken into memory",
                hint: "copy it to a file")
        }
        var content = Data(capacity: asset.byteCount)
        try await read(asset) { content.append(contentsOf: $0) }
        return content
    }

    /// Copies an asset to a new file and checks its size and hash. If anything fails, no file is left.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if the file exists, and as ``content(of:limit:)``.
    public func copy(_ asset: CloudAsset, to file: URL) async throws {
        guard !FileManager.default.fileExists(atPath: file.path) else {
            throw CloudError(.invalidArguments, at: file.path, "there is a file of that name already", hint: "choose another name")
        }
        let partial = file.deletingLastPathComponent().appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)")
        do {
            guard FileManager.default.createFile(atPath: partial.path, contents: nil) else {
                throw CloudError(.permissionFailure, at: file.path, "the file cannot be made", hint: "check the directory and the right to write there")
            }
            let handle = try FileHandle(forWritingTo: partial)
            do {
                try await read(asset) { try handle.write(contentsOf: $0) }
                try handle.synchronize()
            } catch {
                try? handle.close()
                throw error
            }
            try handle.close()
            try FileManager.default.moveItem(at: partial, to: file)
        } catch {
            try? FileManager.default.removeItem(at: partial)
            throw error
        }
    }

    /// Passes an asset's bytes to `body` in pieces. Verifies the size and the hash after the last piece.
    private func read(_ asset: CloudAsset, _ body: (ArraySlice<UInt8>) throws -> Void) async throws {
        let reader = try await cloud.openAsset(asset, in: id)
        var hash = ContentHash(), offset = 0
        var piece = [UInt8](repeating: 0, count: min(1 << 18, reader.byteCount))
        while offset < reader.byteCount {
            let count = min(piece.count, reader.byteCount - offset)
            // SAFETY: the buffers are used only within the closures.
            try piece[..<count].withUnsafeMutableBytes { try reader.read(into: $0, at: offset) }
            piece[..<count].withUnsafeBytes { hash.update($0) }
            try body(piece[..<count])
            offset += count
        }
        guard offset == asset.byteCount, hash.hex == asset.sha256 else {
            throw CloudError(.damaged, at: "\(id)/\(asset.path)", "the asset does not match its hash", hint: CloudError.damageHint)
        }
    }
}
