package import CloudStore

extension HistoryPublisher {
    /// Writes the checkpoint at a kept commit and returns its reference. The checkpoint counts once a later commit names this reference.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the commit is not kept, `.damaged` if a file with other bytes has that name,
    ///   `.limitExceeded` if the zone has too many records for a checkpoint.
    package func placeCheckpoint(at number: Int) throws -> CheckpointReference {
        let place = store.history.place(ofCheckpoint: number)
        guard let bytes = try HistoryReader(source: store).log(at: number).checkpointBytes(), bytes.count <= CheckpointDocument.byteLimit else {
            throw CloudError(.limitExceeded, at: place, "the checkpoint would be larger than \(CheckpointDocument.byteLimit) bytes")
        }
        guard try store.placeCheckpoint(bytes, number: number) != .taken else {
            throw CloudError(.damaged, at: place, "other bytes lie where the checkpoint belongs", hint: "take that file away, then try again")
        }
        return CheckpointReference(number: number, sha256: ContentHash.of(bytes))
    }

    /// Verifies that the checkpoint that a draft names exists and may be named by the commit after `log`.
    func verify(_ reference: CheckpointReference, after log: ReplayedHistory) throws {
        let place = store.history.place(ofCheckpoint: reference.number)
        guard reference.number < log.nextNumber, reference.number >= log.checkpoint?.number ?? 0 else {
            throw CloudError(.invalidArguments, at: place, "a commit names a checkpoint below itself, and never an older one than its parent")
        }
        guard let bytes = try store.checkpointBytes(reference.number), ContentHash.of(bytes) == reference.sha256 else {
            throw CloudError(.unknownItem, at: place, "the checkpoint that the commit would name is not there")
        }
    }
}
