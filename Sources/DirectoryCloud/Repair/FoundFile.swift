package import CloudStore
import Platform

/// A plain file of a zone with any content, for repair, which looks for good bytes in damaged files and copies.
///
// SAFETY (@unchecked Sendable): everything is set once in init. The descriptor is closed only when the file is no longer referenced, and
// pread may be called from several threads at once.
package final class FoundFile: @unchecked Sendable {
    /// Relative to the zone.
    package let path: String
    package let byteCount: Int
    private let folder: CloudFolder
    private let descriptor: OpenDescriptor

    /// Opens the file at a path; nil if it does not exist or is not a plain file.
    init?(_ path: String, in zone: CloudFolder) throws(CloudError) {
        do throws(CloudError) {
            guard let (descriptor, status) = try zone.file(path) else { return nil }
            (self.path, byteCount, folder, self.descriptor) = (path, status.byteCount, zone, descriptor)
        } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
    }

    /// Returns `count` bytes from `offset` on; nil if the file ends before that.
    package func bytes(at offset: Int, count: Int) throws(CloudError) -> [UInt8]? {
        guard offset >= 0, count >= 0, offset <= byteCount, count <= byteCount - offset else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try folder.attempt(at: folder.place(path)) { () throws(SystemFault) in
            var span = bytes.mutableSpan
            // SAFETY: the buffer is used only within the closure.
            return try span.withUnsafeMutableBytes { buffer throws(SystemFault) in try folder.calls.readAll(descriptor.number, into: buffer, at: offset) }
        }
        return read == count ? bytes : nil
    }

    /// Returns all bytes; nil if there are more than `limit`, or the file is being truncated.
    package func bytes(limit: Int) throws(CloudError) -> [UInt8]? {
        byteCount <= limit ? try bytes(at: 0, count: byteCount) : nil
    }

    /// Whether the file has this size and SHA-256.
    package func isWhole(byteCount: Int, sha256: String) throws(CloudError) -> Bool {
        guard byteCount == self.byteCount else { return false }
        var hash = ContentHash()
        var offset = 0
        while offset < byteCount {
            guard let piece = try bytes(at: offset, count: min(1 << 20, byteCount - offset)) else { return false }
            piece.withUnsafeBytes { hash.update($0) }
            offset += piece.count
        }
        return hash.hex == sha256
    }
}
