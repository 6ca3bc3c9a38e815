import Synchronization

/// Reads a zone's history: probes from a token, lists only on a first visit, checks each commit against its parent.
///
/// All backends share this code; they differ only in their ``ObjectStore``.
package struct HistoryReader {
    let zone: Zone

    package init(_ zone: Zone) { self.zone = zone }

    private var history: HistoryID { zone.history }

    /// Returns the commits after `token`. Without a token, returns everything that is needed to know the whole zone.
    package func changes(since token: ChangeToken?) throws -> ZoneChanges {
        guard let token else { return try firstVisit() }
        var found: [VerifiedCommit] = []
        try zone.refreshCommits()
        // Verify each commit before the next one is requested. A server that answers every request with some page would otherwise be asked for
        // ever.
        try zone.forEachCommit(from: token.number + 1) { found.append(try VerifiedCommit($0, number: token.number + 1 + found.count, of: history)) }
        // Check the token's commit after the probes, not before. If it were pruned in between, the probes would find nothing, which looks
        // like "nothing new". With its hash, it is the commit that was verified when this device read it.
        if found.isEmpty, let bytes = try zone.commitBytes(token.number), ContentHash.of(bytes) == token.hash {
            return ZoneChanges(base: [], commits: [], token: token)
        }
        var log = try log(after: token)
        if !found.isEmpty { try provideMembers(to: &log) }
        let commits = try found.map { try log.append($0) }
        if !commits.isEmpty {
            if let members = log.members { try zone.authority.accept(members, isNewest: true, of: history) }
            // The publisher may not have made these commits durable yet, or was killed before. A commit that this device has read must not
            // disappear in a power cut.
            try zone.makeCommitsDurable()
        }
        if let move = log.move { throw move.error(in: history.zone) }
        return ZoneChanges(base: [], commits: commits, token: log.token)
    }

    /// Gives the members as of the log's commit to a log that started at a commit without knowing them.
    ///
    /// They come from the list that this device has verified before, or else from the zone's records.
    func provideMembers(to log: inout ReplayedHistory) throws {
        guard log.lacksMembers, let token = log.token else { return }
        if let known = try zone.authority.list(asOf: token, of: history) { return log.provide(known) }
        let folded = try self.log(at: token.number)
        guard folded.token == token, let members = folded.members else { throw changedWhileRead(token.number) }
        log.provide(members)
    }

    /// Returns the members of a signed zone as of the newest commit that this device has verified; nil in an unsigned zone.
    package func members() throws -> MemberList? {
        guard history.isSigned else { return nil }
        return try zone.authority.current(of: history) ?? log(at: nil).members
    }

    /// Returns the members as of the newest commit in the store; nil in an unsigned zone, empty in a zone without commits.
    package func newestMembers() throws -> MemberList? {
        guard history.isSigned else { return nil }
        return try log(at: nil).members
    }

    /// Returns the live records as of commit `number` (nil: the newest). Refuses a zone that ends before `token`.
    package func state(at number: Int?, notBefore token: ChangeToken?) throws -> ZoneState {
        if let token { try verifyNotBehind(token) }
        let log = try log(at: number)
        if let move = log.move { throw move.error(in: history.zone) }
        return log.state
    }

    /// Returns the zone replayed up to commit `number` (nil: the newest).
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if that commit is not there.
    package func log(at number: Int?) throws -> ReplayedHistory {
        guard let number else { return try newest { log, _ in log } }
        guard let bytes = try zone.commitBytes(number) else {
            let newest = try zone.newestCommitNumber() ?? 0
            guard number > newest else { throw notKept(number) }
            throw CloudError(
                .unknownItem, at: history.place(ofCommit: number), "there is no such version yet; the newest is \(newest)",
                hint: "snapsync log lists the versions that are kept")
        }
        let log = try folded(upTo: number, naming: VerifiedCommit(bytes, number: number, of: history).commit.checkpoint)
        guard log.token?.hash == ContentHash.of(bytes) else { throw changedWhileRead(number) }
        if let members = log.members { try zone.authority.accept(members, isNewest: false, of: history) }
        return log
    }

    /// Returns a log that continues from the token's commit, after reading that commit and comparing its hash with the token.
    ///
    /// - Throws: ``CloudError`` with `.changeTokenExpired`, `.rolledBack` or `.damaged`.
    func log(after token: ChangeToken) throws -> ReplayedHistory {
        guard let bytes = try zone.commitBytes(token.number) else { throw try absence(of: token) }
        let commit = try VerifiedCommit(bytes, number: token.number, of: history, knowing: token)
        guard commit.commit.token == token else {
            throw rolledBack(token, "the commit there is not the one that this device has read")
        }
        return ReplayedHistory(after: commit, of: history)
    }

    /// Whether a kept commit names the asset. Only commits from the asset's own number on can name it.
    package func isNamed(_ path: AssetPath) throws -> Bool {
        var number = path.number
        while let bytes = try zone.commitBytes(number) {
            let commit = try VerifiedCommit(bytes, number: number, of: history).commit
            if commit.saved.contains(where: { $0.assets.contains { $0.path == path.path } }) { return true }
            number += 1
        }
        return false
    }

    private func verifyNotBehind(_ token: ChangeToken) throws {
        do {
            _ = try log(after: token)
        } catch let error as CloudError where error.code == .changeTokenExpired {
            // The commit was pruned, and the history continues beyond it. The caller reads the whole zone, which is what a device that far
            // behind needs.
        }
    }

    /// Returns the error that explains why the token's commit is not there.
    private func absence(of token: ChangeToken) throws -> CloudError {
        let newest = try zone.newestCommitNumber() ?? 0
        guard newest > token.number else {
            return rolledBack(token, "the zone ends at commit \(newest), before what this device has read")
        }
        guard let bytes = try zone.commitBytes(newest),
            let checkpoint = try VerifiedCommit(bytes, number: newest, of: history).commit.checkpoint, checkpoint.number >= token.number
        else { return gap(at: token.number) }
        return CloudError(
            .changeTokenExpired, at: history.place(ofCommit: token.number), "the commit was pruned; the zone goes on from checkpoint \(checkpoint.number)",
            hint: "read the zone whole")
    }

    private func firstVisit() throws -> ZoneChanges {
        var commits: [Commit] = []
        let (move, changes) = try newest(willRestart: { commits = [] }, onCommit: { commits.append($0) }) { log, base in
            var changes = ZoneChanges(base: base, commits: commits, token: log.token)
            changes.answered = log.answered
            return (log.move, changes)
        }
        if !changes.commits.isEmpty { try zone.makeCommitsDurable() }
        if let move { throw move.error(in: history.zone) }
        return changes
    }

    /// Finds the newest commit, starts at the newest checkpoint that counts, and replays up to the newest commit.
    private func newest<Result>(
        willRestart: () -> Void = {}, onCommit: (Commit) -> Void = { _ in }, _ result: (ReplayedHistory, [CloudRecord]) -> Result
    ) throws -> Result {
        var attempts = 3
        while true {
            willRestart()
            guard let newest = try zone.newestCommitNumber() else {
                let log = try emptyLog()
                if let members = log.members { try zone.authority.verifyFloor(nil, members, of: history) { _ in nil } }
                return result(log, [])
            }
            do {
                guard let bytes = try zone.commitBytes(newest) else { throw gap(at: newest) }
                let end = try VerifiedCommit(bytes, number: newest, of: history)
                try verifyMoved(end)
                var log = try start(at: end.commit.checkpoint)
                let base = log.records
                var hashes: [Int: String] = [:]
                if let token = log.token { hashes[token.number] = token.hash }
                func add(_ commit: Commit) {
                    hashes[commit.token.number] = commit.token.hash
                    onCommit(commit)
                }
                try fold(&log, upTo: newest - 1, add)
                add(try log.append(end))
                if let members = log.members {
                    try zone.authority.accept(members, isNewest: true, of: history)
                    try zone.authority.verifyFloor(log.token, members, of: history) { hashes[$0] }
                }
                return result(log, base)
            } catch let error as CloudError where error.code == .damaged && error.isRetryable && attempts > 1 {
                // A listed file was gone when it was read, perhaps because a prune is running. A new listing then starts at a later commit.
                attempts -= 1
            }
        }
    }

    /// Checks whether the zone was moved and everything but its last commit was removed.
    ///
    /// - Throws: ``CloudError`` with `.zoneMoved` if so; with `.untrusted` if the commit was not made by a member that publishes.
    private func verifyMoved(_ end: VerifiedCommit) throws {
        guard let move = end.commit.zoneMove, let checkpoint = end.commit.checkpoint,
            try zone.checkpointBytes(checkpoint.number) == nil
        else { return }
        if history.isSigned {
            let place = history.place(ofCommit: end.commit.token.number)
            let members = try MemberList(move.successor.members ?? [], of: history, at: place)
            try members.verifyPublisher(end.commit.device, key: end.commit.key, at: place)
            try zone.authority.accept(members, isNewest: true, of: history)
        }
        throw move.error(in: history.zone)
    }

    /// Returns a log that starts at the checkpoint that counts. If that checkpoint is missing but commit 1 is kept, the log starts at the
    /// beginning.
    func start(at reference: CheckpointReference?) throws -> ReplayedHistory {
        guard let reference else { return ReplayedHistory(of: history) }
        if let bytes = try zone.checkpointBytes(reference.number) {
            return try ReplayedHistory(checkpoint: bytes, named: reference, of: history)
        }
        guard try zone.commitBytes(1) != nil else {
            throw CloudError(
                .damaged, at: history.place(ofCheckpoint: reference.number), "the checkpoint is missing and the history before it is pruned",
                hint: "if a sync tool is bringing files, wait for it; else bring the file back from a copy", isRetryable: true)
        }
        return ReplayedHistory(of: history)
    }

    func fold(_ log: inout ReplayedHistory, upTo number: Int, _ onCommit: (Commit) -> Void) throws {
        guard log.nextNumber <= number else { return }
        var end = try zone.forEachCommit(from: log.nextNumber, upTo: number) { onCommit(try log.append($0)) }
        // A source may remember that a commit was not there, from before the newest one was published. It says so once.
        if end <= number { end = try zone.forEachCommit(from: end, upTo: number) { onCommit(try log.append($0)) } }
        guard end > number else { throw gap(at: end) }
    }

    private func emptyLog() throws -> ReplayedHistory {
        guard let checkpoint = try zone.checkpointNumbers().last else { return ReplayedHistory(of: history) }
        throw CloudError(
            .damaged, at: history.place(ofCheckpoint: checkpoint), "there is a checkpoint but no commit",
            hint: "if a sync tool is bringing files, wait for it; else run snapsync check", isRetryable: true)
    }
}

