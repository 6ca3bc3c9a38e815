import Foundation
import Testing

/// Histories over a simulated disk, clock and replicating tool. Whatever fails, arrives late or is killed: once all is quiet every
/// device has the same within two rounds, nobody ever goes back, all that is shown was published, and no edit is lost.
///
/// `make torture` runs thousands, each twice, from a seed that it prints.
@Suite struct SimulationTests {
    @Test(arguments: UInt64(1)...20) func peersOnAFailingFileSystemConverge(seed: UInt64) async throws {
        try await SimulationRun(steps: 40).sharedFolder(seed)
    }

    @Test(arguments: UInt64(1)...20) func aWriterAndReadersInCopiesOfAFolderConverge(seed: UInt64) async throws {
        try await SimulationRun(steps: 40).replicatedFolder(seed)
    }
}

/// Runs histories and says what went wrong.
struct SimulationRun {
    let steps: Int

    /// Runs a history of peers on one file system and returns the hash of its trace; nil if it failed, which is recorded.
    @discardableResult
    func sharedFolder(_ seed: UInt64) async throws -> String? {
        let world = try await SharedFolderWorld(seed: seed)
        return await record(world.zone) {
            for _ in 0..<steps { try await world.step() }
            try await world.agree()
            try await world.checkAgreement()
        }
    }

    /// Runs a history of a writer and its readers, each with its own copy of the folder.
    @discardableResult
    func replicatedFolder(_ seed: UInt64) async throws -> String? {
        let world = try await ReplicatedFolderWorld(seed: seed)
        return await record(world.zone) {
            for _ in 0..<steps { try await world.step() }
            try await world.agree()
            try await world.checkAgreement()
        }
    }

    private func record(_ zone: SimulatedZone, _ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return try zone.trace()
        } catch let difference as SimulatedZone.Difference {
            Issue.record("\(difference)")
        } catch {
            Issue.record("\(zone.difference(nil, ["\(error)"]))")
        }
        return nil
    }
}
