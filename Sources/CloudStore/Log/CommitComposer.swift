package import StrictText

/// Makes the bytes of the next commit from a draft, and decides whether a device may publish it.
struct CommitComposer {
    let history: HistoryID
    let zone: ZoneInfo

    /// Returns the file of the commit that follows the last one of `log`. The draft must be verified (``verify(_:number:)``).
    ///
    /// - Parameter checkpoint: the newest checkpoint in the store. The checkpoint counts once a commit names it.
    /// - Parameter nonce: 16 hexadecimal digits.
    /// - Parameter keys: the device's keys, in a signed zone.
    /// - Throws: ``CloudError`` with `.invalidArguments` or `.limitExceeded`.
    func compose(_ draft: CommitDraft, after log: ReplayedHistory, checkpoint: CheckpointReference?, nonce: String, by keys: DeviceKeys?) throws
        -> PreparedCommit
    {
        let number = log.nextNumber
        let answered = log.answered.merging(draft.answered) { $1 }
        if let device = AnsweredEdits.firstFallen(from: log.answered, to: answered) {
            throw invalid("the edits of \(device) are decided beyond the number that the draft states")
        }
        let document = CommitDocument(
            answered: answered.isEmpty ? nil : answered, approvals: draft.approvals, checkpoint: checkpoint, clock: draft.clock, cloud: history.cloud,
            zone: history.zone.description, deleted: draft.deleting.sorted(), device: draft.device, key: keys?.publicKeys.signing,
            nonce: nonce,
            number: number, parent: log.token?.hash, requires: requirements(draft),
            saved: sorted(draft.saving).map { RecordDocument($0, tagged: false) },
            timestamp: CommitClock.timestamp(clock: draft.clock, after: log.timestamp),
            zoneEvent: draft.successor.map(ZoneEventDocument.init))
        let bytes = try ChecksummedDocument.encode(document, named: CommitDocument.sealName, by: keys)
        guard bytes.count <= CommitDocument.byteLimit else {
            throw CloudError(
                .limitExceeded, at: "draft", "the commit would be \(bytes.count) bytes, the limit is \(CommitDocument.byteLimit)",
                hint: "save fewer records at once")
        }
        return PreparedCommit(zone: history.zone, token: ChangeToken(number: number, hash: ContentHash.of(bytes)), bytes: bytes)
    }

    /// Refuses a draft that no reader could read back, or that its device may not publish.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`, `.notAuthorized` or `.clockUnusable`.
    func verify(_ draft: CommitDraft, number: Int) throws(CloudError) {
        try CloudNames.verify(draft.device, isNameOf: "device")
        try authorize(draft.device, number: number)
        try CommitClock.verify(draft.clock)
        guard (draft.successor != nil) == (draft.saving.isEmpty && draft.deleting.isEmpty && draft.answered.isEmpty) else {
            throw invalid(draft.successor == nil ? "the commit would change nothing" : "a commit that moves a zone saves nothing")
        }
        for name in draft.deleting { try CloudNames.verify(name, isNameOf: "record") }
        guard draft.answered.isEmpty || AnsweredEdits.isPossible(draft.answered) else { throw invalid("a number of decided edits is not possible") }
        let names = draft.saving.map(\.name) + draft.deleting
        guard Set(names).count == names.count else { throw invalid("a record is saved or deleted twice") }
        for record in draft.saving {
            // Unsealed records must not reach the store. The composer cannot seal them, since it does not have the zone's keys.
            guard !history.isSealed || record.mayStandInSealedZone else { throw invalid("the zone is sealed, and record \(record.name) is not") }
            if let fault = record.fault(at: number) { throw invalid(fault) }
        }
    }

    /// Refuses a device that may not publish here. Only the zone's creator makes commit 1; under `publishers: one` it makes every commit.
    ///
    /// - Throws: ``CloudError`` with `.notAuthorized`.
    func authorize(_ device: String, number: Int) throws(CloudError) {
        guard device != zone.creator, zone.publishers == .one || number == 1 else { return }
        throw CloudError(
            .notAuthorized, at: zone.id.place,
            zone.publishers == .one
                ? "only the device \(zone.creator) may publish here" : "the zone's first commit is made by its creator \(zone.creator)",
            hint: zone.publishers == .one ? "use the role reader on this device" : "sync on \(zone.creator) first")
    }

    /// The features that a reader must support to read on; nil if format version 1 without features suffices.
    private func requirements(_ draft: CommitDraft) -> [String]? {
        let names = history.requirements + (draft.successor == nil ? [] : [ZoneEventDocument.requirement])
        return names.isEmpty ? nil : names
    }

    private func sorted(_ records: [CloudRecord]) -> [CloudRecord] {
        records.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private func invalid(_ reason: String) -> CloudError {
        CloudError(.invalidArguments, at: history.zone.place, reason)
    }
}

/// The rules for commit times. The times are for people to read, and never used for order.
package enum CommitClock {
    /// 2000 to 2100. A clock outside of it counts as not set.
    package static let plausible = Instant(microseconds: 946_684_800_000_000)...Instant(microseconds: 4_102_444_800_000_000)
    package static let dayInMicroseconds: Int64 = 86_400_000_000

    /// max(`clock`, the parent's timestamp + 1 ms).
    package static func timestamp(clock: Instant, after parent: Instant?) -> Instant {
        guard let parent else { return clock }
        return max(clock, parent.advanced(byMicroseconds: 1000))
    }

    /// Refuses a clock that is outside the plausible years.
    ///
    /// - Throws: ``CloudError`` with `.clockUnusable`.
    package static func verify(_ clock: Instant) throws(CloudError) {
        guard plausible.contains(clock) else {
            throw CloudError(.clockUnusable, at: "clock", "this device's clock says \(clock)", hint: "set the clock, then try again")
        }
    }

    /// Refuses a clock that differs from the cloud's own by a day or more.
    ///
    /// - Throws: ``CloudError`` with `.clockUnusable`.
    package static func verify(_ clock: Instant, against cloud: Instant) throws(CloudError) {
        guard abs(clock.microseconds - cloud.microseconds) < dayInMicroseconds else {
            throw CloudError(
                .clockUnusable, at: "clock", "this device's clock says \(clock), the location's \(cloud)",
                hint: "set the clock that is wrong, then try again")
        }
    }
}
