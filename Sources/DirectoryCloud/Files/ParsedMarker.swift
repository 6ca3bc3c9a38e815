import CloudStore
import Synchronization

/// The content of the marker that was read last. Every operation reads `cloud.json` and `zone.json` again; the same bytes are parsed once.
final class ParsedMarker<Content: Sendable>: Sendable {
    private struct Entry {
        let path: String
        let bytes: [UInt8]
        let content: Content
    }

    private let last = Mutex<Entry?>(nil)

    /// Returns the content of `bytes`, which were read at `path`.
    func content(of bytes: [UInt8], at path: String, parse: ([UInt8]) throws(CloudError) -> Content) throws(CloudError) -> Content {
        if let known = last.withLock({ $0 }), known.bytes == bytes, known.path == path { return known.content }
        let content = try parse(bytes)
        last.withLock { $0 = Entry(path: path, bytes: bytes, content: content) }
        return content
    }
}
