import SnapshotFormat
package import SnapshotModel
import StrictText

/// The entities that the tail of a snapshot asset names, for a check against those that the asset has.
///
///     var keys = try asset.checkTail()
///     for key in … { try keys.take(key) }      // every entity of the asset, in key order
///     try keys.finish()
package struct TailKeys {
    let place: String
    /// The entities with instants.
    var runs = TailRuns()
    /// The entities that are in no table.
    var held: Set<EntityKey> = []
    /// The deleted entities.
    var gone: Set<EntityKey> = []

    init(place: String) { self.place = place }

    /// Whether the tail names no entity, so that nothing has to be checked.
    package var isEmpty: Bool { runs.isEmpty && held.isEmpty && gone.isEmpty }

    /// Takes the asset's next entity.
    package mutating func take(_ key: EntityKey) throws {
        guard runs.take(key, { _, _, _ in }) else { throw SnapshotAsset.strayEntity(place) }
        guard !held.contains(key), !gone.contains(key) else { throw doubled(key) }
    }

    /// Ends the check after the asset's last entity.
    package func finish() throws {
        guard runs.isEmpty else { throw SnapshotAsset.strayEntity(place) }
        if let key = held.intersection(gone).first { throw doubled(key) }
    }

    private func doubled(_ key: EntityKey) -> SyncError {
        SyncError(
            .dataRefused, step: .verify, at: "tail of \(place)", "the entity \(key) is in two of: the entities, the held ones, the deleted ones",
            hint: SnapshotAsset.hint)
    }
}

/// Runs of several lists that are resolved together.
struct TailRuns {
    private(set) var lists: [(part: InstantPart, runs: ArraySlice<InstantRun>, isInside: Bool)] = []
    private(set) var count = 0
    /// The keys between which all runs lie; nil if there are none.
    private(set) var bounds: (first: EntityKey, last: EntityKey)?

    mutating func add(_ run: InstantRun, of part: InstantPart) {
        if lists.last?.part == part { lists[lists.count - 1].runs.append(run) } else { lists.append((part, [run], false)) }
        count += 1
        bounds = bounds.map { (min($0.first, run.first), max($0.last, run.last)) } ?? (run.first, run.last)
    }

    var isEmpty: Bool { lists.allSatisfy { $0.runs.isEmpty } }

    /// Takes the next key of the asset.
    ///
    /// - Returns: false if a run begins or ends with an entity that is not there.
    mutating func take(_ key: EntityKey, _ visit: (InstantPart, EntityKey, Instant?) throws -> Void) rethrows -> Bool {
        for number in lists.indices {
            guard let run = lists[number].runs.first else { continue }
            if !lists[number].isInside {
                if key < run.first { continue }
                guard key == run.first else { return false }
                lists[number].isInside = true
            }
            guard !(run.last < key) else { return false }
            try visit(lists[number].part, key, run.at)
            if key == run.last {
                lists[number].isInside = false
                lists[number].runs.removeFirst()
            }
        }
        return true
    }
}
