package import SnapshotModel
package import StrictText

/// Consecutive entities of a snapshot asset that have one and the same instant: as many as a statement that wrote a whole table has changed.
package struct InstantRun: Hashable, Sendable {
    /// The key of the first entity.
    package let first: EntityKey
    /// The key of the last one, which is another one.
    package let last: EntityKey
    package let at: Instant
}

/// Joins the instants of consecutive entities into runs.
///
///     var joiner = InstantRunJoiner()
///     try forEachEntity { joiner.take($0, at: $1, into: &tail) }     // every entity, in key order
///     joiner.finish(into: &tail)
///
/// Memory: two keys.
package struct InstantRunJoiner {
    private var open: (first: EntityKey, last: EntityKey?, at: Instant)?

    package init() {}

    /// Takes the next entity, with its instant if that is not its own timestamp.
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
