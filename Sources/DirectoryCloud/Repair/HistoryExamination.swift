import CloudStore
import Platform

/// Examines every commit and checkpoint of a zone separately, and finds the right bytes of damaged or missing ones.
///
/// The right bytes are always proven: the next commit names a commit's hash, and commits name a checkpoint's hash. No commit names the
/// newest one, so it is restored only for a device that knows its hash.
struct HistoryExamination {
    let zone: ZoneFolder
    /// A commit at the zone's end whose hash a device knows.
    let token: ChangeToken?
    /// The checkpoints that pins name.
    let pinned: [CheckpointReference]

    /// Returns the damaged documents: the commits, newest first, then the checkpoints.
    ///
    /// - Throws: ``CloudError`` with `.incompatibleVersion`, and the errors of listing and reading.
    func run() throws -> [DamagedDocument] {
        var commits = try Commits(zone.zone)
        let damaged = try commits.mend(copies: copies(in: CloudNames.commits), token: token)
        return damaged + (try checkpoints(commits))
    }

    /// Returns the files in a folder that are not part of the format, with their bytes.
    private func copies(in directory: String) throws -> [Copy] {
        guard let folder = try zone.folder.folder(directory) else { return [] }
        return try folder.names().sorted().filter { CloudNames.number(ofFile: $0) == nil && !TemporaryName.matches($0) }.compactMap { name in
            try FoundFile("\(directory)/\(name)", in: zone.folder)?.bytes(limit: CommitDocument.byteLimit).map { Copy(name: name, bytes: $0) }
        }
    }

    struct Copy {
        let name: String
        let bytes: [UInt8]
    }

    private func checkpoints(_ commits: Commits) throws -> [DamagedDocument] {
        let named = Set(commits.known.values.compactMap(\.verified.commit.checkpoint) + pinned).sorted { $0.number < $1.number }
        guard !named.isEmpty else { return [] }
        let copies = try copies(in: CloudNames.checkpoints)
        var sound: [CheckpointReference: [UInt8]] = [:]
        var damaged: [DamagedDocument] = []
        for reference in named {
            var bytes: [UInt8]?
            var isThere = true
            do {
                bytes = try zone.zone.checkpointBytes(reference.number)
                isThere = bytes != nil
            } catch let error as CloudError where error.code == .damaged {
                // It is too large, or not a plain file.
            }
            if let bytes, ContentHash.of(bytes) == reference.sha256 {
                sound[reference] = bytes
                continue
            }
            // Older checkpoints may have been pruned.
            guard isThere || reference == commits.newestCheckpoint || pinned.contains(reference) else { continue }
            let found = mend(reference, from: copies, sound: sound, commits: commits)
            if let found { sound[reference] = found.bytes }
            damaged.append(
                DamagedDocument(
                    kind: .checkpoint, number: reference.number, isMissing: !isThere,
                    reason: isThere ? "its bytes do not match the hash that a commit names" : "it is missing",
                    mended: found?.bytes, source: found?.source))
        }
        return damaged
    }

    private func mend(
        _ reference: CheckpointReference, from copies: [Copy], sound: [CheckpointReference: [UInt8]], commits: Commits
    ) -> (bytes: [UInt8], source: String)? {
        if let copy = copies.first(where: { ContentHash.of($0.bytes) == reference.sha256 }) { return (copy.bytes, "the copy \(copy.name)") }
        let below = sound.filter { $0.key.number < reference.number }.sorted { $0.key.number > $1.key.number }.map { Optional($0) } + [nil]
        for start in below {
            if let bytes = try? fold(from: start, to: reference.number, commits), ContentHash.of(bytes) == reference.sha256 {
                return (bytes, "the commits that it follows from")
            }
        }
        return nil
    }

    private func fold(from start: (key: CheckpointReference, value: [UInt8])?, to number: Int, _ commits: Commits) throws -> [UInt8]? {
        var log = try start.map { try ReplayedHistory(checkpoint: $0.value, named: $0.key, of: zone.history) } ?? ReplayedHistory(of: zone.history)
        while log.nextNumber <= number {
            guard let next = commits.known[log.nextNumber] else { return nil }
            try log.append(next.bytes)
        }
        return try log.checkpointBytes()
    }
}