extension HistoryReader {
    private func gap(at number: Int) -> CloudError {
        CloudError(
            .damaged, at: history.place(ofCommit: number), "the commit is missing and later ones are there",
            hint: "if a sync tool is bringing files, wait for it; else bring the file back from a copy", isRetryable: true)
    }

    private func changedWhileRead(_ number: Int) -> CloudError {
        CloudError(
            .damaged, at: history.place(ofCommit: number), "the commit changed while it was read", hint: "run snapsync check",
            isRetryable: true)
    }

    private func rolledBack(_ token: ChangeToken, _ reason: String) -> CloudError {
        CloudError(
            .rolledBack, at: history.place(ofCommit: token.number), reason,
            hint: "an older copy of the directory was put back, or another device published this version in a copy; run snapsync check")
    }
}

extension HistoryReader {
    /// Returns all kept commits, oldest first, each checked against its parent.
    ///
    /// They begin after the last gap. Below a checkpoint that counts, gaps are normal, because a sync tool may deliver removals in any
    /// order.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if a commit above that checkpoint is missing or does not follow from its parent.
    package func all() throws -> [Commit] {
        let numbers = try zone.commitNumbers()
        guard let newest = numbers.last else { return [] }
        let first = newest - (numbers.reversed().enumerated().prefix { $0.element == newest - $0.offset }.count - 1)
        guard let bytes = try zone.commitBytes(first) else { return [] }
        let oldest = try VerifiedCommit(bytes, number: first, of: zone.history)
        var log = ReplayedHistory(after: oldest, of: zone.history)
        var commits = [oldest.commit]
        try zone.forEachCommit(from: log.nextNumber) { commits.append(try log.append($0)) }
        // The walk above ends at the newest commit or at a gap; reading the whole zone refuses a gap. In a signed zone it also verifies the
        // signers. Each commit names its parent's hash, so this covers all commits before it.
        let whole: ReplayedHistory
        do {
            whole = try self.log(at: nil)
        } catch let error as CloudError where error.code == .zoneMoved {
            // Only the last commit of a moved zone is left, and it is already verified.
            return commits
        }
        if zone.history.isSigned, let token = whole.token, !commits.contains(where: { $0.token == token }) {
            throw CloudError(
                .damaged, at: zone.history.place(ofCommit: token.number), "the history changed while it was read", hint: "run the same command again",
                isRetryable: true)
        }
        return commits
    }
}

