import Foundation
import SnapshotModel
import Testing

/// Runs histories and says what went wrong.
struct SimulationRun {
    let steps: Int

    /// Runs a history of peers on one file system and returns its trace; nil if it failed, which is recorded.
    @discardableResult
    func sharedFolder(_ seed: UInt64) async throws -> [String]? { await run(try await SharedFolderWorld(seed: seed)) }

    /// Runs a history of a writer and its readers, each with its own copy of the folder.
    @discardableResult
    func replicatedFolder(_ seed: UInt64) async throws -> [String]? { await run(try await ReplicatedFolderWorld(seed: seed)) }

    /// Runs a history of each seed, of one kind and of the other in turn, on both cores.
    ///
    /// - Parameter isRepeated: runs each history twice and compares the traces.
    /// - Returns: how many seeds had no fault and gave one trace, the steps of their histories, what happened in them, and how long it took.
    func all(_ seeds: Range<UInt64>, isRepeated: Bool = true) async throws -> (count: Int, steps: Int, tally: SimulationTally, duration: Duration) {
        let clock = ContinuousClock(), begin = clock.now
        let (good, tally) = try await withThrowingTaskGroup(of: [String]?.self) { group in
            var rest = seeds.makeIterator(), good = 0, done = 0, tally = SimulationTally()
            for _ in 0..<2 { if let seed = rest.next() { group.addTask { try await play(seed, isRepeated) } } }
            while let trace = try await group.next() {
                if let trace {
                    good += 1
                    tally.add(trace)
                }
                done += 1
                // What is printed waits for more of it where it goes to a file.
                if done.isMultiple(of: 500) {
                    FileHandle.standardError.write(Data("simulated histories: \(done) of \(seeds.count), \(good) of them without a fault\n".utf8))
                }
                if let seed = rest.next() { group.addTask { try await play(seed, isRepeated) } }
            }
            return (good, tally)
        }
        return (good, good * steps * (isRepeated ? 2 : 1), tally, clock.now - begin)
    }

    /// The trace of a history, or of both runs of it; nil, which is recorded, if one failed or they differ.
    private func play(_ seed: UInt64, _ isRepeated: Bool) async throws -> [String]? {
        let first = try await seed % 2 == 0 ? sharedFolder(seed) : replicatedFolder(seed)
        guard let first else { return nil }
        guard isRepeated else { return first }
        let second = try await seed % 2 == 0 ? sharedFolder(seed) : replicatedFolder(seed)
        guard first != second else { return first }
        // A run that failed has said so.
        if let second { Issue.record("seed \(seed): two runs of one history differ\n\(difference(first, second))") }
        return nil
    }

    /// The first line in which two traces differ, and what comes before it.
    private func difference(_ first: [String], _ second: [String]) -> String {
        let place = zip(first, second).enumerated().first { $1.0 != $1.1 }?.offset ?? min(first.count, second.count)
        let line = { (trace: [String]) in place < trace.count ? trace[place] : "(the end)" }
        return "  " + (first[..<place].suffix(8) + ["first: " + line(first), "second: " + line(second)]).joined(separator: "\n  ")
    }

    private func run(_ world: some SimulatedWorld) async -> [String]? {
        do {
            for _ in 0..<steps { try await world.step() }
            try await world.agree()
            try await world.checkAgreement()
            return try world.zone.trace()
        } catch let difference as SimulatedZone.Difference {
            Issue.record("\(difference)")
        } catch {
            Issue.record("\(world.zone.difference(nil, ["\(error)"]))")
        }
        return nil
    }
}

/// Devices, a cloud, and what must come of what they do.
protocol SimulatedWorld: Sendable {
    var zone: SimulatedZone { get }
    /// One step of a history, in which something may go wrong.
    func step() async throws
    /// Nothing goes wrong any longer, and every device syncs twice.
    func agree() async throws
    /// Sees that all have come to the same, and to what it must be.
    func checkAgreement() async throws
}

extension SimulatedWorld {
    var random: SeededGenerator {
        get { zone.random }
        nonmutating set { zone.random = newValue }
    }

    var devices: [SimulatedDevice] { zone.devices }
}
