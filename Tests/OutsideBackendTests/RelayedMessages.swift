import CloudStore
import StrictText

/// A store whose messages take another way than its other objects: here a second list in memory, elsewhere a queue of the application's server.
///
/// It is written as another package writes it, with public declarations alone.
final class RelayedMessages: ObjectStore {
    private let shelf = Shelf(), relay = Shelf()
    let place = "a shelf and a relay"

    /// How many messages wait.
    var count: Int { relay.list("", first: nil).count }

    private func part(of path: String) -> Shelf { path.split(separator: "/").dropFirst(2).first == "messages" ? relay : shelf }

    func clock(in zone: ZoneID) -> Instant { .now }
    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? { try part(of: path).get(path, limit: limit) }
    func size(of path: String) -> Int? { part(of: path).size(of: path) }
    func list(_ prefix: String, first: Int?) -> [StoredObject] { part(of: prefix).list(prefix, first: first) }
    func put(_ bytes: [UInt8], as path: String) -> Placement { part(of: path).put(bytes, as: path) }
    func remove(_ paths: [String]) { for path in paths { part(of: path).remove([path]) } }
}
