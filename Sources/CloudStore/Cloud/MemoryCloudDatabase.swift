public import StrictText
import Synchronization

/// A cloud in this process's memory: for tests and previews.
///
///     let cloud = MemoryCloudDatabase(container: "iCloud.org.example.app")
///
/// Several devices of the process may share it. Nothing outlives the process.
// SAFETY (@unchecked Sendable): as its superclass.
public final class MemoryCloudDatabase: CloudDatabase, @unchecked Sendable {
    /// Makes an empty cloud.
    ///
    /// - Parameter now: the cloud's own clock. A publisher's clock is checked against it.
    public convenience init(container: String = "iCloud.org.example.memory", now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(container: container, now: now, nonces: .system)
    }

    /// Makes an empty cloud with a given source of random names.
    package init(container: String, now: @escaping @Sendable () -> Instant, nonces: NonceSource) {
        let identity = CloudIdentity(formatVersion: CloudMarker.formatVersion, uuid: nonces.uuid(), container: container)
        super.init(MemoryStore(now: now), found: identity, nonces: nonces, isSharedByDevices: true)
    }

    /// Changes the bytes of an object, named by its path beneath the zone; nil is one that is not there. For tests.
    package func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) {
        (store as? MemoryStore)?.change("\(zone)/\(path)", change)
    }

    /// Changes the bytes of a commit. For tests.
    package func damageCommit(_ number: Int, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) {
        damage("\(CloudNames.commits)/\(CloudNames.digits(number)).json", in: zone, change)
    }
}

/// A store of objects in this process's memory.
final class MemoryStore: ObjectStore {
    let place = "memory"
    private let now: @Sendable () -> Instant
    private let objects = Mutex<[String: (bytes: [UInt8], stored: Instant)]>([:])

    init(now: @escaping @Sendable () -> Instant) { self.now = now }

    func clock(in zone: ZoneID) -> Instant { now() }

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? {
        guard let bytes = objects.withLock({ $0[path]?.bytes }) else { return nil }
        guard bytes.count <= limit else { throw CloudError(.limitExceeded, at: path, "\(bytes.count) bytes, of which at most \(limit) are read") }
        return bytes
    }

    func size(of path: String) -> Int? { objects.withLock { $0[path]?.bytes.count } }

    func list(_ prefix: String, first: Int?) -> [StoredObject] {
        let found = objects.withLock { objects in
            objects.filter { $0.key.exact.hasPrefix(prefix) }.map { StoredObject(path: $0.key, byteCount: $0.value.bytes.count, modified: $0.value.stored) }
        }
        return Array(found.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }.prefix(first ?? .max))
    }

    func put(_ bytes: [UInt8], as path: String) -> Placement {
        let now = now()
        return objects.withLock { objects in
            if let found = objects[path] { return found.bytes == bytes ? .wasThere : .taken }
            objects[path] = (bytes, now)
            return .placed
        }
    }

    func remove(_ paths: [String]) { objects.withLock { objects in for path in paths { objects[path] = nil } } }

    /// Changes an object's bytes as pruning, a failing disk or a slow sync tool does; nil is an object that is not there.
    func change(_ path: String, _ change: (inout [UInt8]?) -> Void) {
        let now = now()
        objects.withLock { objects in
            var bytes = objects[path]?.bytes
            change(&bytes)
            objects[path] = bytes.map { ($0, objects[path]?.stored ?? now) }
        }
    }
}
