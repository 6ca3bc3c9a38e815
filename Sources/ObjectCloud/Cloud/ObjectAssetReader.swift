import CloudStore
import Foundation

/// Reads one asset of a bucket by byte ranges.
///
/// A read that begins where the last one ended fetches ahead, twice as far each time, so that an asset that is read from end to end takes
/// few requests, and blocks here and there take no more than their bytes. Memory: ``windowLimit`` windows of ``windowBytes`` at most.
///
// SAFETY (@unchecked Sendable): the windows are used under `condition` alone.
final class ObjectAssetReader: AssetReader, @unchecked Sendable {
    let byteCount: Int
    private let asset: CloudAsset
    private let path: AssetPath
    private let zone: ObjectZone
    private let condition = NSCondition()
    private var windows: [Window] = []

    /// The most bytes of one request.
    static let windowBytes = 4 << 20
    private static let windowLimit = 4
    /// What is read when the asset is opened: all of a small one.
    private static let firstBytes = 64 << 10

    /// A range that was read, or is being read.
    private final class Window {
        let offset: Int
        let count: Int
        var bytes: [UInt8]?
        var error: CloudError?

        init(offset: Int, count: Int) { (self.offset, self.count) = (offset, count) }

        var end: Int { offset + count }
        func covers(_ range: Range<Int>) -> Bool { offset <= range.lowerBound && range.upperBound <= end }
    }

    /// Opens the asset that a commit names, in the size that it says.
    init(_ asset: CloudAsset, in zone: ObjectZone) throws(CloudError) {
        guard let path = AssetPath(asset.path) else {
            throw CloudError(
                .damaged, at: "\(zone.history.zone)", "an asset's path is not one of an asset; nothing was opened",
                hint: "do not trust this commit; run snapsync doctor")
        }
        self.asset = asset
        self.path = path
        self.zone = zone
        byteCount = asset.byteCount
        guard byteCount > 0 else { return }
        let first = Window(offset: 0, count: min(byteCount, Self.firstBytes))
        try fetch(first)
        windows = [first]
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        guard offset >= 0, offset <= byteCount, buffer.count <= byteCount - offset else {
            throw CloudError(.damaged, at: zone.path(path.path), "bytes beyond the end were asked for: the index or the file is damaged")
        }
        // More than one window holds: in parts.
        var done = 0
        while done < buffer.count {
            let count = min(buffer.count - done, Self.windowBytes)
            let begin = offset + done
            let window = try window(covering: begin..<begin + count)
            // SAFETY: the window covers the range, and its bytes never change once they are there.
            window.bytes!.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: bytes[begin - window.offset..<begin - window.offset + count]))
            }
            done += count
        }
    }

    /// A window that holds the range, read by this thread or another.
    private func window(covering range: Range<Int>) throws(CloudError) -> Window {
        condition.lock()
        while let found = windows.first(where: { $0.covers(range) }) {
            if found.bytes != nil {
                condition.unlock()
                return found
            }
            guard found.error == nil else { break }
            condition.wait()
        }
        let before = windows.last { $0.offset < range.lowerBound && range.lowerBound <= $0.end }
        let wanted = before.map { max(range.count, min(2 * $0.count, Self.windowBytes)) } ?? range.count
        let window = Window(offset: range.lowerBound, count: min(wanted, byteCount - range.lowerBound))
        windows.removeAll { $0.error != nil }
        if windows.count >= Self.windowLimit, let oldest = windows.firstIndex(where: { $0.bytes != nil }) { windows.remove(at: oldest) }
        windows.append(window)
        condition.unlock()

        do throws(CloudError) { try fetch(window) } catch {
            condition.withLock {
                window.error = error
                condition.broadcast()
            }
            throw error
        }
        return window
    }

    private func fetch(_ window: Window) throws(CloudError) {
        let place = zone.path(path.path)
        guard let (bytes, size) = try zone.client.get(place, offset: window.offset, count: window.count) else { throw Self.pending(place) }
        guard size == byteCount, bytes.count == window.count else {
            throw CloudError(
                .damaged, at: place, "\(size) bytes long, the commit says \(byteCount)",
                hint: "if a tool is copying objects, wait for it; else bring the object back from a copy", isRetryable: true)
        }
        condition.withLock {
            window.bytes = bytes
            condition.broadcast()
        }
    }

    func index() throws -> Data? {
        guard let named = asset.index else { return nil }
        let place = zone.path(path.indexPath)
        guard let bytes = try zone.client.get(place, limit: CloudRecord.indexByteLimit) else { throw Self.pending(place) }
        try named.verify(bytes, at: place)
        return Data(bytes)
    }

    private static func pending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the object has not arrived yet", hint: "wait for the tool that copies objects, then try again", isRetryable: true)
    }
}
