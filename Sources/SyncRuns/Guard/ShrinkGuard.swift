import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Follows the number of entities of each record from commit to commit, and finds the records that lost more than half.
///
///     var guardian = ShrinkGuard()
///     for commit in recent { guardian.add(commit) }
///     let shrunk = guardian.unapproved
///
/// A record of 20 or more entities must not fall below half of its largest count in the last 16 commits, or since the last approval (`shrink:`
/// and the record's name, in a commit's approvals). Exceptions: the commit or a later one approves it, or a later commit has the entities again.
/// This is a plain value: it uses no files and no clock.
struct ShrinkGuard: Sendable, Hashable {
    /// A record that lost more than half of its entities.
    struct Shrinkage: Sendable, Hashable {
        let record: String
        /// The number of the commit in which the record shrank.
        let number: Int
        let count: Int
        /// The largest count before that commit.
        let largest: Int
    }

    /// The number of commits that the guard looks back.
    static let window = 16
    /// A record with a smaller count than this may shrink freely.
    static let smallest = 20

    private struct Count: Sendable, Hashable {
        let number: Int
        let value: Int
    }

    private var counts: [String: [Count]] = [:]
    private var shrunk: [String: Shrinkage] = [:]

    /// The shrinkages without approval, sorted by record name.
    var unapproved: [Shrinkage] { shrunk.values.sorted { $0.record < $1.record } }

    /// Takes the records of the checkpoint at which reading begins.
    mutating func begin(at records: [CloudRecord]) {
        for record in records { self.record(record.name, Self.count(record), at: Int(record.changeTag ?? "") ?? 0, isApproved: true) }
    }

    /// Takes the next commit.
    mutating func add(_ commit: Commit) {
        let number = commit.token.number
        let approved = Set(commit.approvals)
        for record in commit.saved {
            self.record(record.name, Self.count(record), at: number, isApproved: approved.contains(ShrinkApproval.text(ofRecord: record.name)))
        }
        for name in commit.deleted { record(name, 0, at: number, isApproved: approved.contains(ShrinkApproval.text(ofRecord: name))) }
    }

    /// Accepts the commits taken so far as the device's state. Shrinkages in them no longer count, and later counts are compared with the last
    /// one.
    mutating func accept() {
        for record in shrunk.keys { counts[record] = counts[record].map { Array($0.suffix(1)) } }
        shrunk = [:]
    }

    /// Judges a count as if the next commit had it; nil if the count is acceptable.
    func judge(_ count: Int, of record: String, number: Int) -> Shrinkage? {
        let largest = counts[record]?.filter { $0.number > number - 1 - Self.window }.map(\.value).max() ?? 0
        guard largest >= Self.smallest, count * 2 < largest else { return nil }
        return Shrinkage(record: record, number: number, count: count, largest: largest)
    }

    /// Returns the number of entities that a record states; nil if the record carries no dataset, or a number that no importer accepts.
    static func count(_ record: CloudRecord) -> Int? {
        guard case .integer(let number) = record.fields["recordCount"], let count = Int(exactly: number), (0...DatasetRecord.countLimit).contains(count) else {
            return nil
        }
        return count
    }

    private mutating func record(_ record: String, _ count: Int?, at number: Int, isApproved: Bool) {
        // A record without a dataset has no entities to lose.
        guard let count else { return }
        if isApproved {
            counts[record] = []
            shrunk[record] = nil
        } else if let known = shrunk[record] {
            if count * 2 >= known.largest { shrunk[record] = nil }
        } else if let shrinkage = judge(count, of: record, number: number) {
            shrunk[record] = shrinkage
        }
        counts[record, default: []].append(Count(number: number, value: count))
    }
}

/// The datasets that may become much smaller: what a person, or an application's own "clear all", has approved beforehand.
///
///     let report = try await engine.export(allowing: .datasets("notifications"))
public struct ShrinkApproval: Sendable, Hashable {
    private enum Extent: Sendable, Hashable {
        case named(Set<String>)
        case all
    }

    private let extent: Extent

    /// Approves no dataset; for unattended runs.
    public static let none = ShrinkApproval(extent: .named([]))
    /// Approves every dataset.
    public static let all = ShrinkApproval(extent: .all)

    /// Approves the datasets with these names.
    public static func datasets(_ names: String...) -> ShrinkApproval { datasets(names) }

