import CloudStore
import DirectoryCloud
import Foundation
import SnapshotModel
import TestSupport
import Testing

/// No power cut loses a version that a publisher was told is there, leaves a commit that names a bad asset, or stops what comes next.
///
/// The long form (`make torture`) lets a reader and a publisher go on from every state; here one in so many.
@Suite struct PowerCutTests {
    private static let stride = Sample.isWhole ? 1 : 23
    private static let limit = Sample.isWhole ? 4096 : 60
    /// The file systems that the short form tries with every act.
    private static let kinds = Sample.isWhole ? SimulatedFileSystem.Kind.allCases : [.full]
    private static let acts: [(Act, SimulatedFileSystem.Kind)] =
        Act.allCases.flatMap { act in kinds.map { (act, $0) } }
        + (Sample.isWhole ? [] : [(.laterVersion, .withoutNameless), (.laterVersion, .withoutLinks)])
    private static let seed: UInt64 = 20_261_121

    /// What a program does, from what was done before it.
    enum Act: String, CaseIterable, Sendable {
        case firstVersion, laterVersion, checkpoint, prune, messages

        func prepare(_ script: CloudScript) async throws {
            guard self != .firstVersion else { return }
            try await script.create()
            try await script.publish()
            if self == .checkpoint || self == .prune { for _ in 2...16 { try await script.commit() } }
            if self == .prune {
                for _ in 17...18 { try await script.publish() }
                try await script.commit()
            }
        }

        func perform(_ script: CloudScript) async throws {
            switch self {
            case .firstVersion:
                try await script.create()
                try await script.publish()
            case .laterVersion: try await script.publish()
            case .checkpoint: try await script.publish(changes: false)
            case .prune: try await script.prune(below: 17)
            case .messages:
                for id in 1...3 { try await script.send(id) }
                try await script.removeMessage(2)
                for _ in 1...2 { try await script.report() }
                try await script.commit()
                try await script.report()
            }
        }

        /// A file that the act puts in place or, pruning, takes away: without it the act is not what its name says.
        var file: String {
            switch self {
            case .firstVersion: "commits/\(twentyDigits(1)).json"
            case .laterVersion: "commits/\(twentyDigits(2)).json"
            case .checkpoint: "checkpoints/\(twentyDigits(16)).json"
            case .prune: "commits/\(twentyDigits(16)).json"
            case .messages: "messages/watch/\(String(repeating: "03", count: 16)).json"
            }
        }
    }

    /// The disk before an act, with everything durable, and the script of the act.
    private func play(_ act: Act, _ kind: SimulatedFileSystem.Kind, _ negligence: SimulatedFileSystem.Negligence? = nil) async throws -> (
        DiskImage, CloudScript
    ) {
        let before = CloudScript(SimulatedFileSystem(kind: kind), seed: Self.seed)
        try await act.prepare(before)
        let image = before.disk.image
        let script = CloudScript(SimulatedFileSystem(image, kind: kind, negligence: negligence), seed: Self.seed + 1, promise: before.promise)
        try await act.perform(script)
        return (image, script)
    }

    private func trial(_ base: DiskImage, _ script: CloudScript) -> CutTrial {
        CutTrial(
            cut: PowerCut(base: base, operations: script.disk.operations, limit: Self.limit), promise: script.promise(after:), seed: Self.seed,
            stride: Self.stride)
    }

    @Test(arguments: acts)
    func noPowerCutLosesWhatWasPromised(_ act: Act, _ kind: SimulatedFileSystem.Kind) async throws {
        let (base, script) = try await play(act, kind)
        let path = "\(CloudScript.zonePath)/\(act.file)"
        #expect((base.bytes(path) != nil) == (act == .prune) && (script.disk.image.bytes(path) != nil) == (act != .prune))
        let outcome = await trial(base, script).run()
        #expect(outcome.problems == [])
        #expect(outcome.distinct > 10)
        print(
            "power cut: \(act.rawValue), \(kind.rawValue): \(script.disk.operations.count) operations, up to \(outcome.pending) pending, \(outcome.states) states, "
                + "\(outcome.distinct) different, \(outcome.sampled) cuts sampled, seed \(Self.seed), \(outcome.problems.count) problems")
    }

