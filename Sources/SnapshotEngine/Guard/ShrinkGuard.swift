import CloudStore
import SnapshotVersions

/// Follows the number of entities of each record from commit to commit, and finds the records that lost more than half.
///
///     var guardian = ShrinkGuard()
///     for commit in recent { guardian.take(commit) }
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
        for record in records { note(record.name, Self.count(record), Int(record.changeTag ?? "") ?? 0, isApproved: true) }
    }

    /// Takes the next commit.
    mutating func take(_ commit: Commit) {
        let number = commit.token.number
        let approved = Set(commit.approvals)
        for record in commit.saved {
            note(record.name, Self.count(record), number, isApproved: approved.contains(ShrinkApproval.text(ofRecord: record.name)))
        }
        for name in commit.deleted { note(name, 0, number, isApproved: approved.contains(ShrinkApproval.text(ofRecord: name))) }
        if commit.zoneDeletion != nil { (counts, shrunk) = ([:], [:]) }
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

    private mutating func note(_ record: String, _ count: Int?, _ number: Int, isApproved: Bool) {
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
