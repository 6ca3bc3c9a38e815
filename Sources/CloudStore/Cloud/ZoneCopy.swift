/// Copies the files that one store of a zone has and another one lacks: assets first, then checkpoints, then commits, oldest first.
///
/// At every moment the copy is a valid zone that ends at one of the source's versions. An interrupted copy continues where it stopped. Each
/// asset's hash is checked before the asset gets its name. Messages, reports and the queue are not copied: the devices write them again.
package struct ZoneCopy {
    /// What was copied.
    package struct Outcome: Sendable {
        package var versions = 0
        package var assets = 0
        /// The total size of the assets, without their indexes.
        package var bytes = 0
        /// The newest version of the copy; nil if the source has none.
        package var newest: Int?
        /// The zone in which the source's goes on, if it has nothing but that to tell and the copy has versions of its own to keep.
        package var successor: String?
    }

    let zone: ZoneID
    let source: CloudDatabase
    let target: CloudDatabase
    let progress: (@Sendable (_ copied: Int, _ wanted: Int) -> Void)?

    private static let chunkBytes = 1 << 20

    /// - Parameter progress: called after each asset with the number copied so far and the total number.
    package init(
        _ zone: ZoneID, from source: CloudDatabase, to target: CloudDatabase, progress: (@Sendable (_ copied: Int, _ wanted: Int) -> Void)? = nil
    ) {
        (self.zone, self.progress, self.source, self.target) = (zone, progress, source, target)
    }

    /// Copies the zone, which must exist in both clouds.
    ///
    /// - Throws: ``CloudError``: `.badContainer` if the target has versions of its own, `.changeTokenExpired` if the source has pruned
    ///   versions that the target lacks, `.damaged` for bytes that do not match their hash; and the errors of the stores.
    package func run() throws -> Outcome {
        try copy(from: try source.store(of: zone), to: try target.store(of: zone))
    }

    private func copy(from: Zone, to: Zone) throws -> Outcome {
        let kept = try HistoryReader(from).all()
        let last = try to.newestCommitNumber()
        if let last, let end = kept.last, let move = end.zoneMove, kept.count == 1, last < end.token.number {
            // All versions but the one that says where the zone goes on were removed. In the copy that one would stand behind a gap.
            return Outcome(newest: last, successor: move.successor.zone)
        }
        try verifyPrefix(kept, last: last, in: to)
        guard let newest = kept.last?.token.number else { return Outcome() }
        var outcome = Outcome(newest: newest)
        let checkpoints = try checkpoints(from)
        let wanted = try wantedAssets(kept, checkpoints, from: from, to: to)
        for asset in wanted {
            try copy(asset, to)
            outcome.assets += 1
            outcome.bytes += asset.byteCount
            progress?(outcome.assets, wanted.count)
        }
        for checkpoint in checkpoints where try to.placeCheckpoint(checkpoint.bytes, number: checkpoint.number) == .taken {
            throw otherHistory(target, "checkpoint \(checkpoint.number) has other bytes than the source's")
        }
        let clock = try to.clock()
        for commit in kept where commit.token.number > last ?? 0 {
            guard let bytes = try from.commitBytes(commit.token.number), ContentHash.of(bytes) == commit.token.hash else {
                throw CloudError(
                    .pending, at: place(source, commit), "the version was removed while it was copied", hint: "run the same command again", isRetryable: true)
            }
            guard try to.placeCommit(bytes, number: commit.token.number, clock: clock) != .taken else {
                throw otherHistory(target, "version \(commit.token.number) was published there meanwhile")
            }
            outcome.versions += 1
        }
        return outcome
    }

    /// Verifies that the target's versions are the first ones of the source.
    private func verifyPrefix(_ kept: [Commit], last: Int?, in to: Zone) throws {
        guard let last else { return }
        guard let newest = kept.last?.token.number, last <= newest else {
            throw otherHistory(target, "it has version \(last), and \(source.location) ends at \(kept.last.map { "version \($0.token.number)" } ?? "none")")
        }
        guard let same = kept.first(where: { $0.token.number == last }) else {
            throw CloudError(
                .changeTokenExpired, at: "\(target.location), \(zone)",
                "it ends at version \(last), and \(source.location) keeps none before version \(kept[0].token.number)",
                hint: "copy into an empty place, and more often than versions are pruned")
        }
        guard let bytes = try to.commitBytes(last), ContentHash.of(bytes) == same.token.hash else {
            throw otherHistory(target, "its version \(last) is another one than that of \(source.location)")
        }
    }

    private func checkpoints(_ from: Zone) throws -> [(number: Int, bytes: [UInt8])] {
        try from.checkpointNumbers().compactMap { number in try from.checkpointBytes(number).map { (number, $0) } }
    }

    /// The assets that a kept commit or a checkpoint names and the target lacks.
    private func wantedAssets(
        _ kept: [Commit], _ checkpoints: [(number: Int, bytes: [UInt8])], from: Zone, to: Zone
    ) throws -> [CloudAsset] {
        var named: [String: CloudAsset] = [:]
        // A checkpoint may name assets of versions that were not pinned and are pruned by now.
        let stored = Set(try from.storedFiles().map(\.path))
        for checkpoint in checkpoints {
            let reference = CheckpointReference(number: checkpoint.number, sha256: ContentHash.of(checkpoint.bytes))
            let records = try ReplayedHistory(checkpoint: checkpoint.bytes, named: reference, of: from.history).records
            for asset in records.flatMap(\.assets) where stored.contains(asset.path) { named[asset.path] = asset }
        }
        for asset in kept.flatMap(\.saved).flatMap(\.assets) { named[asset.path] = asset }
        let there = Dictionary(try to.storedFiles().map { ($0.path, $0.byteCount) }, uniquingKeysWith: max)
        return try named.values.sorted { $0.path < $1.path }.filter { asset in
            guard let size = there[asset.path] else { return true }
            guard size == asset.byteCount else {
                throw CloudError(
                    .damaged, at: "\(target.location), \(zone)/\(asset.path)", "\(size) bytes long, the commit says \(asset.byteCount)",
                    hint: "remove that file from the copy, then run the same command again")
            }
            return false
        }
    }

    private func copy(_ asset: CloudAsset, _ to: Zone) throws {
        guard let path = AssetPath(asset.path) else { throw CloudError(.damaged, at: asset.path, "not the path of an asset", hint: CloudError.damageHint) }
        let reader = try source.reader(of: asset, in: zone)
        let writer = try target.writer(at: path, in: zone)
        do {
            var hash = ContentHash(), offset = 0
            var chunk = [UInt8](repeating: 0, count: min(Self.chunkBytes, max(asset.byteCount, 1)))
            while offset < asset.byteCount {
                let count = min(chunk.count, asset.byteCount - offset)
                // SAFETY: the buffer is used only within the closure.
                try chunk.withUnsafeMutableBytes { buffer in
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                    try reader.read(into: part, at: offset)
                    hash.update(UnsafeRawBufferPointer(part))
                    try writer.write(UnsafeRawBufferPointer(part))
                }
                offset += count
            }
            guard hash.hex == asset.sha256 else {
                throw CloudError(
                    .damaged, at: "\(source.location), \(zone)/\(asset.path)", "the bytes do not match the commit's hash; nothing was copied of it",
                    hint: "run snapsync repair, then the same command again")
            }
            if let index = try reader.index() { try writer.setIndex(index) }
            let written = try writer.finish(rawByteCount: asset.rawByteCount)
            guard written.path == asset.path else {
                throw CloudError(
                    .inputOutput, at: "\(target.location), \(zone)/\(asset.path)", "another program writes there", hint: "run the same command again",
                    isRetryable: true)
            }
        } catch {
            writer.abandon()
            throw error
        }
    }

    private func otherHistory(_ cloud: CloudDatabase, _ reason: String) -> CloudError {
        CloudError(
            .badContainer, at: "\(cloud.location), \(zone)", reason,
            hint: "devices publish in the copy, too; copy to an empty place, or in the other direction")
    }

    private func place(_ cloud: CloudDatabase, _ commit: Commit) -> String { "\(cloud.location), \(zone), version \(commit.token.number)" }
}
