package import CloudStore
import CommitLog
import Platform

/// A history in which commits of two devices stand mixed under the plain names, and what brings one chain of them back under those names.
///
/// A tool that replicates folders decides file by file which of two commits of one number keeps the name. Where both devices made several, the commits
/// under the plain names need not follow one another. The newest commit under a plain name decides: its chain of parents, each by its hash, is the
/// one that stands. Nothing is decided where a commit of that chain is nowhere, or where a commit under a plain name follows one that is nowhere.
package struct MixedFork: Sendable {
    /// One number whose plain name has to go to another commit.
    package struct Move: Sendable {
        package let number: Int
        /// The conflict copy that gets the plain name.
        package let copy: ConflictCopy
        /// Who made the commit under the plain name; nil if none is there.
        package let displaced: String?
        /// The file's name from then on; nil if there is none.
        package let aside: String?
    }

    /// The first commit under a plain name that does not follow the one before it.
    package let number: Int
    /// What has to change, oldest first; empty where nothing can be decided.
    package internal(set) var moves: [Move] = []
    /// Why nothing can be decided; nil if it can.
    package internal(set) var refusal: String?
    /// The moves as documents, for who looks before anything is moved.
    package internal(set) var documents: [DamagedDocument] = []

    /// The name of a commit's file that lost its plain name: a conflict copy's, the same whoever gives it.
    static func asideName(_ token: ChangeToken) -> String { "\(CloudNames.digits(token.number)).snapsync-fork-\(token.hash.prefix(8)).json" }
}

/// Finds a ``MixedFork`` in a zone of many publishers.
struct MixedForkFinder {
    let zone: ZoneFolder

    private struct Node {
        let commit: Commit
        let bytes: [UInt8]
        /// The conflict copy that holds it; nil for the commit under the plain name.
        let copy: ConflictCopy?
    }

    /// What is mixed; nil if the commits under the plain names follow one another, or only a damaged or missing one keeps that from being seen.
    func find() throws -> MixedFork? {
        guard zone.info.publishers == .many else { return nil }
        let numbers = try zone.commitNumbers()
        guard let newest = numbers.last else { return nil }
        var plain: [Int: Node] = [:]
        for number in numbers {
            guard let bytes = try? zone.commitBytes(number), let verified = try? VerifiedCommit(bytes, number: number, of: zone.history) else { continue }
            plain[number] = Node(commit: verified.commit, bytes: bytes, copy: nil)
        }
        // Below a gap that a checkpoint covers, commits may have been pruned in any order.
        var first = newest
        while first > 1, plain[first - 1] != nil { first -= 1 }
        guard
            let broken = numbers.first(where: { number in
                number > first && plain[number].flatMap { node in plain[number - 1].map { node.commit.parent != $0.commit.token.hash } } == true
            })
        else { return nil }
        return try decide(MixedFork(number: broken), plain, first: first, newest: newest)
    }

    private func decide(_ found: MixedFork, _ plain: [Int: Node], first: Int, newest: Int) throws -> MixedFork {
        var fork = found
        var nodes: [String: Node] = [:]
        for copy in try zone.conflictCopies() {
            guard let bytes = try zone.folder.bytes(of: "\(CloudNames.commits)/\(copy.fileName)", limit: CommitDocument.byteLimit),
                let verified = try? VerifiedCommit(bytes, number: copy.token.number, of: zone.history), nodes[copy.token.hash] == nil
            else { continue }
            nodes[copy.token.hash] = Node(commit: verified.commit, bytes: bytes, copy: copy)
        }
        for node in plain.values { nodes[node.commit.token.hash] = node }
        let root = plain[first]?.commit.parent

        /// The commits from the first kept one up to `node`, or the number of the one that is nowhere.
        func chain(to node: Node) -> (nodes: [Node], missing: Int?) {
            var chain = [node]
            while let last = chain.last, last.commit.token.number > first {
                guard let parent = last.commit.parent.flatMap({ nodes[$0] }), parent.commit.token.number == last.commit.token.number - 1 else {
                    return (chain, last.commit.token.number - 1)
                }
                chain.append(parent)
            }
            return (chain.reversed(), chain.last.map { $0.commit.parent == root } == true ? nil : first - 1)
        }

        guard let end = plain[newest] else {
            fork.refusal = "the newest commit, \(newest), cannot be read"
            return fork
        }
        for (number, node) in plain.sorted(by: { $0.key > $1.key }) where number >= first {
            guard let missing = chain(to: node).missing else { continue }
            fork.refusal = "commit \(number), by \(node.commit.device), stands on a commit \(missing) that lies nowhere in commits/"
            return fork
        }
        for node in chain(to: end).nodes {
            guard let copy = node.copy else { continue }
            let number = node.commit.token.number, displaced = plain[number]?.commit
            fork.moves.append(
                MixedFork.Move(
                    number: number, copy: copy, displaced: displaced?.device, aside: displaced.map { MixedFork.asideName($0.token) }))
            fork.documents.append(
                DamagedDocument(
                    kind: .commit, number: number, isMissing: displaced == nil, reason: "the later commits follow another commit \(number)", mended: node.bytes,
                    source: "the conflict copy \(copy.fileName)"))
        }
        do {
            _ = try HistoryReader(source: MendedSource(zone, fork.documents)).log(at: nil)
        } catch let error as CloudError {
            (fork.moves, fork.documents, fork.refusal) = ([], [], "\(error.place): \(error.reason)")
        }
        return fork
    }
}

extension DirectoryCloud {
    /// Whether commits of two devices stand mixed under the plain names of a zone; nil if not.
    package func mixedFork(in zone: ZoneID) async throws -> MixedFork? {
        try await inZone(zone) { try MixedForkFinder(zone: $0).find() }
    }

    /// Gives the commits of one chain their plain names, and those that have them now names of their own.
    ///
    /// Only names change, one after another, and none that is taken is given: a run that ends in between leaves every commit there, and the next one
    /// decides the same and goes on.
    package func unmix(_ fork: MixedFork, in zone: ZoneID) async throws {
        try await inZone(zone) { zone in
            let commits = try zone.subfolder(CloudNames.commits)
            for move in fork.moves {
                let plain = "\(CloudNames.digits(move.number)).json"
                if let aside = move.aside { try commits.rename(plain, to: aside) }
                try commits.rename(move.copy.fileName, to: plain)
            }
        }
    }
}
