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
///     var joiner = InstantRunJoiner()
///     try forEachEntity { joiner.append($0, $1, into: &tail) }     // every entity, in key order
///     joiner.finish(into: &tail)
///
/// Memory: a key for each list.
package struct InstantRunJoiner {
    private var open: [InstantPart: (first: EntityKey, at: Instant?)] = [:]
    /// The last entity. Every open run ends with it.
    private var last: (key: EntityKey, entries: [(part: InstantPart, at: Instant?)])?

    package init() {}

    /// Takes the next entity, with its entries in the lists.
    package mutating func append(_ key: EntityKey, _ entries: [(part: InstantPart, at: Instant?)], into tail: inout SnapshotTailBuilder) {
        defer { last = (key, entries) }
        if let last, last.entries.elementsEqual(entries, by: { $0 == $1 }) { return }
        for (part, run) in open where !entries.contains(where: { $0 == (part, run.at) }) { end(part, into: &tail) }
        for (part, at) in entries where open[part] == nil { open[part] = (key, at) }
    }

    /// Ends all runs.
    package mutating func finish(into tail: inout SnapshotTailBuilder) {
        for part in Array(open.keys) { end(part, into: &tail) }
        last = nil
    }

    private mutating func end(_ part: InstantPart, into tail: inout SnapshotTailBuilder) {
        guard let run = open.removeValue(forKey: part), let last else { return }
        if run.first == last.key {
            tail.add(part, run.at, of: run.first)
        } else {
            tail.add(part, of: InstantRun(first: run.first, last: last.key, at: run.at))
        }
    }
}
