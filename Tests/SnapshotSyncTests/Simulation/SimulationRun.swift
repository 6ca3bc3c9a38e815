import Testing

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

    /// Runs a history of each seed twice, of one kind and of the other in turn, on both cores.
    ///
    /// - Returns: how many seeds had no fault and gave one trace, the steps of their histories, and how long it took.
    func all(_ seeds: Range<UInt64>) async throws -> (count: Int, steps: Int, duration: Duration) {
        let clock = ContinuousClock(), begin = clock.now
        let good = try await withThrowingTaskGroup(of: Bool.self) { group in
            var rest = seeds.makeIterator(), good = 0
            for _ in 0..<2 { if let seed = rest.next() { group.addTask { try await twice(seed) } } }
            while let isGood = try await group.next() {
                good += isGood ? 1 : 0
                if let seed = rest.next() { group.addTask { try await twice(seed) } }
            }
            return good
        }
        return (good, good * steps * 2, clock.now - begin)
    }

    private func twice(_ seed: UInt64) async throws -> Bool {
        let first = try await seed % 2 == 0 ? sharedFolder(seed) : replicatedFolder(seed)
        guard let first else { return false }
        let second = try await seed % 2 == 0 ? sharedFolder(seed) : replicatedFolder(seed)
        if first != second { Issue.record("seed \(seed): two runs of one history differ") }
        return first == second
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
