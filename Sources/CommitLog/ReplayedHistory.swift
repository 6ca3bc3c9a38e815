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
    /// In a signed zone: the members as of the last commit; nil if they are not known, and then only links are checked.
    private(set) var members: MemberList?

    /// A zone without commits.
    package init(of history: HistoryID) {
        self.init(history: history, token: nil, timestamp: nil, checkpoint: nil, live: [:])
        if history.isSigned { members = MemberList() }
    }

    /// A log that goes on from a known commit whose records are not asked for.
    ///
    /// In a signed zone only links and signatures are checked, not who signed, until ``provide(_:)`` says who the members were.
    package init(after commit: VerifiedCommit, of history: HistoryID) {
        self.init(
            history: history, token: commit.commit.token, timestamp: commit.commit.timestamp, checkpoint: commit.checkpoint, live: [:],
            deletion: commit.commit.zoneDeletion)
    }

    init(
        history: HistoryID, token: ChangeToken?, timestamp: Instant?, checkpoint: CheckpointReference?, live: [String: CloudRecord],
        deletion: ZoneDeletion? = nil, members: MemberList? = nil
    ) {
        self.members = members
        self.deletion = deletion
        self.history = history
        self.token = token
        self.timestamp = timestamp
        self.checkpoint = checkpoint
        self.live = live
    }

    /// The same, without the records: what the next commit must follow from.
    var end: ReplayedHistory {
        ReplayedHistory(history: history, token: token, timestamp: timestamp, checkpoint: checkpoint, live: [:], deletion: deletion, members: members)
    }

    /// Whether the members have to be provided before the next commit can be checked.
    var lacksMembers: Bool { history.isSigned && members == nil }

    /// Says who the members were as of the last commit.
    mutating func provide(_ members: MemberList) { self.members = members }

    /// The number that the next commit must have.
    package var nextNumber: Int { (token?.number ?? 0) + 1 }

    /// The live records in the byte order of their names.
    var records: [CloudRecord] {
        live.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    var state: ZoneState { ZoneState(records: records, token: token, timestamp: timestamp) }

    /// Checks that `bytes` are the next commit and folds it in.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if it does not follow from its parent, with `.untrusted` if its signer might not publish
    ///   as of its parent, or with `.incompatibleVersion`.
    ///   The log is unchanged then.
    @discardableResult
    package mutating func append(_ bytes: [UInt8]) throws(CloudError) -> Commit {
        let next = try VerifiedCommit(bytes, number: nextNumber, of: history)
        try verifyLink(to: next)
        members = try verifiedMembers(after: next)
        if next.zoneEvent != nil {
            // Who the members are outlives the zone's records, and so do their keys.
            live = live.filter { history.isSigned && $0.key == MemberList.recordName || history.isSealed && $0.key == KeyRing.recordName }
            deletion = next.commit.zoneDeletion
        }
        for record in next.commit.saved { live[record.name] = record.following(live[record.name]) }
        for name in next.commit.deleted { live[name] = nil }
        token = next.commit.token
        timestamp = next.commit.timestamp
        checkpoint = next.checkpoint
        return next.commit
    }

    /// The members as of the next commit, if they are known as of its parent.
    private func verifiedMembers(after next: VerifiedCommit) throws(CloudError) -> MemberList? {
        guard history.isSigned, let members else { return nil }
        let commit = next.commit, place = history.place(ofCommit: commit.token.number)
        guard !commit.deleted.contains(MemberList.recordName) else { throw MemberList.untrusted(place, "the commit deletes the list of members") }
        guard !history.isSealed || !commit.deleted.contains(KeyRing.recordName) else {
            throw MemberList.untrusted(place, "the commit deletes the keys of the zone")
        }
        var list = members
        if let record = commit.saved.first(where: { $0.name == MemberList.recordName }) {
            list = try MemberList(record, savedBy: commit.token.number, knowing: members, of: history, at: place)
            guard list.extends(members) else { throw MemberList.untrusted(place, "the commit takes statements out of the list of members") }
        }
        // Commit 1 brings the list by which it counts itself.
        guard members.statements.isEmpty else {
            try members.verifyPublisher(commit.device, key: commit.key, at: place)
            return list
        }
        guard list.statements.count == 1, list.creator?.device == commit.device else { throw MemberList.untrusted(place, "commit 1 is not the creator's") }
        try list.verifyPublisher(commit.device, key: commit.key, at: place)
        return list
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
        guard deletion?.successor == nil else {
            throw CloudError(.damaged, at: place, "the commit goes on in a zone that goes on elsewhere", hint: CloudError.damageHint)
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