extension HistoryReader {
    /// Returns up to `count` commits that end with the token's, oldest first. They are read backwards, each found by the hash in its
    /// successor.
    ///
    /// - Throws: ``CloudError`` with `.changeTokenExpired`, `.rolledBack` or `.damaged`. Commits before the token's may have been pruned.
    package func commits(upTo token: ChangeToken, count: Int) throws -> [Commit] {
        _ = try log(after: token)
        var commits: [Commit] = []
        var next: ChangeToken? = token
        var read: [Int: [UInt8]] = [:]
        while let token = next, commits.count < count {
            if read[token.number] == nil {
                let width = min(zone.readWidth(after: count - commits.count), count - commits.count, token.number)
                let numbers = token.number - width + 1...token.number
                let found = zip(numbers, try zone.commitBytes(numbers))
                read = Dictionary(uniqueKeysWithValues: found.compactMap { number, bytes in bytes.map { (number, $0) } })
            }
            guard let bytes = read[token.number] else { break }
            let commit = try VerifiedCommit(bytes, number: token.number, of: zone.history, knowing: token).commit
            guard commit.token == token else {
                throw CloudError(
                    .damaged, at: zone.history.place(ofCommit: token.number), "the commit is not the one that the next one follows",
                    hint: "the history is damaged or two devices published the same number; run snapsync check")
            }
            commits.append(commit)
            next = commit.parent.map { ChangeToken(number: token.number - 1, hash: $0) }
        }
        return commits.reversed()
    }
}

