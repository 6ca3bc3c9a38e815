import Foundation
import TestSupport
import Testing

/// Histories of 3 to 6 peers: whatever their clocks say, in whatever order they sync and whoever is killed when, all of them end
/// with the state that last write wins demands, and no edit is lost that it would keep.
///
/// `make torture` runs thousands, from a seed that it prints.
@Suite struct PeerSimulationTests {
    @Test(.disabled("the model of this test knows rows, not columns: Tests/Model/command.py judges instead"), arguments: Sample.of(UInt64(1)...40, oneIn: 5))
    func peersConverge(seed: UInt64) async throws {
        try await run(seed, steps: 30)
    }

    @Test func peersConvergeOverAsManyHistoriesAsAreAskedFor() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let count = environment["SNAPSYNC_TORTURE"].flatMap({ UInt64($0) }) else { return }
        let first = environment["SNAPSYNC_TORTURE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1_000...1_000_000_000)
        print("histories of peers: \(count), seeds \(first)...\(first + count - 1)")
        for seed in first..<first + count { try await run(seed, steps: 20 + Int(seed % 61)) }
    }

    private func run(_ seed: UInt64, steps: Int) async throws {
        let world = try await PeerWorld(seed: seed)
        do {
            for _ in 0..<steps { try await world.step() }
            try await world.agree()
            try world.checkAgreement()
            try await world.verify()
        } catch let difference as PeerWorld.Difference {
            Issue.record("\(difference)")
        } catch {
            Issue.record("seed \(seed): \(error)\nhistory:\n  \(world.log.suffix(40).joined(separator: "\n  "))")
        }
    }
}
