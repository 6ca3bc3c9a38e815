import StrictText

/// A checkpoint's JSON: all live records as of one commit. The commits alone determine its bytes, so every device computes the same file.
package struct CheckpointDocument: Codable {
    /// As in commit `number`.
    let answered: [ExactText: Int64]?
    let cloud: String
    /// The SHA-256 of the file of commit `number`.
    let commit: String
    let number: Int
    /// Sorted by the UTF-8 bytes of their names, each with its change tag.
    let records: [RecordDocument]
    /// The timestamp of commit `number`.
    let timestamp: Instant
    let zone: String

    static let sealName = "checkpoint"
    /// The largest checkpoint file, in bytes.
    package static let byteLimit = 256 << 20
    /// A checkpoint is due when this many commits have passed since the last one.
    static let interval = 16
}

extension ReplayedHistory {
    /// The file of the checkpoint at the log's last commit; nil before the first commit.
    package func checkpointBytes() throws -> [UInt8]? {
        // No commit follows in a zone that was moved, so no commit could name the checkpoint.
        guard let token, let timestamp, move == nil else { return nil }
        let document = CheckpointDocument(
            answered: answered.isEmpty ? nil : answered, cloud: history.cloud, commit: token.hash, number: token.number,
            records: records.map { RecordDocument($0, tagged: true) }, timestamp: timestamp, zone: history.zone.description)
        return try ChecksummedDocument.encode(document, named: CheckpointDocument.sealName)
    }

    /// Starts a log at a checkpoint. Its bytes must have the hash that a commit names.
    ///
    /// - Throws: ``CloudError`` with `.damaged` or `.incompatibleVersion`.
    package init(checkpoint bytes: [UInt8], named reference: CheckpointReference, of history: HistoryID) throws(CloudError) {
        let place = history.place(ofCheckpoint: reference.number)
        guard ContentHash.of(bytes) == reference.sha256 else {
            throw CloudError(.damaged, at: place, "the checkpoint does not match its hash", hint: CloudError.damageHint)
        }
        let document = try ChecksummedDocument.decode(CheckpointDocument.self, named: CheckpointDocument.sealName, from: bytes, at: place)
        var records = RecordTable()
        for saved in document.records {
            guard let tag = saved.changeTag, let number = Int(tag), (1...reference.number).contains(number) else {
                throw CloudError(.damaged, at: place, "a record has no change tag", hint: CloudError.damageHint)
            }
            let record = saved.record(tag: tag)
            if let fault = record.fault(at: number) { throw CloudError(.damaged, at: place, fault, hint: CloudError.damageHint) }
            records[record.name] = record
        }
        guard document.cloud == history.cloud, document.zone == history.zone.description, document.number == reference.number,
            ContentHash.isHash(document.commit), AnsweredEdits.isPossible(document.answered), records.count == document.records.count
        else { throw CloudError(.damaged, at: place, "the checkpoint is not one of this place", hint: CloudError.damageHint) }
        var members: MemberList?
        if history.isSigned {
            guard let record = records[MemberList.recordName], let number = record.changeTag.flatMap({ Int($0) }) else {
                throw MemberList.untrusted(place, "the checkpoint has no list of members")
            }
            members = try MemberList(record, savedBy: number, of: history, at: place)
        }
        // The log starts without a checkpoint reference, since only a commit can name one, and a checkpoint may be made long after its
        // commit.
        self.init(
            history: history, token: ChangeToken(number: reference.number, hash: document.commit), timestamp: document.timestamp,
            checkpoint: nil, live: records, answered: document.answered ?? [:])
        if let members { provide(members) }
    }
}