/// The commits of a zone, each examined separately.
private struct Commits {
    private let zone: Zone
    /// The commits whose right bytes are known: intact ones, and those that were found.
    private(set) var known: [Int: (bytes: [UInt8], verified: VerifiedCommit)] = [:]
    /// Why commits are damaged.
    private var faults: [Int: String] = [:]
    private let numbers: [Int]

    init(_ zone: Zone) throws {
        self.zone = zone
        numbers = try zone.commitNumbers()
        for number in numbers {
            do {
                // It may vanish after the listing, because a prune is running.
                guard let bytes = try zone.commitBytes(number) else { continue }
                known[number] = (bytes, try VerifiedCommit(bytes, number: number, of: zone.history))
            } catch let error as CloudError where error.code == .damaged || error.code == .untrusted {
                faults[number] = error.reason
            }
        }
    }

    /// The checkpoint that counts at the newest known commit.
    var newestCheckpoint: CheckpointReference? { known.keys.max().flatMap { known[$0]?.verified.commit.checkpoint } }

    /// Finds the bytes of damaged and missing commits. It starts with the newest, since each commit names its parent's hash.
    mutating func mend(copies: [HistoryExamination.Copy], token: ChangeToken?) throws -> [DamagedDocument] {
        guard let newest = numbers.last, let oldest = numbers.first else { return [] }
        // Up to a checkpoint that counts, commits may have been pruned in any order.
        let pruned = newestCheckpoint?.number ?? 0
        let first = pruned == 0 ? 1 : pruned + 1
        // A file whose number is wrong by millions does not make a gap.
        let gaps = newest - oldest < numbers.count + 1_000_000 && first <= newest ? Set(first...newest) : []
        var damaged: [DamagedDocument] = []
        for number in gaps.union(faults.keys).sorted(by: >) where known[number] == nil {
            let expected = known[number + 1]?.verified.commit.parent ?? (token?.number == number ? token?.hash : nil)
            let found = mend(number, expected: expected, from: copies)
            if let found { known[number] = try (found.bytes, VerifiedCommit(found.bytes, number: number, of: zone.history)) }
            damaged.append(
                DamagedDocument(
                    kind: .commit, number: number, isMissing: faults[number] == nil,
                    reason: faults[number] ?? "it is missing, and later ones are there",
                    mended: found?.bytes, source: found?.source))
        }
        return damaged
    }

    private func mend(_ number: Int, expected: String?, from copies: [HistoryExamination.Copy]) -> (bytes: [UInt8], source: String)? {
        // Without a known hash, the copy may be a commit that lost this number to another one.
        guard let expected else { return nil }
        let copy = copies.first { copy in
            guard ContentHash.of(copy.bytes) == expected, let verified = try? VerifiedCommit(copy.bytes, number: number, of: zone.history) else { return false }
            return known[number - 1].map { $0.verified.commit.token.hash == verified.commit.parent } ?? true
        }
        return copy.map { ($0.bytes, "the copy \($0.name)") }
    }
}

/// A commit or a checkpoint that is missing or has the wrong bytes, and the right bytes if they were found.
package struct DamagedDocument: Sendable {
    package enum Kind: String, Sendable { case commit, checkpoint }

    package let kind: Kind
    package let number: Int
    package let isMissing: Bool
    /// What is wrong with it.
    package let reason: String
    /// The right bytes; nil if they were not found.
    package let mended: [UInt8]?
    /// Where the right bytes come from, as a text.
    package let source: String?

    /// Relative to the zone.
    package var path: String { "\(kind == .commit ? CloudNames.commits : CloudNames.checkpoints)/\(CloudNames.digits(number)).json" }
}

extension [DamagedDocument] {
    /// The right bytes of the documents, by their paths beneath the zone.
    package var mended: [String: [UInt8]] { Dictionary(compactMap { one in one.mended.map { (one.path, $0) } }, uniquingKeysWith: { first, _ in first }) }
}
