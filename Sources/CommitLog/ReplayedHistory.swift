package import CloudStore
import StrictText

/// A zone's history folded up to one commit: the live records, and what the next commit must follow from.
///
///     var log = ReplayedHistory(of: history)
///     let commit = try log.append(bytes)      // commit 1
///     log.records                             // what it saved
///
/// A value: no files, no clock. Both backends fold with it, so both refuse the same.
package struct ReplayedHistory {
    let history: HistoryID
    /// The last commit; nil before the first.
    private(set) var token: ChangeToken?
    /// The last commit's timestamp.
    private(set) var timestamp: Instant?
    /// Why the zone was deleted, if the last commit deleted it or none since has made it anew.
    private(set) var deletion: ZoneDeletion?
    /// The newest checkpoint that the last commit knows.
    private(set) var checkpoint: CheckpointReference?
    private var live: [String: CloudRecord]

    /// A zone without commits.
    package init(of history: HistoryID) {
        self.init(history: history, token: nil, timestamp: nil, checkpoint: nil, live: [:])
    }

    /// A log that goes on from a known commit whose records are not asked for.
    init(after commit: VerifiedCommit, of history: HistoryID) {
        self.init(
            history: history, token: commit.commit.token, timestamp: commit.commit.timestamp, checkpoint: commit.checkpoint, live: [:],
            deletion: commit.commit.zoneDeletion)
    }

    init(
        history: HistoryID, token: ChangeToken?, timestamp: Instant?, checkpoint: CheckpointReference?, live: [String: CloudRecord],
        deletion: ZoneDeletion? = nil
    ) {
        self.deletion = deletion
        self.history = history
        self.token = token
        self.timestamp = timestamp
        self.checkpoint = checkpoint
        self.live = live
    }

    /// The same, without the records: what the next commit must follow from.
    var end: ReplayedHistory {
        ReplayedHistory(history: history, token: token, timestamp: timestamp, checkpoint: checkpoint, live: [:], deletion: deletion)
    }

    /// The number that the next commit must have.
    package var nextNumber: Int { (token?.number ?? 0) + 1 }

    /// The live records in the byte order of their names.
    var records: [CloudRecord] {
        live.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    var state: ZoneState { ZoneState(records: records, token: token, timestamp: timestamp) }

    /// Checks that `bytes` are the next commit and folds it in.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if it does not follow from its parent, or with `.incompatibleVersion`.
    ///   The log is unchanged then.
    @discardableResult
    package mutating func append(_ bytes: [UInt8]) throws(CloudError) -> Commit {
        let next = try VerifiedCommit(bytes, number: nextNumber, of: history)
        try verifyLink(to: next)
        if next.zoneEvent != nil {
            live = [:]
            deletion = next.commit.zoneDeletion
        }
        for record in next.commit.saved { live[record.name] = record.following(live[record.name]) }
        for name in next.commit.deleted { live[name] = nil }
        token = next.commit.token
        timestamp = next.commit.timestamp
        checkpoint = next.checkpoint
        return next.commit
    }

    private func verifyLink(to next: VerifiedCommit) throws(CloudError) {
        let place = history.place(ofCommit: nextNumber)
        guard next.commit.parent == token?.hash else {
            var error = CloudError(
                .damaged, at: place, "the commit was made after another parent than the one that is there",
                hint: "the history is damaged or two devices published the same number; run snapsync doctor")
            error.missingParent = next.commit.parent.map { ChangeToken(number: nextNumber - 1, hash: $0) }
            throw error
        }
        guard (deletion == nil) == (next.zoneEvent != .created) else {
            throw CloudError(
                .damaged, at: place, deletion == nil ? "the commit makes a zone that is there" : "the commit goes on in a zone that was deleted",
                hint: CloudError.damageHint)
        }
        guard next.commit.timestamp == CommitClock.timestamp(clock: next.commit.clock, after: timestamp) else {
            throw CloudError(.damaged, at: place, "the commit's time does not follow from its parent's", hint: CloudError.damageHint)
        }
        guard (next.checkpoint?.number ?? 0) >= (checkpoint?.number ?? 0) else {
            throw CloudError(.damaged, at: place, "the commit names an older checkpoint than its parent", hint: CloudError.damageHint)
        }
    }
}