extension HistoryReader {
    /// Returns the zone as of a checkpoint. The checkpoint's hash is enough to trust it, even where the commits below it are pruned.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the checkpoint is not there, `.damaged` if it is another.
    package func state(of reference: CheckpointReference) throws -> ZoneState {
        guard let bytes = try zone.checkpointBytes(reference.number) else {
            throw CloudError(
                .unknownItem, at: zone.history.place(ofCheckpoint: reference.number), "the checkpoint is not there",
                hint: "if a sync tool is bringing files, wait for it")
        }
        let log = try ReplayedHistory(checkpoint: bytes, named: reference, of: zone.history)
        if let members = log.members { try zone.authority.accept(members, isNewest: false, of: zone.history) }
        if let move = log.move { throw move.error(in: zone.history.zone) }
        return log.state
    }

    /// Returns a log replayed up to commit `number`, starting at the checkpoint that the commit names.
    ///
    /// If that checkpoint or a commit after it was pruned, a later commit may name a checkpoint that is closer to `number`.
    func folded(upTo number: Int, naming reference: CheckpointReference?) throws -> ReplayedHistory {
        do {
            return try folded(upTo: number, from: reference)
        } catch let error as CloudError where error.code == .damaged && error.isRetryable {
            if let closer = try closestCheckpoint(to: number), closer != reference { return try folded(upTo: number, from: closer) }
            guard try isPruned(number) else { throw error }
            throw notKept(number)
        }
    }

    /// The error for a version whose commit was pruned, or whose checkpoint or earlier commits were.
    func notKept(_ number: Int) -> CloudError {
        CloudError(
            .unknownItem, at: zone.history.place(ofCommit: number), "that version is no longer kept",
            hint: "snapsync log lists the versions that are kept")
    }

    private func folded(upTo number: Int, from reference: CheckpointReference?) throws -> ReplayedHistory {
        var log = try start(at: reference)
        try fold(&log, upTo: number) { _ in }
        return log
    }

    /// Returns the highest checkpoint that is not above `number` and that a commit from `number` on names.
    private func closestCheckpoint(to number: Int) throws -> CheckpointReference? {
        var closest: CheckpointReference?
        var next = number
        while let bytes = try zone.commitBytes(next) {
            if let named = try VerifiedCommit(bytes, number: next, of: zone.history).commit.checkpoint {
                guard named.number <= number else { break }
                closest = named
            }
            next += 1
        }
        return closest
    }

    /// Whether the newest commit names a checkpoint at or above `number`. Then commits up to that checkpoint may be missing.
    private func isPruned(_ number: Int) throws -> Bool {
        guard let newest = try zone.newestCommitNumber(), let bytes = try zone.commitBytes(newest) else { return false }
        return try VerifiedCommit(bytes, number: newest, of: zone.history).commit.checkpoint.map { $0.number >= number } ?? false
    }
}