    /// Approves the datasets with these names.
    public static func datasets(_ names: some Sequence<String>) -> ShrinkApproval { ShrinkApproval(extent: .named(Set(names))) }

    /// Whether the dataset with this name may shrink.
    public func covers(_ dataset: String) -> Bool {
        switch extent {
        case .all: true
        case .named(let names): names.contains(dataset)
        }
    }

    /// Returns the approved names that are not in `known`. They are probably misspelt.
    func unknownNames(among known: [String]) -> [String] {
        switch extent {
        case .all: []
        case .named(let names): names.subtracting(known).sorted()
        }
    }

    /// Returns the approval as a commit carries it: `shrink:notifications_data`.
    static func text(ofRecord name: String) -> String { "shrink:\(name)" }
}

/// Applies the ``ShrinkGuard``: for a publisher before its commit, for a reader before its import.
struct ShrinkCheck: Sendable {
    let context: SyncContext
    let allowed: ShrinkApproval

    /// Returns the approvals that a commit after `token` must carry for the entity counts that it is about to save.
    ///
    /// - Throws: ``SyncError`` with `.refused` for a dataset that shrinks without approval.
    func approvals(for counts: [(schema: DatasetSchema, count: Int)], after token: ChangeToken?) async throws -> [String] {
        try refuseUnknownNames()
        let before = try countsHere()
        // A dataset that lost nothing is no smaller than a version that the guard let pass, so older commits need not be read.
        guard let token, allowed != .none || counts.contains(where: { $0.count < before[$0.schema.recordName] ?? 0 }) else { return [] }
        let known = try await guardian(upTo: token)
        let shrunk = counts.compactMap { schema, count in
            known.judge(count, of: schema.recordName, number: token.number + 1).map { (schema: schema, shrinkage: $0) }
        }
        let refused = shrunk.filter { !allowed.covers($0.schema.name) }
        if let (first, shrinkage) = refused.first {
            let names = refused.map(\.schema.name).joined(separator: ",")
            let error = SyncError(
                .refused, step: .announce, at: "\(context.database.path), table \(first.table)",
                "it has \(shrinkage.count) of the \(shrinkage.largest) entities that dataset \(first.name) had; nothing was published",
                hint:
                    "if they were meant to go: snapsync sync --allow-shrink \(names); else bring them back first (snapsync show \(first.name) shows the last version)"
            )
            throw error.with(
                details: refused.dropFirst().map { schema, shrinkage in
                    "table \(schema.table): it has \(shrinkage.count) of the \(shrinkage.largest) entities that dataset \(schema.name) had"
                })
        }
        return shrunk.map { ShrinkApproval.text(ofRecord: $0.schema.recordName) }
    }

    /// Refuses commits that shrink a dataset of this device without approval. An approval in a later commit counts as well.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func verify(_ changes: ZoneChanges, after token: ChangeToken?) async throws {
        try refuseUnknownNames()
        // On a first visit the device has no applied version to lose. The first import decides about its own rows.
        guard let token, try hasLosses(changes) else { return }
        var known = changes.base.isEmpty ? try await guardian(upTo: token) : ShrinkGuard()
        known.accept()
        known.begin(at: changes.base)
        for commit in changes.commits { known.add(commit) }
        let refused = known.unapproved.compactMap { shrinkage in
            context.settings.datasets.first { $0.recordName == shrinkage.record && !allowed.covers($0.name) }.map { (name: $0.name, shrinkage: shrinkage) }
        }
        guard let (name, shrinkage) = refused.first else { return }
        let names = refused.map(\.name).joined(separator: ",")
        let error = SyncError(
            .refused, step: .verify, at: "\(name)@\(shrinkage.number)",
            "it has \(shrinkage.count) of the \(shrinkage.largest) entities that the dataset had, without approval; nothing was changed here",
            hint:
                "if that is meant, on the device that publishes: snapsync sync --allow-shrink \(names); or take it here alone: snapsync import --allow-shrink \(names)"
        )
        throw error.with(
            details: refused.dropFirst().map { name, shrinkage in
                "\(name)@\(shrinkage.number): it has \(shrinkage.count) of the \(shrinkage.largest) entities that the dataset had"
            })
    }

    /// Whether a dataset has fewer entities after one of the commits than before it.
    private func hasLosses(_ changes: ZoneChanges) throws -> Bool {
        guard changes.base.isEmpty else { return true }
        var counts = try countsHere()
        for commit in changes.commits {
            if !commit.deleted.isEmpty { return true }
            for record in commit.saved {
                guard let count = ShrinkGuard.count(record) else { continue }
                if count < counts[record.name] ?? 0 { return true }
                counts[record.name] = count
            }
        }
        return false
    }

    /// Returns the number of entities in the applied version, by record name.
    private func countsHere() throws -> [String: Int] {
        let states = try context.database.read { try $0.datasetStates.all() }
        return Dictionary(
            uniqueKeysWithValues: context.settings.datasets.compactMap { schema in
                states.first { $0.name == schema.name }.map { (schema.recordName, $0.recordCount) }
            })
    }

    private func guardian(upTo token: ChangeToken) async throws -> ShrinkGuard {
        var known = ShrinkGuard()
        for commit in try await context.cloud.commits(upTo: token, count: ShrinkGuard.window, in: context.zone) {
            known.add(commit)
        }
        return known
    }

    private func refuseUnknownNames() throws {
        let unknown = allowed.unknownNames(among: context.settings.datasets.map(\.name))
        guard !unknown.isEmpty else { return }
        throw SyncError(
            .refused, step: .open, at: "--allow-shrink", "this database has no dataset \(unknown.joined(separator: ", "))",
            hint: "its datasets are \(context.settings.datasets.map(\.name).joined(separator: ", ")); all stands for every one"
        ).asSlip
    }
}

