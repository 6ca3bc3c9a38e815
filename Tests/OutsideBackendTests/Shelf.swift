import CloudStore
import StrictText
import Synchronization

/// A store of objects as another package writes it, which sees public declarations alone: the manifest takes the access to others from this target.
/// With ``CloudDatabase`` it is a whole backend.
final class Shelf: ObjectStore {
    private let items = Mutex<[String: (bytes: [UInt8], stored: Instant)]>([:])

    /// How many requests the shelf takes at once. One that takes several also lists by folders and reads what has taken a path.
    let width: Int
    let place = "a shelf"

    init(width: Int = 1) { self.width = width }

    func clock(in zone: ZoneID) -> Instant { .now }

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

    func listFolder(_ folder: String) -> (objects: [StoredObject], folders: [String])? {
        guard width > 1 else { return nil }
        let listed = list(folder, first: nil), all = listed.map { $0.path.dropFirst(folder.count).split(separator: "/", maxSplits: 1) }
        return (zip(listed, all).filter { $1.count == 1 }.map(\.0), Set(all.filter { $0.count > 1 }.map { "\($0[0])/" }).sorted())
    }

    func put(_ bytes: [UInt8], as path: String) -> Placement {
        items.withLock { items in
            if let there = items[path] { return there.bytes == bytes ? .wasThere : .taken }
            items[path] = (bytes, .now)
            return .placed
        }
    }

    func remove(_ paths: [String]) { items.withLock { items in for path in paths { items[path] = nil } } }
}
