import SnapshotModel

/// Finds out, from the log entries in their order, whether the key of an insert was there before.
///
/// Before an insert, a trigger logs the row already stored under the key (kind 3). An insert that is ignored leaves that entry behind.
/// Memory: the last few such entries; where more were left behind, nothing is certain any longer.
struct InsertOriginClassifier {
    private static let limit = 64

    /// Whether the dataset's triggers log the row already stored under a key: they do where it has a timestamp.
    private let isNoted: Bool
    private var keys: [EntityKey?] = []
    private var isCertain = true

    init(isNoted: Bool) { self.isNoted = isNoted }

    /// Takes an entry of kind 3.
    mutating func add(_ key: EntityKey?) {
        guard isCertain, isNoted else { return }
        keys.append(key)
        if keys.count > Self.limit || key == nil { (keys, isCertain) = ([], false) }
    }

    /// Whether the version has the entity, as far as its first log entry says.
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
