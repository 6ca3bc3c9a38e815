package import SnapshotModel
package import StrictText

/// A run of consecutive entities of a snapshot asset with the same instant, such as those that one statement changed in a whole table.
package struct InstantRun: Hashable, Sendable {
    package let first: EntityKey
    /// The key of the last entity, which differs from the first.
    package let last: EntityKey
    /// The instant; nil if each entity's own timestamp is.
    package let at: Instant?

    package init(first: EntityKey, last: EntityKey, at: Instant?) { (self.first, self.last, self.at) = (first, last, at) }
}

/// Joins consecutive entities with equal instants into runs.
///
///     var joiner = InstantRunJoiner(.row)
///     try forEachEntity { joiner.append($0, $1, into: &tail) }     // every entity, in key order
///     joiner.finish(into: &tail)
///
/// Memory: two keys.
package struct InstantRunJoiner {
    /// What a list says of an entity.
    package enum Entry: Hashable, Sendable {
        /// Nothing.
        case none
        /// An instant; nil for the entity's own timestamp.
        case at(Instant?)
    }

    private let part: InstantPart
    private var open: (first: EntityKey, last: EntityKey?, at: Instant?)?

    /// Makes the runs of one list.
    package init(_ part: InstantPart) { self.part = part }

    /// Takes the next entity.
    package mutating func append(_ key: EntityKey, _ entry: Entry, into tail: inout SnapshotTailBuilder) {
        if let run = open, entry == .at(run.at) {
            open?.last = key
            return
        }
        finish(into: &tail)
        if case .at(let instant) = entry { open = (key, nil, instant) }
    }

    /// Ends the last run.
    package mutating func finish(into tail: inout SnapshotTailBuilder) {
        guard let run = open else { return }
        open = nil
        if let last = run.last {
            tail.add(part, of: InstantRun(first: run.first, last: last, at: run.at))
        } else {
            tail.add(part, run.at, of: run.first)
        }
    }
}
