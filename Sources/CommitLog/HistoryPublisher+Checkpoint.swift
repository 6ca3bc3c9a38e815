package import CloudStore

extension HistoryPublisher {
    /// Puts the checkpoint at a kept commit in place and returns how a later commit names it, which makes it count.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the commit is not kept, `.damaged` if other bytes lie under that name,
    ///   `.limitExceeded` if the zone has too many records for one.
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

    /// Sees that a checkpoint which a draft wants to name is there and may be named after `log`.
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
