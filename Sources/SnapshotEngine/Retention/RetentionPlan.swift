package import CloudStore
package import StrictText

/// What of a zone can go: a pure answer to what a listing, the kept commits and a policy say.
///
/// Commits go oldest first, so a version that must stay keeps every later one. A pinned version stays by its checkpoint alone.
package struct RetentionPlan: Sendable {
    /// Everything that the answer follows from.
    package struct Facts: Sendable {
        /// The kept commits, oldest first, without a gap.
        let commits: [Commit]
        let files: [StoredFile]
        let pins: PinnedVersions
        /// This device's clock and the store's: what is young by either of them is young.
        let clocks: [Instant]
        /// A version of this device that a run may have published without noting it, and that is not there; nil if there is none.
        var unsettled: Int?

        package init(commits: [Commit], files: [StoredFile], pins: PinnedVersions, clocks: [Instant], unsettled: Int? = nil) {
            self.commits = commits
            self.files = files
            self.pins = pins
            self.clocks = clocks
            self.unsettled = unsettled
        }
    }

    private let facts: Facts
    private let policy: RetentionPolicy
    private let sizes: [StoredFile.Kind: StoredFile]

    /// The oldest version that the policy wants to keep besides the pinned ones.
    let oldestWanted: Int
    /// Which rule wants to keep it, in words; nil in a zone without a version.
    private let rule: String?
    /// The last commit that goes; below the first kept one if none does.
    let lastRemoved: Int
    /// Where a checkpoint must be made to count before ``lastRemoved`` can go; nil if one does already.
    let neededCheckpoint: Int?

    package init(_ facts: Facts, _ policy: RetentionPolicy) {
        self.facts = facts
        self.policy = policy
        let sizes = Dictionary(facts.files.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
        self.sizes = sizes
        let commits = facts.commits
        let first = commits.first?.token.number ?? 1
        let wanted = Self.wanted(commits, policy, facts.clocks) { number in
            sizes[.commit(number)].map { Self.isOlder($0, than: policy.minimumAge, facts.clocks) } ?? false
        }
        // A pinned version whose checkpoint is not there stands on its commit alone.
        let standing = facts.pins.withoutCheckpoint.map { (version: $0.version, rule: "it is pinned, and only its commit holds it") }
        let oldest = (wanted + standing).min { $0.version < $1.version }
        let oldestWanted = oldest?.version ?? 1
        self.oldestWanted = oldestWanted
        rule = oldest?.rule
        let reachable = Self.reachableCheckpoint(below: oldestWanted, commits)
        let decided = max(first - 1, min(reachable, oldestWanted - 1))
        // A checkpoint of our own costs a commit; it is worth one only if a different state of the data can go for it.
        let newest = commits.last?.checkpoint?.number ?? 0
        let gains = Self.states(commits).contains { $0 > decided && $0 < oldestWanted }
        if gains, newest <= oldestWanted - 1 {
            (lastRemoved, neededCheckpoint) = (oldestWanted - 1, oldestWanted - 1)
        } else {
            (lastRemoved, neededCheckpoint) = (decided, nil)
        }
    }

    /// Why no version goes, in words; nil if one does.
    var reason: String? {
        guard removedVersions.isEmpty else { return nil }
        guard let first = facts.commits.first?.token.number, let rule else { return "nothing has been published yet" }
        return oldestWanted <= first ? "version \(first), the oldest, stays: \(rule)" : "the versions before \(oldestWanted) hold no other state of the data"
    }

    /// The numbers of the commits that go, oldest first.
    var removedVersions: [Int] { facts.commits.map(\.token.number).filter { $0 <= lastRemoved } }

    /// The numbers of the commits that stay, oldest first.
    package var keptVersions: [Int] { facts.commits.map(\.token.number).filter { $0 > lastRemoved } }
}

extension RetentionPlan {
    /// What goes now, and what nothing reaches any longer but waits for the grace period.
    package struct Removal: Sendable {
        package var files: [StoredFile] = []
        package var waiting: [StoredFile] = []
    }

    /// The files that go.
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

    /// Whether an asset may belong to a version that cannot be read now and may come back: one with a pin whose checkpoint is not there, or one that
    /// a run published without noting it. No version has an asset of a later number.
    private func mayBeNeeded(_ asset: String) -> Bool {
        guard let number = AssetPath(asset)?.number else { return false }
        if let unsettled = facts.unsettled, number >= unsettled { return true }
        return facts.pins.unreadable.contains { number <= $0.pin.version }
    }

    /// For each asset that a kept commit's record gave up, the commit that did.
    private func supersessions() -> [String: Int] {
        var live: [String: Set<String>] = [:]
        var ends: [String: Int] = [:]
        for commit in facts.commits {
            func give(_ name: String, _ assets: Set<String>) {
                for path in (live[name] ?? []).subtracting(assets) { ends[path] = commit.token.number }
                live[name] = assets
            }
            for record in commit.saved { give(record.name, Set(record.assets.map(\.path))) }
            for name in commit.deleted { give(name, []) }
        }
        return ends
    }

    /// Whether whoever read the asset as part of the newest version has had the grace period to finish.
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

    /// The versions that stand for the different states of the data: the last of each run of commits that change no data.
    private static func states(_ commits: [Commit]) -> [Int] {
        zip(commits, commits.dropFirst().map(Optional.some) + [nil]).compactMap { commit, next in next?.changesData ?? true ? commit.token.number : nil }
    }

    /// The oldest version that each rule wants to keep, with the rule in words; the newest always is.
    private static func wanted(_ commits: [Commit], _ policy: RetentionPolicy, _ clocks: [Instant], isOldEnough: (Int) -> Bool) -> [(
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

    /// The highest checkpoint from which version `oldest` can be read: one that a commit from there on names, not above it.
    private static func reachableCheckpoint(below oldest: Int, _ commits: [Commit]) -> Int {
        commits.filter { $0.token.number >= oldest }.compactMap(\.checkpoint?.number).filter { $0 <= oldest }.max() ?? 0
    }
}

extension Commit {
    /// Whether the commit changes more than what is pinned and what was pruned.
    package var changesData: Bool {
        saved.contains { !$0.isOfVersions } || deleted.contains { $0 != RetentionRecord.recordName && !VersionPin.isRecordName($0) } || zoneDeletion != nil
    }
}
