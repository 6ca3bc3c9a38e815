import CloudStore
import DirectoryCloud
import SnapshotModel

/// Cuts the power after each operation of a script, in each way, and looks at what is left: with an independent checker, as a
/// reader, and as the next publisher.
struct CutTrial {
    /// What was tried and what was found.
    struct Outcome {
        /// The states that cuts left, counted each time.
        var states = 0
        /// The different ones, all of which were looked at.
        var distinct = 0
        /// Cuts whose states were drawn, because there were too many.
        var sampled = 0
        /// The most operations that were pending at a cut.
        var pending = 0
        var problems: [String] = []

        mutating func add(_ other: Outcome) {
            states += other.states
            distinct += other.distinct
            sampled += other.sampled
            pending = max(pending, other.pending)
            problems += other.problems
        }
    }

    let cut: PowerCut
    /// What was promised by the time that so many operations had been done.
    let promise: (Int) -> CloudPromise
    let seed: UInt64
    /// Every so many states a reader and a publisher go on from it; the checker looks at all.
    var stride = 1
    /// The first cut; later ones follow up to the end.
    var first = 0

    /// Tries all cuts.
    func run() async -> Outcome {
        var outcome = Outcome()
        let memory = CloudChecker.Memory()
        var random = SeededGenerator(seed: seed)
        var seen: Set<Int> = []
        for count in first...cut.operations.count {
            let promise = promise(count)
            var images: [DiskImage] = []
            let (states, isSample) = cut.states(after: count, random: &random) { image in
                var hasher = Hasher()
                hasher.combine(image.fingerprint)
                hasher.combine(promise.version)
                hasher.combine(promise.messages)
                hasher.combine(promise.hasZone)
                if seen.insert(hasher.finalize()).inserted { images.append(image) }
            }
            outcome.states += states
            outcome.sampled += isSample ? 1 : 0
            outcome.pending = max(outcome.pending, cut.split(after: count).pending.count)
            for image in images {
                let found = await problems(image, promise, memory, goesOn: outcome.distinct % stride == 0)
                outcome.problems += found.map { "after operation \(count) (seed \(seed)): \($0)" }
                outcome.distinct += 1
            }
        }
        return outcome
    }

    private func problems(_ image: DiskImage, _ promise: CloudPromise, _ memory: CloudChecker.Memory, goesOn: Bool) async -> [String] {
        let found = CloudChecker(image: image, memory: memory).problems(promise)
        guard goesOn else { return found }
        do {
            return found + (try await use(image, promise))
        } catch {
            return found + ["going on fails: \(error)"]
        }
    }

    /// Reads and publishes on what is left.
    private func use(_ image: DiskImage, _ promise: CloudPromise) async throws -> [String] {
        let disk = SimulatedFileSystem(image)
        let script = CloudScript(disk, seed: ~seed, promise: promise)
        if promise.hasZone { try await read(disk, promise) } else { try await script.create() }
        // The publisher knows of a version that was not promised, too: it reads on before it publishes, as any device does.
        let token = try await script.cloud().changes(since: promise.version, in: .standard).token
        script.keep { $0.version = token }
        try await script.publish()
        // Only what is durable counts.
        let durable = PowerCut(base: image, operations: disk.operations).split(after: disk.operations.count).durable
        return CloudChecker(image: durable).problems(script.promise).map { "after the next publish: \($0)" }
            + (disk.openCount == 0 ? [] : ["descriptors are left open"])
    }

    /// A reader that has the promised version, and one that has none, get the old version or the new one, whole.
    private func read(_ disk: SimulatedFileSystem, _ promise: CloudPromise) async throws {
        let cloud = try DirectoryCloud(path: CloudScript.path, expecting: nil, calls: disk, nonces: .system)
        if let version = promise.version { _ = try await cloud.changes(since: version, in: .standard) }
        for asset in try await cloud.records(in: .standard).records.flatMap(\.assets) {
            let reader = try await cloud.openAsset(asset, in: .standard)
            guard ContentHash.of(try reader.all()) == asset.sha256 else { throw CloudError(.damaged, at: asset.path, "a reader was given other bytes") }
            _ = try reader.index()
        }
    }
}
