import SnapshotModel

/// Tells, from the triggers' notes in their order, whether a key that was put in was there before.
///
/// A statement that puts a key in notes first what it finds under it (kind 3); a statement that is ignored leaves that note
/// behind. Memory: the last few such notes; where more were left behind, nothing is certain any longer.
struct InsertOriginClassifier {
    private static let limit = 64

    /// Whether the dataset's triggers note what is found under a key: they do where it has a timestamp.
    private let isNoted: Bool
    private var keys: [EntityKey?] = []
    private var isCertain = true

    init(isNoted: Bool) { self.isNoted = isNoted }

    /// Takes a note of kind 3.
    mutating func add(_ key: EntityKey?) {
        guard isCertain, isNoted else { return }
        keys.append(key)
        if keys.count > Self.limit || key == nil { (keys, isCertain) = ([], false) }
    }

    /// Whether the version has the entity that a note is the first of, as far as the note tells.
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
