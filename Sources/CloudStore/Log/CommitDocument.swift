import StrictText

/// A commit's JSON, as docs/cloud-directory.md describes it. Keys that are not named here are ignored.
package struct CommitDocument: Codable {
    /// For each device: the number of its last edit that is decided; absent if there is none. Numbers never go backwards.
    let answered: [ExactText: Int64]?
    let approvals: [String]
    /// The newest checkpoint. It counts because this commit names it.
    let checkpoint: CheckpointReference?
    let clock: Instant
    /// The cloud's UUID and the zone. The commit is valid nowhere else.
    let cloud: String
    let zone: String
    let deleted: [String]
    let device: String
    /// In a signed zone: the Ed25519 public key of the device that signed the commit.
    let key: String?
    /// 16 hexadecimal digits, so that two commits with the same content have different hashes.
    let nonce: String
    let number: Int
    /// The SHA-256 of the parent commit's file; absent in commit 1.
    let parent: String?
    /// The features that a reader must support to read on; absent if format version 1 without features suffices.
    let requires: [String]?
    let saved: [RecordDocument]
    let timestamp: Instant
    /// What the commit does to the zone itself. If present, `requires` names ``ZoneEventDocument/requirement``.
    let zoneEvent: ZoneEventDocument?

    static let sealName = "commit"
    /// The feature that each commit of a signed zone names in `requires`.
    static let signedRequirement = "signed"
    /// The feature that each commit of a sealed zone names in `requires` as well.
    static let sealedRequirement = "sealed"
    /// The largest commit file, in bytes.
    package static let byteLimit = 16 << 20
}

/// A commit that was read and is valid by itself, with the values that the next commit must follow from.
package struct VerifiedCommit {
    package let commit: Commit

    /// Decodes and checks the file of commit `number`; in a signed zone this includes its signature. ``ReplayedHistory`` checks whether the
    /// commit follows from its parent and whether its signer was allowed to publish.
    ///
    /// - Parameter token: a commit that this device has read before. Of one that has its number and hash the signature was checked then.
    /// - Throws: ``CloudError`` with `.damaged`, `.untrusted` or `.incompatibleVersion` at `place`.
    package init(_ bytes: [UInt8], number: Int, of history: HistoryID, knowing token: ChangeToken? = nil) throws(CloudError) {
        let place = history.place(ofCommit: number)
        let document: CommitDocument
        do throws(CloudError) {
            document = try ChecksummedDocument.decode(CommitDocument.self, named: CommitDocument.sealName, from: bytes, at: place, isSigned: history.isSigned)
        } catch {
            // A commit of a newer version may have another layout. If it names an unknown feature, that error explains more.
            let required = try? ChecksummedDocument.decode(
                Requirements.self, named: CommitDocument.sealName, from: bytes, at: place, isSigned: history.isSigned
            )
            .requires
            throw VerifiedCommit.unknown(required, at: place) ?? error
        }
        if let error = VerifiedCommit.unknown(document.requires, at: place) { throw error }
        if let error = document.zoneEvent?.unknown(at: place) { throw error }
        let event = RecordEvent(at: document.timestamp, device: document.device)
        let saved = document.saved.map { $0.record(tag: String(number), savedBy: event) }
        if let fault = document.fault(number: number, of: history, saving: saved) {
            throw CloudError(.damaged, at: place, fault, hint: CloudError.damageHint)
        }
        let found = ChangeToken(number: number, hash: ContentHash.of(bytes))
        if history.isSigned, found != token {
            try ChecksummedDocument.verifySignature(of: bytes, named: CommitDocument.sealName, by: document.key, at: place)
        }
        var commit = Commit(
            token: found, parent: document.parent, timestamp: document.timestamp,
            clock: document.clock, device: document.device, saved: saved,
            deleted: document.deleted, approvals: document.approvals,
            zoneMove: document.zoneEvent?.successor.map { ZoneMove(successor: $0, device: document.device, at: document.timestamp) })
        commit.checkpoint = document.checkpoint
        commit.answered = document.answered ?? [:]
        commit.key = history.isSigned ? document.key : nil
        self.commit = commit
    }

    private static func unknown(_ required: [String]?, at place: String) -> CloudError? {
        guard let required, !Set(required).isSubset(of: known) else { return nil }
        return CloudError(
            .incompatibleVersion, at: place, "the commit needs what this version does not know", hint: "update snapsync on this device")
    }

    private static let known = Set(ZoneProtection.all.features + [ZoneEventDocument.requirement])

    private struct Requirements: Decodable {
        let requires: [String]?
    }
}

extension CommitDocument {
    /// Returns what is wrong with the document as commit `number` of `history`, or nil.
    ///
    /// - Parameter records: ``saved``, as records.
    func fault(number: Int, of history: HistoryID, saving records: [CloudRecord]) -> String? {
        guard self.number == number, (1...CloudNames.largestNumber).contains(number) else { return "the commit says another number than its name" }
        guard cloud == history.cloud, zone == history.zone.description else { return "the commit is one of another location or zone" }
        guard (number == 1) == (parent == nil), parent.map(ContentHash.isHash) ?? true else { return "the parent's hash is not one" }
        guard (requires?.contains(CommitDocument.signedRequirement) == true) == history.isSigned else {
            return history.isSigned ? "the zone is signed, and the commit does not say so" : "the commit says that the zone is signed, and zone.json does not"
        }
        let named = Set(requires ?? []).subtracting([ZoneEventDocument.requirement])
        guard named.contains(CommitDocument.sealedRequirement) == history.isSealed else {
            return history.isSealed ? "the zone is sealed, and the commit does not say so" : "the commit says that the zone is sealed, and zone.json does not"
        }
        guard named == Set(history.requirements) else { return "the commit says another protection of the zone than zone.json" }
        guard CloudNames.isName(device), deleted.allSatisfy(CloudNames.isName) else { return "a name is not allowed" }
        guard CommitClock.plausible.contains(clock), timestamp >= clock else { return "the times are not possible" }
        guard AnsweredEdits.isPossible(answered) else { return "the numbers of decided edits are not possible" }
        if let checkpoint, !(1..<number).contains(checkpoint.number) || !ContentHash.isHash(checkpoint.sha256) {
            return "the checkpoint is not possible"
        }
        guard namesAreDifferent else { return "a record stands in the commit twice" }
        for record in records {
            if let fault = record.fault(at: number) { return fault }
        }
        // Events that a document of a commit need not have, and that nobody reads.
        for document in saved where document.created != nil || document.modified != nil {
            if let fault = document.record(tag: "").fault(at: number) { return fault }
        }
        if zoneEvent != nil, requires?.contains(ZoneEventDocument.requirement) != true || !saved.isEmpty || !deleted.isEmpty {
            return "a commit that moves the zone does something else too"
        }
        return nil
    }

    private var namesAreDifferent: Bool {
        // A publisher writes them in their order, so that neighbours tell.
        if deleted.isEmpty, saved.indices.dropFirst().allSatisfy({ saved[$0 - 1].name < saved[$0].name }) { return true }
        let names = saved.map(\.name) + deleted
        return Set(names).count == names.count
    }
}
