import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Computes what a sync would do with one dataset. It runs the import's own rules in a transaction that is rolled back.
struct PlannedDataset {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let database: LocalDatabase
    /// Whether this device publishes local changes that win; if not, they stay on this device.
    let publishes: Bool
    /// Whether what the version has counts, whatever the instants: at a first import with the policy `replace`.
    let cloudWins: Bool
    /// The maximum number of listed items.
    let limit: Int
    /// Gets the keys of the rows that would be removed here; nil if nobody asks.
    var removals: RowRemovals?

    /// The result so far.
    struct Tally {
        var local = SyncPlan.Counts()
        var cloud = SyncPlan.Counts()
        var kept = SyncPlan.Counts()
        var conflicts = 0
        var items: [SyncPlan.Item] = []

        func dataset(_ name: String) -> SyncPlan.Dataset {
            SyncPlan.Dataset(name: name, local: local, cloud: cloud, kept: kept, conflicts: conflicts, items: items)
        }
    }

    /// Compares the rows with a version that is not applied yet or, with `isHere`, with the applied version.
    func plan(_ version: DatasetVersion, isHere: Bool, isComplete: Bool) throws -> SyncPlan.Dataset {
        if !isHere { try loadTombstonesAndInstants(of: version) }
        let rows = transaction.rows.ranges(of: schema)
        var tally = Tally()
        try version.compare(runs(of: version, isHere: isHere, isComplete: isComplete), with: rows) { run in
            try compare(run, in: version.range(of: run.run), isHere: isHere, &tally)
        }
        return tally.dataset(schema.name)
    }

    /// The plan for the first export of the dataset.
    func planFirstExport() throws -> SyncPlan.Dataset {
        var keys: [EntityKey] = [], count = 0
        let sink = RowSink { values in
            count += 1
            if keys.count < limit, let key = schema.key(of: values) { keys.append(key) }
        }
        try transaction.rows.ranges(of: schema).read(KeyRange(number: 0, first: nil, next: nil), into: sink)
        let cloud = SyncPlan.Counts(added: publishes ? count : 0)
        let items =
            publishes
            ? keys.map { key in
                SyncPlan.Item(side: "cloud", change: "added", key: ReportedKey(key), wins: "local", reason: "the location has no such dataset yet")
            }
            : []
        return SyncPlan.Dataset(name: schema.name, local: SyncPlan.Counts(), cloud: cloud, kept: SyncPlan.Counts(), conflicts: 0, items: items)
    }

    /// The runs in which rows and version can differ: those with tracked changes, if the tracked changes are known to be complete; otherwise
    /// those whose hashes differ.
    private func runs(of version: DatasetVersion, isHere: Bool, isComplete: Bool) throws -> [Int] {
        if isHere, isComplete {
            return try version.runs().indices.filter { try !transaction.changeLog.changes(of: schema, in: version.range(of: $0)).isEmpty }
        }
        let session = try ReadSession(alongside: database, readers: WorkerThreads.count)
        defer { session.end() }
        return try version.differingRuns(from: session, of: schema)
    }

    /// Stores the version's tombstones and instants in the tables in which the merge rules look them up.
    func loadTombstonesAndInstants(of version: DatasetVersion) throws {
        let latest = version.fields.syncTimestamp, tail = try StoredTail(schema, in: transaction, notAfter: latest)
        try version.readTail(tail.visitor)
        try tail.finish(notAfter: latest)
    }

    private func compare(_ run: DatasetVersion.Comparison, in range: KeyRange, isHere: Bool, _ tally: inout Tally) throws {
        let changes = Dictionary(try transaction.changeLog.changes(of: schema, in: range).map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for key in run.differingKeys {
            let there = run.version[key], local = run.rows[key]
            if let change = changes[key] {
                // A row that the version holds, and that nobody has edited.
                if isHere, !publishes, change.isCarried { continue }
                let wins = try wins(change, over: there)
                // With the applied version there are no conflicts: a local change was made after it.
                let isKnownThere = try there != nil || transaction.tombstonesAndInstants.tombstone(of: key, in: schema) != nil
                if !isHere, isKnownThere { tally.conflicts += 1 }
                add(
                    key, hadHere: local != nil, hadThere: there != nil, localWins: wins,
                    reason: cloudWins && isKnownThere ? "at the first import the location's counts" : try reason(change, there, isHere: isHere), to: &tally)
                if wins, !isHere, local != nil, let there, try takes(there, beside: change) {
                    add(key, "changed", localWins: false, reason: "other columns are later in the location", to: &tally)
                }
            } else {
                let isOurs = isHere && publishes
                add(
                    key, hadHere: local != nil, hadThere: there != nil, localWins: isOurs,
                    reason: isOurs ? "changed without a note of it" : "as the newest version has it", to: &tally)
            }
        }
    }

    /// Whether a change, or a part of it, wins over what the version has.
    func wins(_ change: TrackedChange, over there: EntityState?) throws -> Bool {
        guard let there else {
            return try transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema).map { !cloudWins && change.instant > $0 } ?? true
        }
        guard !cloudWins else { return false }
        let instants = try transaction.tombstonesAndInstants.instants(of: change.key, in: schema)
        guard !change.isDeletion, change.isInVersion != false, case .some(let columns) = change.columns else {
            return change.instant > instants.latest(own: there.timestamp)
        }
        return columns.contains { $1 > instants.instant(of: schema.columns[$0].name.exact, own: there.timestamp) }
    }

