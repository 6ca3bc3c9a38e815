import Foundation
import TestSupport
import Testing

/// Histories over a simulated disk, clock and replicating tool. Whatever fails, arrives late or is killed: once all is quiet every
/// device has the same within two rounds, nobody ever goes back, all that is shown was published, and no edit is lost.
///
/// `make torture` runs thousands, each twice, from a seed that it prints.
@Suite struct SimulationTests {
    @Test(arguments: Sample.of(UInt64(1)...8, oneIn: 4)) func peersOnAFailingFileSystemConverge(seed: UInt64) async throws {
        try await SimulationRun(steps: 25).sharedFolder(seed)
    }

    @Test(arguments: Sample.of(UInt64(1)...8, oneIn: 4)) func aWriterAndReadersInCopiesOfAFolderConverge(seed: UInt64) async throws {
        try await SimulationRun(steps: 25).replicatedFolder(seed)
    }

    @Test func aHistoryIsTheSameForTheSameSeed() async throws {
        let run = SimulationRun(steps: 20)
        #expect(try await run.sharedFolder(11) == run.sharedFolder(11))
        #expect(try await run.replicatedFolder(12) == run.replicatedFolder(12))
    }

    @Test func everyKindOfTroubleComesTrue() async throws {
        let outcome = try await SimulationRun(steps: 40).all(9..<25, isRepeated: Sample.isWhole)
        #expect(outcome.count == 16)
        #expect(outcome.tally.missing == [])
    }

    @Test func allHoldsOverAsManyHistoriesAsAreAskedFor() async throws {
        guard let count = ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE"].flatMap({ UInt64($0) }) else { return }
        let first = Sample.firstSeed.map { UInt64($0) } ?? UInt64.random(in: 1_000...1_000_000_000)
        print("simulated histories: \(count), each twice, seeds \(first)...\(first + count - 1)")
        let outcome = try await SimulationRun(steps: 40).all(first..<first + count)
        print("simulated histories: \(outcome.count) had no fault and ran the same way twice; \(outcome.steps) steps, \(outcome.duration) in all")
        print("what happened in them, counted once: \(outcome.tally)")
    }
}
