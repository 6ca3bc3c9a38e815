package import CloudStore
import Platform

/// A history in which the plain names belong to commits of two forks, and the renames that give them to the commits of one fork.
///
/// If two devices publish commits of the same numbers, a tool that replicates folders decides for each file separately which commit keeps
/// the plain name. The commits under the plain names then need not follow one another. The newest commit under a plain name decides: the
/// chain of its parents, found by their hashes, is restored. Nothing is decided if a commit of that chain is missing, or if the parent of
/// any commit under a plain name is missing.
package struct MixedFork: Sendable {
    /// One number whose plain name must go to another commit.
    package struct Move: Sendable {
        package let number: Int
        /// The conflict copy that gets the plain name.
        package let copy: ConflictCopy
        /// The device that made the commit under the plain name; nil if there is none.
        package let displaced: String?
        /// The new name of that commit's file; nil if there is none.
        package let aside: String?
    }

    /// The first commit under a plain name that does not follow from the one before it.
    package let number: Int
    /// The necessary renames, oldest first; empty if nothing can be decided.
    package internal(set) var moves: [Move] = []
    /// Why nothing can be decided; nil if it can.
    package internal(set) var refusal: String?
    /// The renames as documents, for a caller that reads the result before anything is renamed.
    package internal(set) var documents: [DamagedDocument] = []

    /// The name for a commit's file that loses its plain name. It has the form of a conflict copy's, and is the same on every device.
    static func asideName(_ token: ChangeToken) -> String { "\(CloudNames.digits(token.number)).snapsync-fork-\(token.hash.prefix(8)).json" }
}

/// Finds a ``MixedFork`` in a zone of many publishers.
struct MixedForkFinder {
    let zone: Zone

    private struct Node {
        let commit: Commit
        let bytes: [UInt8]
        /// The conflict copy that contains the commit; nil for the commit under the plain name.
        let copy: ConflictCopy?
    }

    /// Returns the mixed fork. nil if the commits under the plain names follow one another, or if a damaged or missing commit prevents the
    /// check.
    func find() throws -> MixedFork? {
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
            guard let bytes = try zone.store.get(zone.path("\(CloudNames.commits)/\(copy.fileName)"), limit: CommitDocument.byteLimit),
                let verified = try? VerifiedCommit(bytes, number: copy.token.number, of: zone.history), nodes[copy.token.hash] == nil
            else { continue }
            nodes[copy.token.hash] = Node(commit: verified.commit, bytes: bytes, copy: copy)
        }
        for node in plain.values { nodes[node.commit.token.hash] = node }
        let root = plain[first]?.commit.parent

        /// Returns the commits from the first kept one up to `node`, and the number of the first missing parent, if any.
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
            var mended = zone
            mended.mended = fork.documents.mended
            _ = try HistoryReader(mended).log(at: nil)
        } catch let error as CloudError {
            (fork.moves, fork.documents, fork.refusal) = ([], [], "\(error.place): \(error.reason)")
        }
        return fork
    }
}

extension DirectoryCloud {
    /// Finds out whether the plain names of a zone belong to commits of two forks; nil if not.
    package func mixedFork(in zone: ZoneID) async throws -> MixedFork? {
        guard try await self.zone(zone).publishers == .many else { return nil }
        return try await inZone(zone) { try MixedForkFinder(zone: $0).find() }
    }

    /// Gives the plain names to the commits of one chain, and renames the commits that have them now.
    ///
    /// Files are only renamed, one after another, and only to free names. A run that ends in between leaves every commit in place; the next
    /// run makes the same decision and continues.
    package func unmix(_ fork: MixedFork, in zone: ZoneID) async throws {
        try await inFolder(of: zone) { zone in
            let commits = try zone.subfolder(CloudNames.commits)
            for move in fork.moves {
                let plain = "\(CloudNames.digits(move.number)).json"
                if let aside = move.aside { try commits.rename(plain, to: aside) }
                try commits.rename(move.copy.fileName, to: plain)
            }
        }
    }
}