    /// Whether an edit that wins in part also takes columns of the version.
    private func takes(_ there: EntityState, beside change: TrackedChange) throws -> Bool {
        guard !change.isDeletion, change.isInVersion != false, let seen = change.base, case .some(let columns) = change.columns else { return false }
        let instants = try transaction.tombstonesAndInstants.instants(of: change.key, in: schema)
        return schema.columns.indices.contains { instants.instant(of: schema.columns[$0].name.exact, own: there.timestamp) > columns[$0] ?? seen }
    }

    private func add(_ key: EntityKey, hadHere: Bool, hadThere: Bool, localWins: Bool, reason: String, to tally: inout Tally) {
        let (gains, loses) = localWins ? (!hadThere, !hadHere) : (!hadHere, !hadThere)
        add(key, gains ? "added" : loses ? "removed" : "changed", localWins: localWins, reason: reason, to: &tally)
    }

    /// Counts the change on the losing side, and lists it while the limit permits.
    func add(_ key: EntityKey, _ change: String, localWins: Bool, reason: String, to tally: inout Tally) {
        let side: WritableKeyPath<Tally, SyncPlan.Counts> = !localWins ? \.local : publishes ? \.cloud : \.kept
        tally[keyPath: side].count(change)
        if !localWins, change == "removed" { removals?.record(key, of: schema) }
        guard tally.items.count < limit else { return }
        let name = !localWins ? "local" : publishes ? "cloud" : "kept"
        tally.items.append(SyncPlan.Item(side: name, change: change, key: ReportedKey(key), wins: localWins ? "local" : "cloud", reason: reason))
    }

    /// The reason why the change wins or loses, as a sentence.
    private func reason(_ change: TrackedChange, _ there: EntityState?, isHere: Bool) throws -> String {
        let what = change.isDeletion ? "deleted here" : "changed here"
        if isHere { return "\(what) since" }
        guard let there else {
            guard let deleted = try transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema) else {
                return "\(what), and unknown to the location"
            }
            return change.instant > deleted
                ? "\(what) at \(change.instant), after its deletion at \(deleted)"
                : "deleted in the location at \(deleted), not before the change here at \(change.instant)"
        }
        let instant = try transaction.tombstonesAndInstants.instants(of: change.key, in: schema).latest(own: there.timestamp)
        guard change.instant == instant else {
            let seen = instant == .distantPast ? "an unknown time" : "\(instant)"
            return change.instant > instant ? "\(what) at \(change.instant), later than \(seen)" : "\(what) at \(change.instant), the location's is of \(seen)"
        }
        return "at the same instant the published one stays"
    }
}

extension SyncPlan.Counts {
    fileprivate mutating func count(_ change: String) {
        switch change {
        case "added": added += 1
        case "removed": removed += 1
        default: changed += 1
        }
    }
}

extension PlannedDataset {
    /// Plans a first import by the policy `single`: the two sides are merged as usual, and of the remaining entities one stays.
    ///
    /// The losing entities are removed on every side that has them, so an entity can be listed twice. Memory: the states of both sides, as in
    /// the import itself.
    func planSingle(_ version: DatasetVersion) throws -> SyncPlan.Dataset {
        try loadTombstonesAndInstants(of: version)
        let here = EntityStates(schema: schema), there = EntityStates(schema: schema)
        try transaction.rows.sendRows(of: schema, to: here)
        try version.read(Array(version.runs().indices)) { try $0.send(to: there) }
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
                add(key, before == nil ? "added" : isLast ? "changed" : "removed", localWins: localWins, reason: reason, to: &tally)
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
