import SnapshotModel

/// Finds out, from the log entries in order, whether the version has the key of an insert.
///
/// Before an insert, a trigger logs the row already stored under the key (kind 3). If SQLite then ignores the insert, that entry stays without a
/// successor. Memory: the last 64 such entries. If there are more, every later answer for an insert is "unknown".
struct InsertOriginClassifier {
    private static let limit = 64

    /// Whether the dataset's triggers log the row already stored under a key (``ChangeTriggers/notesOverwritten(_:)``).
    private let isNoted: Bool
    private var keys: [EntityKey?] = []
    private var isCertain = true

    init(isNoted: Bool) { self.isNoted = isNoted }

    /// Processes an entry of kind 3.
    mutating func add(_ key: EntityKey?) {
        guard isCertain, isNoted else { return }
        keys.append(key)
        if keys.count > Self.limit || key == nil { (keys, isCertain) = ([], false) }
    }

    /// Whether the version has the entity, according to its first log entry.
    mutating func origin(of key: EntityKey?, kind: Int64) -> TrackedOrigin {
        let position = keys.lastIndex(of: key)
        if let position { keys.remove(at: position) }
        switch kind {
        case 2: return key == nil || !isNoted || !isCertain ? .unknown : position == nil ? .new : .inVersion
        case 4: return .unknown
        default: return .inVersion
        }
    }
}
