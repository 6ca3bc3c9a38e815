import CloudStore
import SnapshotVersions

/// Watches how many entities each record has from commit to commit, and says which of them lost more than half.
///
///     var guardian = ShrinkGuard()
///     for commit in recent { guardian.take(commit) }
///     let shrunk = guardian.unapproved
///
/// A record of 20 or more entities must not fall below half of its largest count in the last 16 commits, or since the last
/// approval (`shrink:` and the record's name, in a commit's approvals), unless the commit or a later one approves of it, or a
/// later one has the entities again. A value over facts: no files, no clock.
struct ShrinkGuard: Sendable, Hashable {
    /// A record that lost more than half of its entities.
    struct Shrinkage: Sendable, Hashable {
        let record: String
        /// The commit that did it.
        let number: Int
        let count: Int
        /// The largest count before.
        let largest: Int
    }

    /// How many commits are looked back.
    static let window = 16
    /// What is smaller than that may shrink as it likes.
    static let smallest = 20

    private struct Count: Sendable, Hashable {
        let number: Int
        let value: Int
    }

    private var counts: [String: [Count]] = [:]
    private var shrunk: [String: Shrinkage] = [:]

    /// The shrinkages that nobody approved of, in the order of the records' names.
    var unapproved: [Shrinkage] { shrunk.values.sorted { $0.record < $1.record } }

    /// Takes the records of a checkpoint that reading began at.
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

    /// Says that what was taken so far is what the device has: what shrank has shrunk, and is judged from there on.
    mutating func accept() {
        for record in shrunk.keys { counts[record] = counts[record].map { Array($0.suffix(1)) } }
        shrunk = [:]
    }

    /// What a count would be judged as, were it the next commit's; nil if nothing is to be said against it.
    func judge(_ count: Int, of record: String, number: Int) -> Shrinkage? {
        let largest = counts[record]?.filter { $0.number > number - 1 - Self.window }.map(\.value).max() ?? 0
        guard largest >= Self.smallest, count * 2 < largest else { return nil }
        return Shrinkage(record: record, number: number, count: count, largest: largest)
    }

    /// How many entities a record says that its dataset has; nil if it carries none, or says a number that no importer takes.
    static func count(_ record: CloudRecord) -> Int? {
        guard case .integer(let number) = record.fields["recordCount"], let count = Int(exactly: number), (0...DatasetRecord.countLimit).contains(count) else {
            return nil
        }
        return count
    }

    private mutating func note(_ record: String, _ count: Int?, _ number: Int, isApproved: Bool) {
        // A record that carries no dataset has no entities to lose.
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