    /// A run was killed anywhere, the next one went on from what lay in the kernel's cache, and then the power went.
    @Test(arguments: [Act.firstVersion, .laterVersion], kinds)
    func whatFollowsAKilledRunIsDurableToo(_ act: Act, _ kind: SimulatedFileSystem.Kind) async throws {
        let (base, killed) = try await play(act, kind)
        var all = CutTrial.Outcome()
        for count in 0...killed.disk.operations.count {
            let begun = Array(killed.disk.operations.prefix(count))
            let before = killed.promise(after: count)
            let next = CloudScript(SimulatedFileSystem(Self.volatile(base, begun), kind: kind), seed: Self.seed + 2, promise: before)
            if !before.hasZone { try await next.create() }
            let token = try await next.cloud().changes(since: before.version, in: .standard).token
            next.keep { $0.version = token }
            try await next.publish()
            let done = begun.count
            var trial = CutTrial(
                cut: PowerCut(base: base, operations: begun + next.disk.operations, limit: Self.limit), promise: { next.promise(after: $0 - done) },
                seed: Self.seed, stride: Self.stride)
            trial.first = Sample.isWhole ? done : trial.cut.operations.count
            all.add(await trial.run())
        }
        #expect(all.problems == [])
        print(
            "power cut after a kill: \(act.rawValue), \(kind.rawValue): \(all.states) states, \(all.distinct) different, \(all.sampled) cuts sampled, seed \(Self.seed), \(all.problems.count) problems"
        )
    }

    /// A version that a reader was given is not taken back, although its publisher had not been told yet that it is there.
    @Test(arguments: kinds)
    func whatAReaderWasGivenIsDurable(_ kind: SimulatedFileSystem.Kind) async throws {
        let (base, publisher) = try await play(.laterVersion, kind)
        var all = CutTrial.Outcome()
        var given = 0
        for count in 0...publisher.disk.operations.count {
            let begun = Array(publisher.disk.operations.prefix(count))
            let old = publisher.promise(after: 0)
            for token in [old.version, nil] {
                let reader = CloudScript(SimulatedFileSystem(Self.volatile(base, begun), kind: kind), seed: Self.seed, promise: old)
                let changes = try await reader.cloud().changes(since: token, in: .standard)
                reader.keep { $0.version = changes.token }
                given += changes.token == old.version ? 0 : 1
                var trial = CutTrial(
                    cut: PowerCut(base: base, operations: begun + reader.disk.operations, limit: Self.limit), promise: { _ in reader.promise }, seed: Self.seed,
                    stride: Self.stride)
                trial.first = trial.cut.operations.count
                all.add(await trial.run())
            }
        }
        #expect(all.problems == [] && given > 0)
        print(
            "power cut after a read: \(kind.rawValue): \(all.states) states, \(all.distinct) different, \(given) reads of the new version, \(all.problems.count) problems"
        )
    }

    /// The check can fail: each of these is a fault that it must find.
    @Test(arguments: [
        (SimulatedFileSystem.Negligence.ignoresDirectories, "is lost"), (.ignoresFiles, "torn"),
        (.ignoresDirectory("item"), "names /cloud/private/ZentikSyncZone/assets/item/"),
        (.ignoresDirectory("commits"), "version 2 was published and is lost"),
    ])
    func anFsyncThatDoesNothingIsFound(_ negligence: SimulatedFileSystem.Negligence, _ sign: String) async throws {
        for kind in Self.kinds {
            let (base, script) = try await play(.laterVersion, kind, negligence)
            let outcome = await trial(base, script).run()
            #expect(outcome.problems.contains { $0.contains(sign) }, "\(kind): \(outcome.problems.count) problems")
            print("power cut, fsync ignored: \(negligence), \(kind.rawValue): \(outcome.problems.count) problems found")
        }
    }

    /// A publisher that put its commit in place before the asset would be found.
    @Test func aCommitBeforeItsAssetIsFound() async throws {
        let (base, script) = try await play(.laterVersion, .full)
        let operations = script.disk.operations
        func isOfAsset(_ operation: DiskOperation) -> Bool { if case .add(_, let name, _, _) = operation { name.hasSuffix(".gz") } else { false } }
        let folders = Set(operations.filter(isOfAsset).map(\.subject))
        let late = operations.filter { isOfAsset($0) || ($0.isSynchronization && folders.contains($0.subject)) }
        #expect(late.count >= 4)
        let order = operations.filter { !late.contains($0) } + late
        let trial = CutTrial(
            cut: PowerCut(base: base, operations: order, limit: Self.limit), promise: script.promise(after:), seed: Self.seed, stride: Self.stride)
        #expect(await trial.run().problems.contains { $0.contains("commit 2 names") })
    }

    /// What programs see after these operations, with nothing cut.
    private static func volatile(_ base: DiskImage, _ operations: [DiskOperation]) -> DiskImage {
        var image = base
        for operation in operations { operation.apply(to: &image) }
        return image
    }
}