/// Finds entities of the applied version that are missing in the tables without a tracked deletion.
///
/// If an application rebuilt a table, its triggers were gone for a while and tracking is incomplete. Or its connection had triggers off. An entity
/// that is missing then counts as damaged, not as deleted.
struct MissingRows: Sendable {
    let context: SyncContext
    let allowed: ShrinkApproval

    /// Whether the dataset's tracking names every deletion, as far as tracking can tell.
    func isTracked(_ schema: DatasetSchema, _ session: ReadSession) throws -> Bool {
        try session.withReader(0) { reader in
            // In a table without a key, rowids identify the rows. VACUUM may assign new rowids, so that rows seem to be missing.
            let isComplete = try reader.transaction.changeLog.isComplete(of: schema)
            return try isComplete || reader.transaction.rowids.mayBeRenumbered(schema)
        }
    }

    /// The least number of entities that a table has after the version `last` if every deletion was tracked; nil if that is not known, or if the
    /// dataset may shrink.
    func leastCount(_ schema: DatasetSchema, after last: DatasetRecord?, in session: ReadSession) throws -> Int? {
        guard let last, !allowed.covers(schema.name) else { return nil }
        return try session.withReader(0) { reader in
            guard try reader.transaction.changeLog.isComplete(of: schema) else { return nil }
            return try last.recordCount + reader.transaction.changeLog.growth(of: schema).lowerBound
        }
    }

    /// Refuses to publish a dataset whose rows are missing without a tracked deletion.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func refuse(_ schema: DatasetSchema, after last: DatasetRecord?, in session: ReadSession) async throws {
        guard let last, !allowed.covers(schema.name) else { return }
        // An asset that cannot be read is handled by a later step, which writes it again.
        let record = last.record(of: schema)
        guard let version = try? await DatasetVersion(record, as: schema, in: context.cloud, zone: context.zone) else { return }
        let count = try Self.countMissing(of: version, session)
        guard count > 0 else { return }
        // From now on, an import and an export compare all rows.
        session.end()
        try context.database.write { try $0.tracking.setIncomplete(of: schema) }
        throw SyncError(
            .refused, step: .read, at: "\(context.database.path), table \(schema.table)",
            "\(Format.count(count, "entity", or: "entities")) of the last version of \(schema.name) \(Format.word(count, "is", or: "are")) missing, and no deletion was tracked (the rows may have been deleted while the table's triggers were gone or off, or an index is damaged: snapsync check); nothing was published",
            hint: "snapsync import brings them back; if they were meant to go: snapsync sync --allow-shrink \(schema.name)")
    }

    private static func countMissing(of version: DatasetVersion, _ session: ReadSession) throws -> Int {
        // Columns that only one side has tell nothing of missing rows.
        guard let shared = try version.snapshot.index.sharedSchema(with: version.schema) else { return 0 }
        var missing = 0
        try version.giving(shared).forEachUntrackedDifference(in: session) { found, keys in missing += keys.count { found.rows[$0] == nil } }
        return missing
    }
}
