import CloudStore
import CommitLog
import StrictText
import Synchronization

/// A store of objects as another package writes it, which sees public declarations alone: the manifest takes the access to others from this target.
/// With ``ObjectStoreCloud`` it is a whole backend.
final class Shelf: ObjectStore {
    private let items = Mutex<[String: (bytes: [UInt8], stored: Instant)]>([:])

    let place = "a shelf"
    var clock: Instant { .now }

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? {
        guard let bytes = items.withLock({ $0[path]?.bytes }) else { return nil }
        guard bytes.count <= limit else { throw CloudError(.limitExceeded, at: path, "\(bytes.count) bytes, of which at most \(limit) are read") }
        return bytes
    }

    func size(of path: String) -> Int? { items.withLock { $0[path]?.bytes.count } }

    func list(_ prefix: String, first: Int?) -> [StoredObject] {
        let found = items.withLock { items in
            items.filter { $0.key.hasPrefix(prefix) }.map { StoredObject(path: $0.key, byteCount: $0.value.bytes.count, modified: $0.value.stored) }
        }.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        return first.map { Array(found.prefix($0)) } ?? found
    }

    func put(_ bytes: [UInt8], as path: String) -> Placement {
        items.withLock { items in
            if let there = items[path] { return there.bytes == bytes ? .wasThere : .taken }
            items[path] = (bytes, .now)
            return .placed
        }
    }

    func remove(_ paths: [String]) { items.withLock { items in for path in paths { items[path] = nil } } }

    /// Changes an object behind the cloud's back; nil is one that is not there.
    func damage(_ path: String, _ change: (inout [UInt8]?) -> Void) {
        items.withLock { items in
            var bytes = items[path]?.bytes
            change(&bytes)
            items[path] = bytes.map { ($0, .now) }
        }
    }
}
