import StrictText

/// A zone's history replayed up to one commit: the live records, and the values that the next commit must follow from.
///
///     var log = ReplayedHistory(of: history)
///     let commit = try log.append(bytes)      // commit 1
///     log.records                             // what it saved
///
/// A value without files or a clock. All backends replay with it, so all refuse the same histories.
package struct ReplayedHistory {
    let history: HistoryID
    /// The last commit; nil before the first.
    private(set) var token: ChangeToken?
    /// The last commit's timestamp.
    private(set) var timestamp: Instant?
    /// Where the last commit has moved the zone.
    private(set) var move: ZoneMove?
    /// The newest checkpoint that the last commit names.
    private(set) var checkpoint: CheckpointReference?
    /// For each device that has handed over edits: the number up to which they are decided.
    private(set) var answered: [ExactText: Int64]
    private var live: RecordTable
    /// In a signed zone: the members as of the last commit. If nil, they are not known, and signers are not checked, only signatures and
    /// parents.
    private(set) var members: MemberList?

    /// A zone without commits.
    package init(of history: HistoryID) {
        self.init(history: history, token: nil, timestamp: nil, checkpoint: nil, live: RecordTable())
        if history.isSigned { members = MemberList() }
    }

    /// A log that continues from a known commit, without that commit's records.
    ///
    /// In a signed zone it checks parents and signatures, but not whether the signer was a member, until ``provide(_:)`` sets the members.
    package init(after commit: VerifiedCommit, of history: HistoryID) {
        self.init(
            history: history, token: commit.commit.token, timestamp: commit.commit.timestamp, checkpoint: commit.commit.checkpoint, live: RecordTable(),
            answered: commit.commit.answered)
        move = commit.commit.zoneMove
    }

    init(
        history: HistoryID, token: ChangeToken?, timestamp: Instant?, checkpoint: CheckpointReference?, live: RecordTable,
        answered: [ExactText: Int64] = [:]
    ) {
        self.answered = answered
        self.history = history
        self.token = token
        self.timestamp = timestamp
        self.checkpoint = checkpoint
        self.live = live
    }

    /// Whether the caller must provide the members before the next commit can be fully checked.
    var lacksMembers: Bool { history.isSigned && members == nil }

    /// Sets the members as of the last commit.
    mutating func provide(_ members: MemberList) { self.members = members }

    /// The number that the next commit must have.
    package var nextNumber: Int { (token?.number ?? 0) + 1 }

    /// The live records, sorted by the UTF-8 bytes of their names.
    var records: [CloudRecord] {
        // Names are ASCII, and the order of such strings is that of their bytes.
        live.keys.sorted().compactMap { live[$0] }
    }

    var state: ZoneState { ZoneState(records: records, token: token, timestamp: timestamp) }

    /// Checks that `bytes` are the next commit, and applies it.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if the commit does not follow from its parent, with `.untrusted` if its signer was not
    ///   allowed to publish as of its parent, or with `.incompatibleVersion`. The log is then unchanged.
    @discardableResult
    package mutating func append(_ bytes: [UInt8]) throws(CloudError) -> Commit {
        try append(VerifiedCommit(bytes, number: nextNumber, of: history))
    }

    /// Checks that a commit with the number ``nextNumber`` follows from its parent, and applies it. Throws as ``append(_:)-[UInt8]`` does.
    @discardableResult
    mutating func append(_ next: VerifiedCommit) throws(CloudError) -> Commit {
        try verifyLink(to: next)
        members = try verifiedMembers(after: next)
        for record in next.commit.saved { live.save(record) }
        for name in next.commit.deleted { live[name] = nil }
        token = next.commit.token
        timestamp = next.commit.timestamp
        checkpoint = next.commit.checkpoint
        answered = next.commit.answered
        move = next.commit.zoneMove
        return next.commit
    }

    /// Returns the members as of the next commit; nil if they are not known as of its parent.
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
        // Commit 1 contains the list that allows it.
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
            throw CloudError(
                .damaged, at: place, "the commit was made after another parent than the one that is there",
                hint:
                    "bring the right commit back from a copy, or rename this one and those after it, the newest first (docs/writers.md)")
        }
        guard move == nil else {
            throw CloudError(.damaged, at: place, "the commit goes on in a zone that goes on elsewhere", hint: CloudError.damageHint)
        }
        guard next.commit.timestamp == CommitClock.timestamp(clock: next.commit.clock, after: timestamp) else {
            throw CloudError(.damaged, at: place, "the commit's time does not follow from its parent's", hint: CloudError.damageHint)
        }
        if let device = AnsweredEdits.firstFallen(from: answered, to: next.commit.answered) {
            throw CloudError(
                .damaged, at: place, "the commit states a smaller number of decided edits of \(device) than its parent", hint: CloudError.damageHint)
        }
        guard (next.commit.checkpoint?.number ?? 0) >= (checkpoint?.number ?? 0) else {
            throw CloudError(.damaged, at: place, "the commit names an older checkpoint than its parent", hint: CloudError.damageHint)
        }
    }
}
