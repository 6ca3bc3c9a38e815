package import CloudStore
package import StrictText
package import SyncRuns

/// What a prune can remove from a zone. A pure function of a listing, the kept commits and a policy.
///
/// Commits are removed oldest first, so a version that must stay keeps every later one. A pinned version needs only its checkpoint.
package struct RetentionPlan: Sendable {
    /// The facts from which the plan follows.
    package struct Facts: Sendable {
        /// The kept commits, oldest first, without gaps.
        let commits: [Commit]
        let files: [StoredFile]
        let pins: PinnedVersions
        /// This device's clock and the store's clock. A file is young if it is young by either of them.
        let clocks: [Instant]
        /// A version that a run of this device may have published without recording it, and that is not in the zone; nil if there is none.
        var unsettled: Int?

        package init(commits: [Commit], files: [StoredFile], pins: PinnedVersions, clocks: [Instant], unsettled: Int? = nil) {
            (self.commits, self.files, self.pins, self.clocks, self.unsettled) = (commits, files, pins, clocks, unsettled)
        }
    }

    private let facts: Facts
    private let policy: RetentionPolicy
    private let sizes: [StoredFile.Kind: StoredFile]

    /// The oldest version that the policy keeps, apart from pinned ones.
    let oldestWanted: Int
    /// The rule that keeps it, for people; nil in a zone without a version.
    private let rule: String?
    /// The last commit to remove; smaller than the first kept commit if none is removed.
    let lastRemoved: Int
    /// The number at which a checkpoint must be made and named before ``lastRemoved`` can be removed; nil if such a checkpoint exists.
    let neededCheckpoint: Int?

    package init(_ facts: Facts, _ policy: RetentionPolicy) {
        self.facts = facts
        self.policy = policy
        let sizes = Dictionary(facts.files.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
        self.sizes = sizes
        let commits = facts.commits
        let first = commits.first?.token.number ?? 1
        let wanted = Self.wanted(commits, by: policy, clocks: facts.clocks) { number in
            sizes[.commit(number)].map { Self.isOlder($0, than: policy.minimumAge, facts.clocks) } ?? false
        }
        // A pinned version without a checkpoint depends on its commit.
        let standing = facts.pins.withoutCheckpoint.map { (version: $0.version, rule: "it is pinned, and only its commit holds it") }
        let oldest = (wanted + standing).min { $0.version < $1.version }
        let oldestWanted = oldest?.version ?? 1
        self.oldestWanted = oldestWanted
        rule = oldest?.rule
        let reachable = Self.reachableCheckpoint(below: oldestWanted, commits)
        let decided = max(first - 1, min(reachable, oldestWanted - 1))
        // Making a checkpoint costs a commit. It is worth that only if it lets a different state of the data be removed.
        let newest = commits.last?.checkpoint?.number ?? 0
        let gains = Self.states(commits).contains { $0 > decided && $0 < oldestWanted }
        if gains, newest <= oldestWanted - 1 {
            (lastRemoved, neededCheckpoint) = (oldestWanted - 1, oldestWanted - 1)
        } else {
            (lastRemoved, neededCheckpoint) = (decided, nil)
        }
    }

    /// Why no version is removed, for people; nil if one is.
    var reason: String? {
        guard removedVersions.isEmpty else { return nil }
        guard let first = facts.commits.first?.token.number, let rule else { return "nothing has been published yet" }
        return oldestWanted <= first ? "version \(first), the oldest, stays: \(rule)" : "the versions before \(oldestWanted) hold no other state of the data"
    }

    /// The numbers of the commits to remove, oldest first.
    var removedVersions: [Int] { facts.commits.map(\.token.number).filter { $0 <= lastRemoved } }

    /// The numbers of the commits to keep, oldest first.
    package var keptVersions: [Int] { facts.commits.map(\.token.number).filter { $0 > lastRemoved } }
}

extension RetentionPlan {
    /// The files to remove now, and the unreachable files that wait for the grace period.
    package struct Removal: Sendable {
        package var files: [StoredFile] = []
        package var waiting: [StoredFile] = []
    }

    /// Returns the files to remove.
    ///
    /// - Parameter oldest: the live records of the oldest version that stays.
    package func removal(oldest: [CloudRecord]) -> Removal {
        var removal = Removal()
        let kept = facts.commits.filter { $0.token.number > lastRemoved }
        let reached = Set((oldest + kept.flatMap(\.saved) + facts.pins.records.map(\.record)).flatMap(\.assets).map(\.path))
        let checkpoints = Set(
            kept.compactMap(\.checkpoint?.number).filter { $0 >= lastRemoved } + facts.pins.pins.map(\.version) + [neededCheckpoint].compactMap(\.self))
        let ends = supersessions()
        for file in facts.files.sorted(by: { $0.path < $1.path }) {
            switch file.kind {
            case .commit(let number):
                if number <= lastRemoved { removal.files.append(file) }
            case .checkpoint(let number):
                if !checkpoints.contains(number), isOlder(file, than: policy.minimumAge) { removal.files.append(file) }
            case .temporary:
                if isOlder(file, than: policy.grace) { removal.files.append(file) } else { removal.waiting.append(file) }
            case .asset, .index:
                guard let asset = file.assetPath, !reached.contains(asset), !mayBeNeeded(asset) else { continue }
                if isOlder(file, than: policy.grace), hasEnded(asset, ends) { removal.files.append(file) } else { removal.waiting.append(file) }
            }
        }
        return removal
    }

    /// Whether an asset may belong to a version that cannot be read now but may come back: a pinned version whose checkpoint is missing, or a
    /// version that a run published without recording it. No version has an asset with a later number.
    private func mayBeNeeded(_ asset: String) -> Bool {
        guard let number = AssetPath(asset)?.number else { return false }
        if let unsettled = facts.unsettled, number >= unsettled { return true }
        return facts.pins.unreadable.contains { number <= $0.pin.version }
    }

    /// Returns, for each asset that a kept commit's record no longer names, that commit's number.
    private func supersessions() -> [String: Int] {
        var live: [String: Set<String>] = [:]
        var ends: [String: Int] = [:]
        for commit in facts.commits {
            func send(_ name: String, _ assets: Set<String>) {
                for path in (live[name] ?? []).subtracting(assets) { ends[path] = commit.token.number }
                live[name] = assets
            }
            for record in commit.saved { send(record.name, Set(record.assets.map(\.path))) }
            for name in commit.deleted { send(name, []) }
        }
        return ends
    }

    /// Whether readers that read the asset as part of the newest version have had the grace period to finish.
    private func hasEnded(_ asset: String, _ ends: [String: Int]) -> Bool {
        let first = facts.commits.first?.token.number ?? 1
        var end = ends[asset]
        if end == nil, let number = AssetPath(asset)?.number, number < first { end = first }
        guard let end else { return true }
        return sizes[.commit(end)].map { isOlder($0, than: policy.grace) } ?? false
    }

    private func isOlder(_ file: StoredFile, than age: Duration) -> Bool { Self.isOlder(file, than: age, facts.clocks) }

    private static func isOlder(_ file: StoredFile, than age: Duration, _ clocks: [Instant]) -> Bool {
        clocks.allSatisfy { $0.microseconds - file.modified.microseconds >= age.microseconds }
    }

    /// Returns the versions that represent the different states of the data: the last commit of each run of commits that change no data.
    private static func states(_ commits: [Commit]) -> [Int] {
        zip(commits, commits.dropFirst().map(Optional.some) + [nil]).compactMap { commit, next in next?.changesData ?? true ? commit.token.number : nil }
    }

    /// Returns the oldest version that each rule keeps, with the rule for people. The newest version is always kept.
    private static func wanted(_ commits: [Commit], by policy: RetentionPolicy, clocks: [Instant], isOldEnough: (Int) -> Bool) -> [(
        version: Int, rule: String
    )] {
        guard let newest = commits.last else { return [] }
        var wanted = [(newest.token.number, "it is the newest")]
        if let young = commits.first(where: { !isOldEnough($0.token.number) }) {
            wanted.append((young.token.number, "its file is less than \(AgeText.words(seconds: Int(policy.minimumAge.components.seconds))) old"))
        }
        if let keepLast = policy.keepLast, let state = states(commits).suffix(keepLast).first {
            wanted.append((state, keepLast == 1 ? "the last state of the data is kept" : "the last \(keepLast) states of the data are kept"))
        }
        if let keepWithin = policy.keepWithin, let now = clocks.min(),
            let recent = commits.first(where: { $0.timestamp.microseconds >= now.microseconds - keepWithin.microseconds })
        {
            wanted.append((recent.token.number, "versions are kept for \(AgeText.words(seconds: Int(keepWithin.components.seconds)))"))
        }
        return wanted
    }

    /// Returns the highest checkpoint from which version `oldest` can be read. A commit from there on must name it, and it must not be above that
    /// version.
    private static func reachableCheckpoint(below oldest: Int, _ commits: [Commit]) -> Int {
        commits.filter { $0.token.number >= oldest }.compactMap(\.checkpoint?.number).filter { $0 <= oldest }.max() ?? 0
    }
}

extension Commit {
    /// Whether the commit changes more than pins and the record of a prune.
    package var changesData: Bool {
        saved.contains { !$0.isOfVersions } || deleted.contains { $0 != RetentionRecord.recordName && !VersionPin.isRecordName($0) } || zoneMove != nil
    }
}

/// The versions that a prune keeps. The newest version and pinned versions are always kept.
public struct RetentionPolicy: Sendable, Hashable {
    /// The number of different states of the data to keep; nil for no such rule.
    public var keepLast: Int?
    /// The age up to which versions are kept; nil for no such rule.
    public var keepWithin: Duration?
    /// The minimum age of a commit's file before it is removed. A device that syncs daily then always finds its version.
    public var minimumAge: Duration
    /// How long an unreachable asset is kept: readers may still be reading it, or a publisher may be about to commit it.
    public var grace: Duration

    public init(keepLast: Int?, keepWithin: Duration?, minimumAge: Duration = .seconds(86_400), grace: Duration = .seconds(86_400)) {
        (self.keepLast, self.keepWithin, self.minimumAge, self.grace) = (keepLast, keepWithin, minimumAge, grace)
    }
}

extension Duration {
    /// The duration in whole microseconds.
    var microseconds: Int64 {
        let (seconds, fraction) = components
        return seconds * 1_000_000 + fraction / 1_000_000_000_000
    }
}
