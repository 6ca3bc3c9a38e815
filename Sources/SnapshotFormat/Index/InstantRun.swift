package import SnapshotModel
package import StrictText

/// A run of consecutive entities of a snapshot asset with the same instant, such as those that one statement changed in a whole table.
package struct InstantRun: Hashable, Sendable {
    /// The key of the first entity.
    package let first: EntityKey
    /// The key of the last entity, which differs from the first.
    package let last: EntityKey
    package let at: Instant
}

/// Joins consecutive entities with equal instants into runs.
///
///     var joiner = InstantRunJoiner()
///     try forEachEntity { joiner.take($0, at: $1, into: &tail) }     // every entity, in key order
///     joiner.finish(into: &tail)
///
/// Memory: two keys.
package struct InstantRunJoiner {
    private var open: (first: EntityKey, last: EntityKey?, at: Instant)?

    package init() {}

    /// Takes the next entity, with its instant if that differs from its own timestamp.
    package mutating func take(_ key: EntityKey, at instant: Instant?, into tail: inout SnapshotTailBuilder) {
        if let run = open, run.at == instant {
            open?.last = key
            return
        }
        finish(into: &tail)
        if let instant { open = (key, nil, instant) }
    }

    /// Ends the last run.
    package mutating func finish(into tail: inout SnapshotTailBuilder) {
        guard let run = open else { return }
        open = nil
        if let last = run.last { tail.addInstant(of: InstantRun(first: run.first, last: last, at: run.at)) } else { tail.addInstant(run.at, of: run.first) }
    }
}
