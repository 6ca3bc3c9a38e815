package import CloudStore

/// Reads a zone's history by the rules: probe from a token, list only on a first visit, follow every link.
///
/// All of it is the same for every backend; what differs is the ``HistorySource``.
package struct HistoryReader<Source: HistorySource> {
    let source: Source

    package init(source: Source) {
        self.source = source
    }

    private var history: HistoryID { source.history }

    /// The commits after `token`, or, without one, all that is needed to know the zone whole.
    package func changes(since token: ChangeToken?) throws -> ZoneChanges {
        guard let token else { return try firstVisit() }
        var found: [[UInt8]] = []
        try source.refreshCommits()
        try source.forEachCommit(from: token.number + 1) { found.append($0) }
        // Only now: had the token's commit been pruned before the probes, they would have found nothing and looked like "no news".
        if found.isEmpty, try isTheEnd(token) { return ZoneChanges(base: [], commits: [], token: token) }
        // A publisher that has seen the token's commit as the newest less than half a day ago finds what follows it: no commit that young is pruned.
        var log = try log(after: token, bytes: source.commitBytesToPublish(after: token))
        if !found.isEmpty { try provideMembers(to: &log) }
        let commits = try found.map { try log.append($0) }
        if !commits.isEmpty {
            if let members = log.members { try source.authority.accept(members, isNewest: true, after: commits, of: history) }
            // Their publisher may not have come to that yet, or been killed: what a device has read must not be taken back.
            try source.makeCommitsDurable()
            source.ends.remember(log)
        }
        if let deletion = log.deletion { throw deletion.error(in: history.zone) }
        return ZoneChanges(base: [], commits: commits, token: log.token)
    }

    /// Whether the token's commit is there, byte for byte as this device has read it, does nothing to the zone itself and asks for nothing.
    ///
    /// What its bytes say was checked when the token was made of their hash; those two alone concern whoever comes again, with a program
    /// of another version perhaps. A key that is not spelt out needs an escape like \u0072.
    private func isTheEnd(_ token: ChangeToken) throws -> Bool {
        guard let bytes = try source.commitBytesToPublish(after: token) ?? source.commitBytes(token.number), ContentHash.of(bytes) == token.hash else {
            return false
        }
        guard !bytes.holds("\\u"), !bytes.holds("\"zoneEvent\"") else { return false }
        return bytes.holds("\"requires\"") == history.isSigned && (!history.isSigned || bytes.holds(signedRequirements))
    }

    /// What a commit of a signed zone asks for, if nothing else: a key stands in the document once.
    private var signedRequirements: String { "\"requires\":[\(history.requirements.map { "\"\($0)\"" }.joined(separator: ","))]" }

    /// Sees that a log which goes on from a commit that was read knows the members as of that commit.
    ///
    /// They are what the device has verified before, or stand in the zone's records.
    func provideMembers(to log: inout ReplayedHistory) throws {
        guard log.lacksMembers, let token = log.token else { return }
        if let known = try source.authority.list(asOf: token, of: history) { return log.provide(known) }
        let folded = try self.log(at: token.number)
        guard folded.token == token, let members = folded.members else { throw changedWhileRead(token.number) }
        log.provide(members)
    }

    /// The members of a signed zone as of the newest commit that this device has verified; nil in one that is not signed.
    package func members() throws -> MemberList? {
        guard history.isSigned else { return nil }
        return try source.authority.current(of: history) ?? log(at: nil).members
    }

    /// The members as of the newest commit that is there; nil in a zone that is not signed, empty in one without commits.
    package func newestMembers() throws -> MemberList? {
        guard history.isSigned else { return nil }
        return try log(at: nil).members
    }

    /// The live records as of commit `number` (nil: the newest), in a zone that is not behind `token`.
    package func state(at number: Int?, notBefore token: ChangeToken?) throws -> ZoneState {
        if let token { try verifyNotBehind(token) }
        let log = try log(at: number)
        if let deletion = log.deletion { throw deletion.error(in: history.zone) }
        return log.state
    }

    /// The zone folded up to commit `number` (nil: the newest).
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if that commit is not there.
    package func log(at number: Int?) throws -> ReplayedHistory {
        guard let number else { return try newest { log, _ in log } }
        guard let bytes = try source.commitBytes(number) else {
            let newest = try source.commitNumbers().last ?? 0
            guard number > newest else { throw notKept(number) }
            throw CloudError(
                .unknownItem, at: history.place(ofCommit: number), "there is no such version yet; the newest is \(newest)",
                hint: "snapsync history lists the versions that are kept")
        }
        let log = try folded(upTo: number, naming: VerifiedCommit(bytes, number: number, of: history).checkpoint)
        guard log.token?.hash == ContentHash.of(bytes) else { throw changedWhileRead(number) }
        if let members = log.members { try source.authority.accept(members, isNewest: false, of: history) }
        return log
    }

    /// A log that goes on from the token's commit, which was read and found to be the one that the token means.
    ///
    /// - Parameters:
    ///   - takesRecent: whether it suffices that the commit was there a moment ago.
    ///   - known: the commit's bytes, where it need not be looked at.
    /// - Throws: ``CloudError`` with `.changeTokenExpired`, `.rolledBack` or `.damaged`.
    func log(after token: ChangeToken, takesRecent: Bool = false, bytes known: [UInt8]? = nil) throws -> ReplayedHistory {
        let recent = known ?? (takesRecent ? source.recentCommitBytes(token.number) : nil)
        guard let bytes = try recent ?? source.commitBytes(token.number) else { throw try absence(of: token) }
        if let end = source.ends.end(at: token, of: history), ContentHash.of(bytes) == token.hash { return end }
        let commit = try VerifiedCommit(bytes, number: token.number, of: history)
        guard commit.commit.token == token else {
            throw rolledBack(token, "the commit there is not the one that this device has read")
        }
        let log = ReplayedHistory(after: commit, of: history)
        source.ends.remember(log)
        return log
    }

    /// Whether a kept commit names the asset. Only commits from the asset's own number on can.
    package func isNamed(_ path: AssetPath) throws -> Bool {
        var number = path.number
        while let bytes = try source.recentCommitBytes(number) ?? source.commitBytes(number) {
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
            // Pruned, and the history goes on beyond it: reading the zone whole is just what such a device needs.
        }
    }

    /// Why the token's commit is not there.
    private func absence(of token: ChangeToken) throws -> CloudError {
        let newest = try source.commitNumbers().last ?? 0
        guard newest > token.number else {
            return rolledBack(token, "the zone ends at commit \(newest), before what this device has read")
        }
        guard let bytes = try source.commitBytes(newest),
            let checkpoint = try VerifiedCommit(bytes, number: newest, of: history).checkpoint, checkpoint.number >= token.number
        else { return gap(at: token.number) }
        return CloudError(
            .changeTokenExpired, at: history.place(ofCommit: token.number), "the commit was pruned; the zone goes on from checkpoint \(checkpoint.number)",
            hint: "read the zone whole")
    }

    private func firstVisit() throws -> ZoneChanges {
        var commits: [Commit] = []
        let (deletion, changes) = try newest(willRestart: { commits = [] }, onCommit: { commits.append($0) }) { log, base in
            (log.deletion, ZoneChanges(base: base, commits: commits, token: log.token))
        }
        if !changes.commits.isEmpty { try source.makeCommitsDurable() }
        if let deletion { throw deletion.error(in: history.zone) }
        return changes
    }

    /// Lists once, starts at the newest checkpoint that counts, and folds up to the newest commit.
    private func newest<Result>(
        willRestart: () -> Void = {}, onCommit: (Commit) -> Void = { _ in }, _ result: (ReplayedHistory, [CloudRecord]) -> Result
    ) throws -> Result {
        var attempts = 3
        while true {
            willRestart()
            let numbers = try source.commitNumbers()
            guard let newest = numbers.last else {
                let log = try emptyLog()
                if let members = log.members { try source.authority.verifyFloor(nil, members, of: history) { _ in nil } }
                return result(log, [])
            }
            do {
                guard let bytes = try source.commitBytes(newest) else { throw gap(at: newest) }
                let end = try VerifiedCommit(bytes, number: newest, of: history)
                try verifyMoved(end)
                var log = try start(at: end.checkpoint)
                let base = log.records
                var hashes: [Int: String] = [:]
                if let token = log.token { hashes[token.number] = token.hash }
                try fold(&log, upTo: newest) { commit in
                    hashes[commit.token.number] = commit.token.hash
                    onCommit(commit)
                }
                if let members = log.members {
                    try source.authority.accept(members, isNewest: true, of: history)
                    try source.authority.verifyFloor(log.token, members, of: history) { hashes[$0] }
                }
                return result(log, base)
            } catch let error as CloudError where error.code == .damaged && error.isRetryable && attempts > 1 {
                // Something listed was gone when it was read: a prune at work, perhaps. If so, a new listing starts later.
                attempts -= 1
            }
        }
    }

    /// Looks whether a zone goes on elsewhere, all of which but its last commit was removed.
    ///
    /// - Throws: ``CloudError`` with `.zoneMoved` if it does; with `.untrusted` if none of its members says so.
    private func verifyMoved(_ end: VerifiedCommit) throws {
        guard let moved = end.commit.zoneDeletion, let successor = moved.successor, let checkpoint = end.checkpoint,
            try source.checkpointBytes(checkpoint.number) == nil
        else { return }
        if history.isSigned {
            let place = history.place(ofCommit: end.commit.token.number)
            let members = try MemberList(successor.members ?? [], of: history, at: place)
            try members.verifyPublisher(end.commit.device, key: end.commit.key, at: place)
            try source.authority.accept(members, isNewest: true, of: history)
        }
        throw moved.error(in: history.zone)
    }

    /// A log at the checkpoint that counts, or, if that has not arrived, at the beginning where all commits are kept.
    func start(at reference: CheckpointReference?) throws -> ReplayedHistory {
        guard let reference else { return ReplayedHistory(of: history) }
        if let bytes = try source.checkpointBytes(reference.number) {
            return try ReplayedHistory(checkpoint: bytes, named: reference, of: history)
        }
        guard try source.commitBytes(1) != nil else {
            throw CloudError(
                .damaged, at: history.place(ofCheckpoint: reference.number), "the checkpoint is missing and the history before it is pruned",
                hint: "if a sync tool is bringing files, wait for it; else bring the file back from a copy", isRetryable: true)
        }
        return ReplayedHistory(of: history)
    }

    func fold(_ log: inout ReplayedHistory, upTo number: Int, _ onCommit: (Commit) -> Void) throws {
        guard log.nextNumber <= number else { return }
        let end = try source.forEachCommit(from: log.nextNumber, upTo: number) { onCommit(try log.append($0)) }
        guard end > number else { throw gap(at: end) }
    }

    private func emptyLog() throws -> ReplayedHistory {
        guard let checkpoint = try source.checkpointNumbers().last else { return ReplayedHistory(of: history) }
        throw CloudError(
            .damaged, at: history.place(ofCheckpoint: checkpoint), "there is a checkpoint but no commit",
            hint: "if a sync tool is bringing files, wait for it; else run snapsync doctor", isRetryable: true)
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
            .damaged, at: history.place(ofCommit: number), "the commit changed while it was read", hint: "run snapsync doctor",
            isRetryable: true)
    }

    private func rolledBack(_ token: ChangeToken, _ reason: String) -> CloudError {
        CloudError(
            .rolledBack, at: history.place(ofCommit: token.number), reason,
            hint: "an older copy of the directory was put back, or it is another one; run snapsync doctor")
    }
}

extension [UInt8] {
    /// Whether these bytes stand somewhere among them.
    fileprivate func holds(_ text: String) -> Bool {
        let part = Array<UInt8>(text.utf8)
        guard let first = part.first, count >= part.count else { return false }
        return (0...count - part.count).contains { self[$0] == first && self[$0..<$0 + part.count].elementsEqual(part) }
    }
}
