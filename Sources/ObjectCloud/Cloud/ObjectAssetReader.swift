import CloudStore
import Foundation
import Platform
import Synchronization

/// Reads one asset of a bucket by byte ranges.
///
/// A read that continues where the last one ended prefetches, twice as much each time. An asset that is read from end to end thus takes few
/// requests, and reading single blocks fetches only their bytes. Ranges that were announced (``expect(_:)``) are prefetched. Memory: at most
/// ``windowLimit`` windows of ``windowBytes``, and ``aheadBytes``.
///
// SAFETY (@unchecked Sendable): the windows are used only under `condition`.
final class ObjectAssetReader: AssetReader, @unchecked Sendable {
    let byteCount: Int
    private let asset: CloudAsset
    private let path: AssetPath
    private let zone: ZoneID
    private let store: BucketStore
    private let condition = NSCondition()
    private var windows: [Window] = []
    /// The announced windows that are not requested yet, the last one first. A slice would keep what was taken out of it.
    private var planned: [Window] = []
    private var indexBytes: Data?

    /// The most bytes of one request.
    static let windowBytes = 4 << 20
    private static let windowLimit = 4
    /// The most bytes of announced windows that are in memory or requested, and not read yet.
    private static let aheadBytes = 12 << 20
    /// The bytes that are read when the asset is opened; a smaller asset is read completely.
    private static let firstBytes = 64 << 10

    /// A range that is in memory, or is being read.
    ///
    // SAFETY (@unchecked Sendable): its variables are used only under the reader's `condition`.
    private final class Window: @unchecked Sendable {
        let offset: Int
        let count: Int
        let isPlanned: Bool
        /// How many of the announced reads are still to come.
        var reads: Int
        var bytes: [UInt8]?
        var error: CloudError?

        init(offset: Int, count: Int, reads: Int) { (self.offset, self.count, self.reads, isPlanned) = (offset, count, reads, reads > 0) }

        var end: Int { offset + count }
        func covers(_ range: Range<Int>) -> Bool { offset <= range.lowerBound && range.upperBound <= end }
    }

    /// Opens the asset that a commit names. It must have the size that the commit states.
    init(_ asset: CloudAsset, in zone: ZoneID, of store: BucketStore) throws(CloudError) {
        guard let path = AssetPath(asset.path) else { throw .badAssetPath(in: zone) }
        self.asset = asset
        self.path = path
        (self.zone, self.store) = (zone, store)
        byteCount = asset.byteCount
    }

    /// Opens an asset, and reads its beginning and its index in parallel.
    static func open(_ asset: CloudAsset, in zone: ZoneID, of store: BucketStore) throws(CloudError) -> ObjectAssetReader {
        let reader = try ObjectAssetReader(asset, in: zone, of: store)
        // Ignore an error of the index: the caller gets it when it asks for the index.
        let beginning = BlockingThreads.run(asset.index == nil ? 0 : 1, { _ in _ = try? reader.index() }) {
            Result { () throws(CloudError) in try reader.readBeginning() }
        }
        try beginning.get()
        return reader
    }

    /// The object's path beneath the cloud.
    var place: String { "\(zone)/\(path.path)" }

    /// Whether the asset is in the same bucket, read by the same client.
    func isIn(_ other: BucketStore) -> Bool { store.client === other.client }

    private func readBeginning() throws(CloudError) {
        guard byteCount > 0 else { return }
        let first = Window(offset: 0, count: min(byteCount, Self.firstBytes), reads: 0)
        try fetch(first)
        condition.withLock { windows.insert(first, at: 0) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try verifyRange(of: buffer.count, at: offset, in: place)
        // Read more than one window can hold in several parts.
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

    /// Plans to fetch these ranges. Adjacent ranges are merged, several requests run in parallel, and at most ``aheadBytes`` are fetched
    /// ahead.
    func expect(_ ranges: [Range<Int>]) {
        var spans: [Window] = []
        let read = condition.withLock { windows.filter { $0.bytes != nil }.map { $0.offset..<$0.end } }
        for range in ranges where !range.isEmpty && range.count <= Self.windowBytes && range.upperBound <= byteCount {
            if read.contains(where: { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }) { continue }
            if let last = spans.last, last.end == range.lowerBound, range.upperBound - last.offset <= Self.windowBytes {
                spans[spans.count - 1] = Window(offset: last.offset, count: last.count + range.count, reads: last.reads + 1)
            } else {
                spans.append(Window(offset: range.lowerBound, count: range.count, reads: 1))
            }
        }
        condition.withLock { planned = spans.reversed() }
    }

    /// Returns a window that contains the range, read by this thread or another.
    private func window(covering range: Range<Int>) throws(CloudError) -> Window {
        condition.lock()
        while true {
            begin(ahead: range)
            guard let found = windows.first(where: { $0.covers(range) }) else { break }
            if found.bytes != nil {
                found.reads -= 1
                condition.unlock()
                return found
            }
            guard found.error == nil else { break }
            condition.wait()
        }
        let before = windows.last { $0.offset < range.lowerBound && range.lowerBound <= $0.end && $0.reads <= 0 }
        let wanted = before.map { max(range.count, min(2 * $0.count, Self.windowBytes)) } ?? range.count
        let window = Window(offset: range.lowerBound, count: min(wanted, byteCount - range.lowerBound), reads: 0)
        windows.removeAll { $0.error != nil }
        if windows.count(where: { $0.reads <= 0 }) >= Self.windowLimit, let oldest = windows.firstIndex(where: { $0.bytes != nil && $0.reads <= 0 }) {
            windows.remove(at: oldest)
        }
        windows.append(window)
        condition.unlock()
        try read(window)
        return window
    }

    /// Starts to fetch the planned windows up to the one that contains the range, and further ones as the limits allow. Call it under
    /// `condition`.
    private func begin(ahead range: Range<Int>) {
        guard planned.contains(where: { $0.offset <= range.lowerBound }) || !planned.isEmpty && windows.contains(where: { $0.covers(range) }) else { return }
        // Drop the windows that were read as often as was announced.
        windows.removeAll { $0.isPlanned && $0.reads <= 0 && $0.bytes != nil && !$0.covers(range) }
        while let next = planned.last {
            let open = windows.filter(\.isPlanned)
            let isNeeded = next.offset <= range.lowerBound
            guard isNeeded || open.map(\.count).reduce(next.count, +) <= Self.aheadBytes && open.count(where: { $0.bytes == nil }) < ObjectClient.width
            else { return }
            planned.removeLast()
            windows.append(next)
            Thread.detachNewThread { [self] in try? read(next) }
        }
    }

    private func read(_ window: Window) throws(CloudError) {
        do throws(CloudError) { try fetch(window) } catch {
            condition.withLock {
                window.error = error
                condition.broadcast()
            }
            throw error
        }
    }

    private func fetch(_ window: Window) throws(CloudError) {
        guard let (bytes, size) = try store.client.get(place, offset: window.offset, count: window.count) else { throw .objectPending(place) }
        guard size == byteCount, bytes.count == window.count else { throw .otherSize(size, insteadOf: byteCount, at: place) }
        condition.withLock {
            window.bytes = bytes
            condition.broadcast()
        }
    }

    func index() throws -> Data? {
        guard asset.index != nil else { return nil }
        if let known = condition.withLock({ indexBytes }) { return known }
        guard let index = try store.index(of: asset, at: "\(zone)/\(path.indexPath)") else { return nil }
        condition.withLock { indexBytes = index }
        return index
    }
}
