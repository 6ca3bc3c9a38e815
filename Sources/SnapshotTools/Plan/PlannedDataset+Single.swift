import LocalStore
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

extension PlannedDataset {
    /// Plans a first import by the policy `single`: the two sides are merged as usual, and of the remaining entities one stays.
    ///
    /// The losing entities are removed on every side that has them, so an entity can be listed twice. Memory: the states of both sides, as in
    /// the import itself.
    func planSingle(_ version: DatasetVersion) throws -> SyncPlan.Dataset {
        try loadTombstonesAndInstants(of: version)
        let here = EntityStates(schema: schema), there = EntityStates(schema: schema)
        try transaction.rows.giveRows(of: schema, to: here)
        try version.read(Array(version.runs().indices)) { try $0.give(to: there) }
        let changes = Dictionary(
            try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil)).map { ($0.key, $0) },
            uniquingKeysWith: { first, _ in first })
        let keys = Set(here.states.keys).union(there.states.keys).sorted()

        var tally = Tally()
        var left: [SinglePolicy.Candidate] = []
        for key in keys {
            let local = here.states[key], remote = there.states[key]
            let winner = try changes[key].flatMap { try wins($0, over: remote) ? $0 : nil }
            if changes[key] != nil, local?.hash != remote?.hash, try remote != nil || transaction.tombstonesAndInstants.tombstone(of: key, in: schema) != nil {
                tally.conflicts += 1
            }
            guard let state = winner == nil ? remote : local else { continue }
            let instant = try winner?.instant ?? transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? state.timestamp ?? .distantPast
            left.append(SinglePolicy.Candidate(key: key, instant: instant, state: state))
        }
        guard left.count > 1, let last = left.max(by: { $1.wins(over: $0) }) else { return try plan(version, isHere: false, isComplete: false) }
        let candidates = Dictionary(left.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for key in keys {
            let isLast = key == last.key, local = here.states[key]?.hash, remote = there.states[key]?.hash
            let reason = isLast ? "only one may be left, and this one stays" : Self.reason(candidates[key], against: last)
            for (before, localWins) in [(local, false), (remote, true)] where before != (isLast ? last.state.hash : nil) {
                add(key, before == nil ? "added" : isLast ? "changed" : "removed", localWins: localWins, reason, &tally)
            }
        }
        return tally.dataset(schema.name)
    }

    /// The reason why an entity does not stay, as a sentence.
    private static func reason(_ loser: SinglePolicy.Candidate?, against last: SinglePolicy.Candidate) -> String {
        guard let loser else { return "it was deleted on the other side" }
        let advantage =
            last.instant != loser.instant
            ? "is later" : last.state.filledCount != loser.state.filledCount ? "is as late and has more filled in" : "is as late and has the greater hash"
        return "only one may be left, and \(last.key) \(advantage)"
    }
}
